"""What the package names is there, complete and documented, and loads lazily."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import privtrace as pt
from privtrace.methods import registry
from privtrace.testing.data import wanderers
from tests import polygons


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


def loaded_by(code: str) -> set[str]:
    """List the modules that code has loaded by its end."""
    told = f"import atexit, sys; atexit.register(lambda: print('\\n', *sys.modules)); {code}"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return {*done.stdout.splitlines()[-1].split()}


def test_importing_loads_no_compiler() -> None:
    loaded = loaded_by("import privtrace, privtrace.cli.commands")
    assert "privtrace.cli.commands" in loaded and not loaded & {"numba", "numpy", "pyarrow"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "--region=-8.7,41.1,-8.54,41.22", "--epsilon=1", "--count=20000"],
        ["inspect", str(Path(__file__).parent / "format_1" / "bridgetrace.model")],
    ],
    ids=lambda arguments: arguments[0],
)
def test_asking_loads_neither_a_compiler_nor_what_fits_need(arguments: list[str]) -> None:
    """So a plan, or a look at a model over a box, answers at once; one over a polygon needs a bit more."""
    loaded = loaded_by(f"sys.argv[1:] = {arguments}; from privtrace.cli import main; main()")
    heavy = {"numba", "llvmlite", "pandas", "scipy", "shapely", "pyproj", "cryptography", "privtrace.io"}
    assert "privtrace.methods.bridgetrace.settings" in loaded and not loaded & heavy


@pytest.mark.parametrize("method", ["bridgetrace", "privtrace", "adatrace", "dpt"])
def test_a_look_at_a_model_over_a_polygon_loads_no_compiler(method: str, tmp_path: Path) -> None:
    settings = registry.find(method).settings(epsilon=1, region=polygons.region("mixed 1"))
    settings.fit(wanderers(), noise=pt.SeededNoise(1)).save(tmp_path / "a.model")
    loaded = loaded_by(f"import privtrace; privtrace.load({str(tmp_path / 'a.model')!r}).summary()")
    assert "privtrace.models" in loaded and "numba" not in loaded
