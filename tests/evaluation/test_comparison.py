"""Measuring part by part: a set that passes by gets the same numbers as when it is read from its file."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import polygons
from tests.conftest import trajectories

import privtrace as pt
from privtrace.evaluation.circles import Circles
from privtrace.evaluation.comparison import Comparison
from privtrace.evaluation.measured import MeasuredSet
from privtrace.evaluation.reference import Reference
from privtrace.evaluation.suite import evaluated
from privtrace.evaluation.traits import Bits
from privtrace.io import write
from privtrace.io.printing import rounded
from privtrace.methods.sampling import sample_parts

SETTINGS: dict[str, Any] = {"profile": "all", "seed": 6}


@pytest.fixture
def model(request: pytest.FixtureRequest, wanderers: pt.Trajectories, region: pt.Region) -> Any:
    within = region if request.param == "box" else polygons.region(request.param)
    return pt.PrivTrace(epsilon=2, region=within).fit(wanderers, noise=pt.SeededNoise(1))


@pytest.mark.parametrize(
    ("model", "name", "n_threads"),
    [
        ("box", "made.parquet", 1),
        ("box", "made.csv", 2),
        ("mixed 1", "made.parquet", 2),
        ("mixed 1", "made.csv", 1),
    ],
    indirect=["model"],
)
def test_what_is_measured_while_it_is_written_is_what_is_read(
    model: Any,
    wanderers: pt.Trajectories,
    name: str,
    n_threads: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("privtrace.methods.model.BLOCK_TRAJECTORIES", 100)
    path, region = tmp_path / name, model.release.region
    comparison = Comparison.of(region, "planar", figures=True, backend=pt.Threads(n_threads), **SETTINGS)
    measuring = comparison.measuring(path=path)
    blocks = (block for block, _ in sample_parts(model, 450, 3, comparison.backend))
    write(measuring.through(map(rounded, blocks)), path)  # as text has them
    assert len(measuring.measured) > 1
    by_the_way = evaluated(Reference.measured(wanderers, comparison), measuring.finish(), bootstrap=3)
    with pt.read(path, crs="planar") as made:
        read = pt.evaluate(wanderers, made, region=region, bootstrap=3, **SETTINGS)
    assert json.dumps(by_the_way.to_dict()) == json.dumps(read.to_dict())
    assert by_the_way.inputs["synthetic"]["path"] == str(path)
    assert by_the_way.inputs["synthetic"]["trajectories"] == 450
    assert by_the_way.report().html == read.report().html


def test_parts_go_on_as_they_came(wanderers: pt.Trajectories, region: pt.Region) -> None:
    comparison = Comparison.of(region, "planar", backend=pt.Threads(2))
    given = [wanderers[:200], wanderers[200:201], wanderers[201:]]
    measuring = comparison.measuring()
    handed_on = list(measuring.through(iter(given)))
    assert len(handed_on) == 3 and all(one is other for one, other in zip(handed_on, given, strict=True))


def test_points_are_let_go_while_parts_pass(wanderers: pt.Trajectories, region: pt.Region) -> None:
    """Traits are kept, of all profiles and figures; parts are not, nor a view of their points."""
    comparison = Comparison.of(region, "planar", figures=True, backend=pt.Threads(1), **SETTINGS)
    measuring = comparison.measuring()
    arrays: list[weakref.ref[np.ndarray]] = []

    def parts() -> Iterator[pt.Trajectories]:
        for first in range(0, 600, 100):
            some = wanderers[first : first + 100]
            points = some.points.copy()
            arrays.append(weakref.ref(points))
            yield pt.Trajectories(points, some.offsets.copy(), crs="planar")

    for _ in measuring.through(parts()):
        gc.collect()
        assert sum(array() is not None for array in arrays) <= 2  # the one that passes, and the next
    gc.collect()
    assert len(arrays) == 6 and not any(array() is not None for array in arrays[:-1])
    assert isinstance(measuring.finish(), MeasuredSet)


def test_a_set_without_parts_is_empty(wanderers: pt.Trajectories, region: pt.Region) -> None:
    comparison = Comparison.of(region, "planar", **SETTINGS)
    measuring = comparison.measuring()
    assert list(measuring.through([])) == []
    nothing = measuring.finish()
    assert len(nothing) == 0 and nothing.tally == pt.Region.box(0, 0, 1, 1, crs="planar").tally(trajectories())
    table = evaluated(Reference.measured(wanderers, comparison), nothing)
    assert table.to_dict() == pt.evaluate(wanderers, trajectories(), region=region, **SETTINGS).to_dict()
    assert table.figures is None


def test_a_set_that_cannot_be_meant_is_refused_by_its_path(region: pt.Region, tmp_path: Path) -> None:
    measuring = Comparison.of(region, "planar").measuring(path=tmp_path / "made.csv")
    list(measuring.through([trajectories([(77.125, 88.25)])]))
    with pytest.raises(pt.DataError, match=r"the synthetic data, .*made\.csv: none of its points") as caught:
        measuring.finish()
    message = str(caught.value)
    assert "77.125" not in message and "88.25" not in message


def test_what_profiles_share_is_measured_and_held_once(
    wanderers: pt.Trajectories, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_measured = 0

    def counted(self: Circles, runs: pt.Trajectories) -> Bits:
        nonlocal n_measured
        n_measured += 1
        return hits(self, runs)

    hits = Circles.hits
    monkeypatch.setattr(Circles, "hits", counted)
    comparison = Comparison.of(region, "planar", profile="all", figures=True, backend=pt.Threads(1))
    traits: Any = comparison.measure(wanderers).traits
    assert n_measured == 1  # those of the paper, which time looks at too
    assert traits["time"].hits is traits["paper"].hits
    assert traits["mobility"].paths is traits["paper"].paths
    assert traits["adatrace"].diameter_m is traits["paper"].diameter_m
    assert traits["adatrace"].length_m is traits["paper"].length_m
    assert len({id(given.weights) for given in traits.values()}) == 1
