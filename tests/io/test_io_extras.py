"""A package that is not installed is named in one line, with the command that installs it."""

from __future__ import annotations

import sys

import pytest

from privtrace.errors import MissingExtra
from privtrace.io.extras import require


def test_a_package_that_is_there_is_loaded() -> None:
    assert require("json", "JSON") is sys.modules["json"]


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyogrio", None)
    with pytest.raises(
        MissingExtra, match=r"^roads.gpkg: GeoPackage needs the geo extra: pip install 'privtrace\[geo\]'$"
    ):
        require("pyogrio", "roads.gpkg: GeoPackage")
