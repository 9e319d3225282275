"""Give commands their options: those of an options class, and those that follow from a method's settings."""

from __future__ import annotations

import inspect
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from privtrace.cli.options import DEFAULT_METHOD, InputOptions, MethodOptions
from privtrace.cli.screen import Screen

if TYPE_CHECKING:
    from privtrace.methods.declaring import Declaration

#: What is raised for arguments that cannot be read; typer names only what is below it.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]


@dataclass(frozen=True)
class Command:
    """Hold a command that receives its options as one object, `options`."""

    run: Callable[..., None]
    options: type[Any]
    without: tuple[str, ...]  # options and settings that the command has no use for
    notes: Mapping[str, str] = field(default_factory=dict)  # help on settings that mean something else here

    @property
    def name(self) -> str:
        """Name the command."""
        return self.run.__name__

    @property
    def takes_settings(self) -> bool:
        """Say whether the settings of a method are options of the command."""
        return issubclass(self.options, MethodOptions)

    def bound(self, settings: Mapping[str, Declaration]) -> Callable[..., None]:
        """Make a function that takes each option and setting by itself, as typer wants it."""
        offered = [one.name for one in fields(self.options) if one.name not in (*self.without, "given")]
        hints = get_type_hints(self.options, include_extras=True)
        defaults = {one.name: one.default for one in fields(self.options)}
        own = [one for one in inspect.signature(self.run).parameters.values() if one.name != "options"]
        own_hints = get_type_hints(self.run, include_extras=True)
        settings = {
            name: one for name, one in settings.items() if self.takes_settings and name not in self.without
        }
        parameters = [
            *(one.replace(annotation=own_hints[one.name]) for one in own),
            *(_keyword(name, _named(name, hints[name], settings), defaults[name]) for name in offered),
            *(_keyword(name, _option_of(one, self.notes.get(name)), None) for name, one in settings.items()),
        ]

        @wraps(self.run)
        def run(**values: Any) -> None:
            chosen = {name: values.pop(name) for name in offered}
            given = {name: value for name in settings if (value := values.pop(name)) is not None}
            more = {"given": given} if self.takes_settings else {}
            self.run(**values, options=self.options(**chosen, **more))

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run


def takes(
    options: type[Any], *, without: tuple[str, ...] = (), notes: Mapping[str, str] | None = None
) -> Callable[[Callable[..., None]], Command]:
    """Make a command of a function that takes the options of a class as one object, `options`."""
    return lambda run: Command(run, options, without, notes or {})


def _named(name: str, hint: Any, settings: Mapping[str, Declaration]) -> Any:
    """Let the option for the method list those that there are, in a run that is about one."""
    if name != "method" or not settings:  # others need not look for what is installed
        return hint
    from privtrace.methods.registry import names

    listed = ", ".join(f"{one} (default)" if one == DEFAULT_METHOD else one for one in names())
    return Annotated[str, typer.Option(metavar="NAME", help=f"{listed}.", show_default=False)]


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _option_of(setting: Declaration, note: str | None) -> Any:
    """Declare the option of a setting, which reads its value itself: so it is refused in one way."""
    from privtrace.methods.declaring import Flag

    shown = note or setting.shown
    if isinstance(setting.kind, Flag):
        switched = f"{setting.option}/{setting.option.replace('--', '--no-', 1)}"
        return Annotated[bool | None, typer.Option(switched, help=shown, show_default=False)]
    metavar = setting.kind.metavar
    return Annotated[str | None, typer.Option(setting.option, metavar=metavar, help=shown, show_default=False)]


@dataclass(frozen=True)
class Offered:
    """Hold the settings that are options of this run: what all methods share, and one method's own."""

    shared: Mapping[str, Declaration] = field(default_factory=dict)
    own: Mapping[str, Declaration] = field(default_factory=dict)
    title: str = ""  # of the method's own

    @classmethod
    def to(cls, arguments: Sequence[str]) -> Offered:
        """Choose them by the method that the arguments name; help on no method shows what all share."""
        from privtrace.methods import registry
        from privtrace.methods.settings import Settings

        shared = Settings.declared()
        details = {name: one for name, one in shared.items() if one.is_detail}
        shared = {name: one for name, one in shared.items() if not one.is_detail}
        named = _method_in(arguments)
        if named is None and (arguments[0] == "help" or "--help" in arguments):
            return cls(shared)
        method = registry.find(named or DEFAULT_METHOD)
        title = f"Settings of {method.label} ({method.docs})"
        return cls(shared, {**details, **method.settings.own()}, title)

    @property
    def all(self) -> dict[str, Declaration]:
        """List all of them, those that are shared first."""
        return {**self.shared, **self.own}


def arguments_of(arguments: Sequence[str]) -> list[str]:
    """Take the arguments of this run, or, where a shell completes them, those that are typed so far."""
    typed = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", ""))
    try:
        return [*arguments] or shlex.split(typed)[1:]
    except ValueError:  # an open quote
        return []


def _method_in(arguments: Sequence[str]) -> str | None:
    """Find the method that arguments name last."""
    named = None
    for place, argument in enumerate(arguments):
        if argument == "--method" and place + 1 < len(arguments):
            named = arguments[place + 1]
        elif argument.startswith("--method="):
            named = argument.removeprefix("--method=")
    return named


def sectioned(offered: Offered) -> type[TyperCommand]:
    """Make the kind of command whose help shows options by what they are about."""
    inputs = {one.name for one in fields(InputOptions)}

    class Sectioned(TyperCommand):
        def format_options(self, ctx: Any, formatter: Any) -> None:
            sections: dict[str, list[tuple[str, str]]] = {}
            for parameter in self.get_params(ctx):
                record = parameter.get_help_record(ctx)
                if record is not None:
                    sections.setdefault(section_of(parameter), []).append(record)
            for title in sorted(sections, key=order.index):
                with formatter.section(title):
                    formatter.write_dl(sections[title])

    order = ["Arguments", "Method", "Input", "Options", offered.title]

    def section_of(parameter: Any) -> str:
        if parameter.param_type_name == "argument":
            return "Arguments"
        if parameter.name in offered.own:
            return offered.title
        if parameter.name in offered.shared or parameter.name == "method":
            return "Method"
        return "Input" if parameter.name in inputs else "Options"

    return Sectioned


class Commands(TyperGroup):
    """Hold the commands; say of an option that is another method's whose it is."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        try:
            return super().invoke(ctx)
        except USAGE_ERROR as error:
            option = getattr(error, "option_name", None)  # where there is no such option
            methods = _methods_with(option) if option else []
            if not methods:
                raise
            named = _method_in(sys.argv) or DEFAULT_METHOD
            Screen().fail(
                f"{option} is a setting of {' and '.join(methods)}, and the method is {named}; leave it "
                f"out, or use --method {methods[0]}"
            )
            raise typer.Exit(2) from None


def _methods_with(option: str) -> list[str]:
    """Name the methods that have a setting of this option."""
    from privtrace.errors import PrivTraceError
    from privtrace.methods import registry

    name, having = option.removeprefix("--").removeprefix("no-").replace("-", "_"), []
    for method in registry.names():
        try:
            if name in registry.find(method).settings.own():
                having.append(method)
        except PrivTraceError:  # a foreign package that cannot be loaded has nothing to say here
            continue
    return having
