"""Load packages that only some formats need."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from privtrace.errors import MissingExtra


def require(module: str, what: str, extra: str | None = "geo") -> ModuleType:
    """Import a package of an extra, or of none, or say in one line what needs it and how to get it.

    `require("pyogrio", "trips.gpkg: GeoPackage")` fails with "trips.gpkg: GeoPackage needs the geo extra: pip
    install 'privtrace[geo]'". Call it before any work, inside the function that needs the package.
    """
    try:
        return import_module(module)
    except ImportError:  # also of a package that is there but whose own needs are not
        if extra is None:
            raise MissingExtra(f"{what} needs {module}: pip install {module}") from None
        raise MissingExtra(f"{what} needs the {extra} extra: pip install 'privtrace[{extra}]'") from None
