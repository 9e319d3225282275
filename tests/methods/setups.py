"""Gather the setups under which methods are checked, from the file `setups.py` in the folder of each.

    CONTRACT     settings that lead to other stages, sizes or units; the defaults are always among them
    SENSITIVITY  settings under which little data reaches all stages
    VARIANTS     settings that lead to other stages or other fields of a model
    HEAVY        points of a trajectory that weighs exactly one in every table: there, the tests can fail
    POINT        what a trip of one point weighs in stages, if not one; None where that depends on the place

A method without that file is checked by its defaults.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from privtrace.methods import registry
from privtrace.testing import Check


def hold(checks: Iterable[Check]) -> None:
    """Run checks one after the other, and name the one that fails."""
    for check in checks:
        try:
            check()
        except Exception as error:
            error.add_note(f"This is the check {check}.")
            raise


def of(kind: str) -> dict[str, Any]:
    """Gather what is listed under a name, of all methods."""
    found: dict[str, Any] = {}
    for name in registry.OURS:
        settings = registry.find(name).settings
        listed = own(name, kind)
        if kind == "CONTRACT" or (kind == "SENSITIVITY" and not listed):
            found[name] = settings
        found |= listed
    return found


def own(name: str, kind: str) -> dict[str, Any]:
    """Gather what is listed under a name, of one method."""
    place = f"tests.methods.{name}"
    if find_spec(place) is None or find_spec(f"{place}.setups") is None:
        return {}
    return getattr(import_module(f"{place}.setups"), kind, {})
