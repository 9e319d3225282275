"""List the commands, and run the one that the arguments name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from privtrace.cli.comparing import compare
from privtrace.cli.demo import demo
from privtrace.cli.evaluating import evaluate, explain
from privtrace.cli.files import check, convert
from privtrace.cli.modeling import fit, generate, synth
from privtrace.cli.screen import guarded
from privtrace.cli.showing import export, inspect, report
from privtrace.cli.spending import ledger, plan
from privtrace.cli.taking import Command, Commands, Offered, arguments_of, sectioned

# The library loads a compiler; commands import it when they run, so that --help answers at once.

COMMANDS: tuple[Command | Callable[..., None], ...] = (
    plan,
    fit,
    generate,
    synth,
    inspect,
    report,
    export,
    ledger,
    evaluate,
    compare,
    explain,
    convert,
    check,
    demo,
)

#: Commands that take the settings of a method.
_BY_METHOD = {command.name for command in COMMANDS if isinstance(command, Command) and command.takes_settings}


def run(arguments: Sequence[str]) -> None:
    """Run the command that the arguments name."""
    app_for(arguments_of(arguments))([*arguments], prog_name="privtrace")


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Build the commands with the options that these arguments call for."""
    by_method = not _BY_METHOD.isdisjoint(arguments[:2])
    offered = Offered.to(arguments) if by_method else Offered()
    app = typer.Typer(
        cls=Commands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # the boxes of rich cut long option names
        context_settings={"max_content_width": 110},
        help="Publish movement data as synthetic trips, with pure epsilon-differential privacy.",
    )
    for command in COMMANDS:
        bound = command.bound(offered.all) if isinstance(command, Command) else command
        app.command(cls=sectioned(offered))(guarded(bound))
    app.command(name="help")(_help(app))
    app.callback(invoke_without_command=True)(version)
    return app


def _help(app: typer.Typer) -> Callable[..., None]:
    def show_help(
        command: Annotated[str | None, typer.Argument(help="A command.")] = None,
        method: Annotated[
            str | None, typer.Option(metavar="NAME", help="Also show the settings of this method.")
        ] = None,
    ) -> None:
        """Show what a command does, with examples to paste."""
        app([*([command] if command else []), "--help"], prog_name="privtrace")

    return show_help


def version(
    show: Annotated[bool, typer.Option("--version", is_eager=True, help="Show the version.")] = False,
) -> None:
    """Show the version."""
    if show:
        from importlib.metadata import version as installed

        typer.echo(f"privtrace {installed('privtrace')}")
        raise typer.Exit
