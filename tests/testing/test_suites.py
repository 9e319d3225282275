"""The suites notice a method that breaks what it must keep: each break is found by the suite that is for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.examples.lines import lines

import privtrace as pt
import privtrace.methods as pm
from privtrace.methods import registry
from privtrace.testing import SUITES, Check, checks
from privtrace.testing import __main__ as command


def failures(
    method: pm.Method, suite: str, monkeypatch: pytest.MonkeyPatch, only: str | None = None
) -> list[str]:
    """Run a suite on a method, or one check of it, and name the checks that fail."""
    monkeypatch.setattr(registry, "_registered", {})
    pt.register(method)
    failed = []
    for check in checks(method.settings, suites=(suite,)):
        if only not in (None, check.name):
            continue
        try:
            check()
        except (AssertionError, pt.PrivTraceError):
            failed.append(check.name)
    return failed


@pytest.mark.parametrize("suite", SUITES)
def test_an_honest_method_passes(suite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert failures(lines.METHOD, suite, monkeypatch) == []


def test_the_command_names_what_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever has a method runs `python -m privtrace.testing NAME`."""

    def bad() -> None:
        raise AssertionError

    listed = [Check("some", "good", lambda: None)]
    monkeypatch.setattr(command, "checks", lambda settings: listed)
    assert command.main("dpt") == 0 and capsys.readouterr().out == "holds  some: good\nall hold\n"
    listed.append(Check("some", "bad", bad))
    assert command.main("dpt") == 1
    said = capsys.readouterr().out
    assert "holds  some: good\nFAILED some: bad\nTraceback" in said and said.endswith("1 failed\n")


def with_recipe(recipe: Any) -> pm.Method:
    return replace(lines.METHOD, recipe=recipe)


def measured(settings: Any, fitting: pm.Fitting, kernel: Any, n_entries: int | None = None) -> dict[str, Any]:
    """Follow the recipe with another kernel for trips, and a table of another shape."""
    crossing, grid = fitting.crossing, pm.Grid.uniform(fitting.region, settings.cells)
    n_trajectories = pm.measure_count(crossing, fitting.region, settings.public_count)
    density, size = pm.measure_density(crossing, grid), n_entries or grid.n_cells**2
    trips = crossing.measure(
        "Measuring trips", lambda part: kernel(part, grid), pm.Table("trips", "-", (size,))
    )
    trips = np.resize(trips, (grid.n_cells, grid.n_cells))
    return {"count": round(n_trajectories * pm.WEIGHT), "density": density, "trips": trips}


def leaking(settings: Any, fitting: pm.Fitting) -> dict[str, Any]:
    """Put something of the data into the model that no ledger saw."""
    fields = lines.released(settings, fitting)
    n_points = sum(part.n_points for part in fitting.crossing.passes.source.parts())
    fields["density"] = fields["density"] + n_points
    return fields


def seeing_others(settings: Any, fitting: pm.Fitting) -> dict[str, Any]:
    """Let what a trajectory adds depend on how many stand beside it."""

    def kernel(part: pt.Trajectories, grid: pm.Grid) -> pm.Contributions:
        emitted = lines.trips_of(part, grid)
        return emitted._replace(codes=(emitted.codes + len(part)) % grid.n_cells**2)

    return measured(settings, fitting, kernel)


def shaped_by_the_data(settings: Any, fitting: pm.Fitting) -> dict[str, Any]:
    """Let the data decide how large a table is."""
    n_points = sum(part.n_points for part in fitting.crossing.passes.source.parts())

    def kernel(part: pt.Trajectories, grid: pm.Grid) -> pm.Contributions:
        return pm.once(np.zeros(len(part), np.int64), np.ones(len(part), np.bool_))

    return measured(settings, fitting, kernel, n_entries=10 + n_points % 7)


def refusing(settings: Any, fitting: pm.Fitting) -> dict[str, Any]:
    """Fail for data that is hardly there."""
    if not any(part.n_points > 1 for part in fitting.crossing.passes.source.parts()):
        raise AssertionError("too little data")
    return dict(lines.released(settings, fitting))


def fitting_once(settings: Any, fitting: pm.Fitting) -> dict[str, Any]:
    """Refuse seeded noise, and with it to be fitted again to see how far off such fits are."""
    if not fitting.crossing.ledger.private:
        raise AssertionError("seeded")
    return dict(lines.released(settings, fitting))


def forgetful(settings: Any, fitting: pm.Fitting) -> dict[str, Any]:
    """Leave a share of epsilon unspent."""
    fields = lines.released(settings, fitting)
    fitting.crossing.ledger._charges.pop()
    return dict(fields)


def by_the_clock(settings: Any, fitting: pm.Fitting) -> dict[str, Any]:
    """Let the last time of all decide something, where there are times."""
    fields = dict(lines.released(settings, fitting))
    for part in fitting.crossing.passes.source.parts():
        if part.times is not None and settings.times and part.n_points:
            fields["density"] = fields["density"] + part.times.astype(np.int64).max() % 1000
    return fields


def looking_back(settings: Any, fitting: pm.Fitting) -> dict[str, Any]:
    """Let trips count only if they come later than the one before in the part."""

    def kernel(runs: pm.Runs, grid: pm.Grid) -> pm.Contributions:
        emitted = lines.trips_of(runs, grid)
        if runs.times is None or not len(runs.times):
            return emitted
        firsts = runs.times[np.minimum(runs.offsets[:-1], len(runs.times) - 1)]
        later = np.append(True, firsts[1:] > firsts[:-1])
        return emitted._replace(weights=emitted.weights * np.repeat(later, np.diff(emitted.offsets)))

    return measured(settings, fitting, kernel)


@dataclass(frozen=True, kw_only=True)
class Straying(lines.StraightLines):  # type: ignore[misc,name-defined]
    method: ClassVar[str] = "straying"


@dataclass(frozen=True, eq=False, repr=False)
class StrayingModel(lines.StraightLinesModel):  # type: ignore[misc,name-defined]
    """Leave the region, and walk by the count instead of the seed."""

    def place(self, paths: pm.Paths, first: int, seed: int) -> pt.Trajectories:
        made = super().place(paths, 0, seed)
        return replace(made, points=made.points + 0.5)


@dataclass(frozen=True, eq=False, repr=False)
class LateModel(lines.StraightLinesModel):  # type: ignore[misc,name-defined]
    """Let each block of trips depart like the first."""

    def reported(self, placed: Any, first: int, seed: int) -> pt.Trajectories:
        return super().reported(placed, 0, seed)


@dataclass(frozen=True, eq=False, repr=False)
class CarelessModel(lines.StraightLinesModel):  # type: ignore[misc,name-defined]
    """Take whatever a file says."""

    def __post_init__(self) -> None:
        pass


def shown_with(change: Any) -> type:
    """Show what was measured with the layer changed."""

    @dataclass(frozen=True, eq=False, repr=False)
    class Changed(lines.StraightLinesModel):  # type: ignore[misc,name-defined]
        def view(self) -> pm.View:
            view = super().view()
            return replace(view, layers=(change(view.layers[0]),))

    return Changed


def short_of_a_cell(layer: pm.Layer) -> pm.Layer:
    return replace(layer, numbers=(replace(layer.visits, values=layer.visits.values[1:]),))


def counting_each_cell(layer: pm.Layer) -> pm.Layer:
    """Let a trip weigh one in each cell, and not in all together."""
    return replace(layer, visits_of=lambda runs: np.full(layer.grid.n_cells, float(len(runs))))


def boasting(layer: pm.Layer) -> pm.Layer:
    """Claim less noise than there is."""
    return replace(layer, numbers=(replace(layer.visits, error=layer.visits.error / 100),))


BREAKS = {
    "short of a cell": (
        replace(lines.METHOD, model=shown_with(short_of_a_cell)),
        "contract",
        "shows what was measured",
    ),
    "counting each cell": (
        replace(lines.METHOD, model=shown_with(counting_each_cell)),
        "contract",
        "shows what was measured",
    ),
    "boasting": (
        replace(lines.METHOD, model=shown_with(boasting)),
        "contract",
        "shows no more than noise of no data",
    ),
    "fitting once": (with_recipe(fitting_once), "contract", "fits numbers with bounds"),
    "leaking": (with_recipe(leaking), "replay", "trajectories, count measured, whole"),
    "seeing others": (with_recipe(seeing_others), "purity", "box"),
    "seeing others, bounded": (with_recipe(seeing_others), "sensitivity", "one point, box"),
    "shaped by the data": (with_recipe(shaped_by_the_data), "sensitivity", "one point, box"),
    "refusing": (with_recipe(refusing), "contract", "refuses no value: one point"),
    "not spending": (with_recipe(forgetful), "contract", "spends exactly its budget"),
    "careless": (
        replace(lines.METHOD, model=CarelessModel),
        "contract",
        "refuses a count that no ledger gives",
    ),
    "straying": (
        replace(lines.METHOD, settings=Straying, model=StrayingModel),
        "contract",
        "makes as many as asked, inside the region",
    ),
    "late": (
        replace(lines.METHOD, model=LateModel),
        "times",
        "makes times in the period, inside the region",
    ),
    "by the clock": (with_recipe(by_the_clock), "times", "a trajectory with any times, box"),
    "looking back": (with_recipe(looking_back), "times", "counts each by itself"),
    "straying by the count": (
        replace(lines.METHOD, settings=Straying, model=StrayingModel),
        "contract",
        "depends on nothing but the seed when it generates",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_found_by_its_suite(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, suite, check = BREAKS[name]
    assert failures(method, suite, monkeypatch, only=check) == [check]


def test_checks_name_what_they_check() -> None:
    listed = checks(lines.StraightLines)
    assert len({str(check) for check in listed}) == len(listed) > 40
    assert {check.suite for check in listed} == {*SUITES}
    assert all(isinstance(check, Check) for check in listed)


def test_a_stage_that_gets_nothing_is_no_stage() -> None:
    settings = lines.StraightLines(epsilon=1, region=pt.Region.box(0, 0, 10, 10), public_count=5)
    assert settings.budget == {"density": Fraction(1, 5), "trips": Fraction(4, 5)}
