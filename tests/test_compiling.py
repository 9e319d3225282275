"""Functions that compile when they are called run as they are written for little work, to the same bits."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privtrace as pt
from privtrace.compiling import Compiled, called, compiled
from privtrace.methods.common.normcut import normcut
from privtrace.space.adjacency import adjacency
from privtrace.space.grid import Grid
from tests import polygons

ROOT = Path(__file__).parents[1]

#: Prints the same in a process of its own, without a compiler.
ALONE = "import sys; from tests import test_compiling as t; print(t.digests()); print('numba' in sys.modules)"


def grids() -> dict[str, Grid]:
    """Cut cells by polygons of all kinds, evenly and not, in degrees too."""
    divisions = np.random.default_rng(4).integers(1, 5, (4, 4)).astype(np.int32)
    areas = {
        name: polygons.region(name)
        for name in ("mixed 0", "mixed 1", "mixed 3", "frame", "two banks", "diamond")
    }
    town = pt.Region.polygon([polygons.star(np.random.default_rng(7), (8.2, 53.1), 0.1, 40)], crs="lonlat")
    return {name: Grid(area, divisions) for name, area in {**areas, "town": town}.items()}


def digests() -> list[str]:
    """Sum up all that is made of polygons and noisy rows where a model is read."""
    rows = np.random.default_rng(1).integers(-99, 99, (30, 40)) << 40
    made: list[list[Any]] = [[normcut(rows)]]
    made += [[one.slots, *one.pieces, *adjacency(one), *one.touching().nonzero()] for one in grids().values()]
    return [sha256(b"".join(np.ascontiguousarray(one).tobytes() for one in some)).hexdigest() for some in made]


def test_python_gives_what_the_compiler_gives() -> None:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    importlib.import_module("numba")  # so that a compiler is loaded here, whatever ran before
    compiled_before = adjacency(Grid.uniform(polygons.region("frame"), 3))
    assert "numba" in sys.modules and len(compiled_before.sources)
    assert done.stdout.splitlines() == [str(digests()), "False"], done.stderr


def test_a_compiler_is_loaded_for_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    either = Compiled(lambda: "as it is written", lambda function: lambda: "compiled")
    monkeypatch.setitem(sys.modules, "numba", sys)  # somebody has loaded it
    assert called(either, python_us=1) == "compiled"
    monkeypatch.delitem(sys.modules, "numba")
    assert called(either, python_us=1) == "as it is written"
    assert called(either, python_us=1e9) == either() == "compiled"


def test_where_nothing_can_be_kept_it_compiles_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On machines of a cluster, there may be no folder that may be written to."""
    from numba.core import caching

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    assert compiled(lambda number: number + 1).made(1) == 2
