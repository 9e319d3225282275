"""What the package names is there, complete and documented, and loads lazily."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import privtrace as pt


def test_all_is_complete() -> None:
    assert set(pt.__all__) == {*pt._HOMES, "__version__"}
    assert len(pt.__all__) == len(set(pt.__all__))
    assert set(pt.__all__) <= set(dir(pt))


@pytest.mark.parametrize("name", [name for name in pt.__all__ if name != "__version__"])
def test_every_public_name_is_documented(name: str) -> None:
    thing = getattr(pt, name)
    assert inspect.getdoc(thing)
    if inspect.isclass(thing):
        for member, value in vars(thing).items():
            if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{member} has no docstring"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="nothing_like_that"):
        _ = pt.nothing_like_that


def test_importing_loads_no_compiler() -> None:
    heavy = "{'numba', 'numpy', 'pyarrow'}"
    code = f"import sys, privtrace, privtrace.cli.commands; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
