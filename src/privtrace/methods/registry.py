"""List the methods: ours, those of installed packages, and those that a program registers itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, packages_distributions, version
from typing import TYPE_CHECKING, Any

from privtrace.errors import MissingExtra, SettingsError
from privtrace.methods.declaring import spelled
from privtrace.methods.settings import Settings

if TYPE_CHECKING:
    from privtrace.methods.fitting import Fitting
    from privtrace.methods.model import Model

#: Ours, in the order in which they are listed: each is a folder here, and its `METHOD` is its entry.
OURS = ("bridgetrace", "privtrace", "adatrace", "dpt")

#: Where packages say which methods they bring: a name, and the place of its `Method`.
GROUP = "privtrace.methods"

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_COLOR = re.compile(r"#[0-9a-f]{6}")
_TYPES = ("<i8", "<i4")

#: Names of options that commands have beside the settings of a method, which a setting cannot have.
# fmt: off
RESERVED = frozenset((
    "method", "given", "trips", "output", "model", "report", "evaluation", "title", "note", "count", "seed",
    "epsilons", "runs", "profile", "columns", "crs", "gap", "time_format", "time_unit", "timezone", "format",
    "strict", "quiet", "as_json", "threads", "force", "names", "output_crs", "budget_file", "limit",
    "noise_seed", "target", "districts", "engine", "master", "persist",
))
# fmt: on
_registered: dict[str, Method] = {}


@dataclass(frozen=True)
class Method:
    """Say all that the rest of the package has to know about a method."""

    settings: type[Settings]
    recipe: Callable[[Any, Fitting], dict[str, Any]]  # measures, and gives the fields of the model
    model: type[Model]
    schema: Mapping[str, tuple[str, int]]  # the arrays of a model file: name, type ("<i8" or "<i4"), axes
    label: str  # what it is called in prose
    colors: tuple[str, str]  # by which pages and pictures know it, on light and on dark ground: "#rrggbb"
    docs: str  # the page that describes it
    package: str | None = None  # name and version of what brings it; set by the registry, None for ours

    @property
    def name(self) -> str:
        """Name the method, as --method does."""
        return self.settings.method


class Ours(Method):
    """Say the same of a method in a folder here, whose recipe and model load when they are first needed.

    Help and plans need only its settings. Its recipe.py has `released`, and its model.py `SCHEMA` and the
    model, which is called after the settings: BridgeTrace, BridgeTraceModel.
    """

    def __init__(self, settings: type[Settings], *, label: str, colors: tuple[str, str], docs: str) -> None:
        self.__dict__.update(settings=settings, label=label, colors=colors, docs=docs, package=None)

    def __getattr__(self, name: str) -> Any:  # called where a field is not set yet
        homes = {
            "recipe": ("recipe", "released"),
            "model": ("model", f"{self.settings.__name__}Model"),
            "schema": ("model", "SCHEMA"),
        }
        if name not in homes:
            raise AttributeError(name)
        file, called = homes[name]
        folder = self.settings.__module__.rpartition(".")[0]
        return self.__dict__.setdefault(name, getattr(import_module(f"{folder}.{file}"), called))


def register(method: Method) -> None:
    """Make a method known to this process: to files, pages, exports and the command line.

    A package does without: it names its `Method` as an entry point of the group "privtrace.methods".
    """
    checked = _checked(method, _package_of(method.settings))
    known = _registered.get(checked.name)
    if checked.name in OURS or (known is not None and known.package != checked.package):
        raise SettingsError(f"a method called {checked.name} already exists; give yours another name")
    _registered[checked.name] = checked


def names() -> list[str]:
    """Name all methods, ours first; none is loaded for it."""
    return [*dict.fromkeys((*OURS, *_registered, *sorted(_installed())))]


def find(name: str) -> Method:
    """Load the method of a name."""
    if name in OURS:
        ours: Method = import_module(f"privtrace.methods.{name}").METHOD
        return ours
    if name in _registered:
        return _registered[name]
    if name in _installed():
        return _loaded(name)
    raise SettingsError(f"{spelled('method')} must be one of {', '.join(names())}, not {name!r:.60}")


def method_of(settings: Settings) -> Method:
    """Find the entry of settings; a fit needs it."""
    method = find(settings.method)
    if not isinstance(settings, method.settings):
        raise SettingsError(
            f"{type(settings).__name__} is not the method that is registered as {settings.method}; give "
            "it its own name and register it with privtrace.register"
        )
    return method


@cache
def _installed() -> dict[str, EntryPoint]:
    """Find what installed packages bring; ours cannot be replaced."""
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in OURS}


@cache
def _loaded(name: str) -> Method:
    entry = _installed()[name]
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.module
    try:
        method = entry.load()
    except Exception as error:  # whatever a foreign package does when it is imported
        raise MissingExtra(
            f"the method {name} of {package} cannot be loaded ({type(error).__name__}: {error}); fix or "
            "remove that package"
        ) from None
    if not isinstance(method, Method) or method.name != name:
        raise SettingsError(f"the entry point {name} of {package} is not a privtrace.Method of that name")
    return _checked(method, package)


def _package_of(settings: type[Settings]) -> str:
    """Name the package that a class comes from."""
    module = settings.__module__.partition(".")[0]
    for distribution in packages_distributions().get(module, []):
        return f"{distribution} {version(distribution)}"
    return f"{module} (not installed as a package)"


def _checked(method: Method, package: str) -> Method:
    """Refuse an entry that would fail later; a mistake of whoever wrote the method."""
    from privtrace.methods.model import GIVEN, Model

    if not (isinstance(method.settings, type) and issubclass(method.settings, Settings)):
        raise SettingsError("the settings of a method must be a subclass of privtrace.methods.Settings")
    name = getattr(method.settings, "method", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SettingsError(
            f"{method.settings.__name__}.method must be lowercase letters, digits and hyphens, not {name!r}"
        )
    if not (isinstance(method.model, type) and issubclass(method.model, Model)):
        raise SettingsError(f"{name}: its model must be a subclass of privtrace.methods.Model")
    if not all(_COLOR.fullmatch(color) for color in method.colors):
        raise SettingsError(f"{name}: its two colors (for light and dark mode) must look like #0b6b8a")
    if taken := RESERVED & {*method.settings.declared()}:  # every field is declared
        raise SettingsError(
            f"{name}: the commands already have an option {min(taken)}; give the setting another name"
        )
    own = [field.name for field in fields(method.model) if field.name not in GIVEN]
    if method.model.arrays is Model.arrays and sorted(own) != sorted(method.schema):
        raise SettingsError(f"{name}: the schema must name the fields of the model: {', '.join(own)}")
    if any(kind not in _TYPES or axes < 1 for kind, axes in method.schema.values()):
        raise SettingsError(
            f"{name}: arrays of a schema must have the type {' or '.join(_TYPES)} and at least one axis"
        )
    return replace(method, package=package)
