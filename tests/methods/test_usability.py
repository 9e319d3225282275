"""What may be read from a model is judged by its noise: noise is called so, and what stands out is told."""

from __future__ import annotations

import json
import logging
import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.conftest import trajectories
from tests.report.reading import BOX, fitted, walks

import privtrace as pt
from privtrace.methods import usability as judging
from privtrace.methods.usability import BUSY, NOISE, READABLE, Level, Usability
from privtrace.privacy.unit import WEIGHT
from privtrace.space.grid import Grid

REGION = pt.Region.box(*BOX).for_data("planar")
METHODS = {"bridgetrace": pt.BridgeTrace, "privtrace": pt.PrivTrace, "adatrace": pt.AdaTrace, "dpt": pt.DPT}
EACH = pytest.mark.parametrize("method", METHODS)


@cache
def model(method: str, epsilon: str = "30", n_trips: int = 300, **settings: Any) -> Any:
    return fitted(METHODS[method](epsilon=epsilon, region=REGION, **settings), walks(n_trips))


@cache
def timed(epsilon: str) -> Any:
    data = walks(300)
    departures = np.datetime64("2024-02-05T08:00:00", "s") + 86_400 * (np.arange(300) % 5).astype(
        "timedelta64[s]"
    )
    within = np.arange(data.n_points) - np.repeat(data.offsets[:-1], np.diff(data.offsets))
    times = np.repeat(departures, np.diff(data.offsets)) + 30 * within.astype("timedelta64[s]")
    settings = pt.AdaTrace(epsilon=epsilon, region=REGION, N=2, times=True)
    return fitted(settings, replace(data, times=times, zone="UTC"))


# Arithmetic, beside a slow oracle.


def by_hand(values: list[float], errors: list[float], count: float) -> dict[str, Any]:
    """Judge numbers one by one: what stands out, how much it holds, and the noise of the one in the middle."""
    n, chance = len(values), 0.5 * math.exp(-3 * math.sqrt(2))
    out = sorted(((v, e) for v, e in zip(values, errors, strict=True) if v > 3 * e), key=lambda pair: -pair[0])
    # Laplace noise above a limit exceeds it by its scale on average, a standard deviation over root 2.
    added_by_noise = sum(chance * (3 * e + e / math.sqrt(2)) for e in errors)
    held, sums = 0.0, []
    for value, _ in out:
        held += value - added_by_noise / len(out)
        sums.append(max(held, 0.0))
    most = sum(values) + 1.645 * math.sqrt(sum(e * e for e in errors))
    total = max(min(most, count), sums[-1] if sums else 0.0)
    typical = [1.645 * e / v for (v, e), so_far in zip(out, sums, strict=True) if so_far >= total / 2][:1]
    few = len(out) <= max(n * chance + 3 * math.sqrt(n * chance), 1)
    highest = max((v / e for v, e in out), default=0.0)
    if not out or sums[-1] == 0 or (few and n * 0.5 * math.exp(-math.sqrt(2) * highest) > 0.002):
        verdict, typical = NOISE, []
    else:
        verdict = READABLE if typical and typical[0] <= 0.3 else BUSY
    share = sums[-1] / total if sums else 0.0
    return {
        "verdict": verdict,
        "numbers": n,
        "stand_out": len(out),
        "expected_by_chance": round(n * chance, 2),
        "share": round(share, 3),
        "relative_margin": float(f"{typical[0]:.2g}") if typical else None,
    }


@EACH
@pytest.mark.parametrize("epsilon", ["0.01", "1", "30"])
def test_facts_are_as_counted_by_hand(method: str, epsilon: str) -> None:
    """Of the finest cells no better numbers are known than theirs, and of departures neither."""
    one = model(method, epsilon, public_count=300)
    layer = one.view().layers[-1]
    (level,) = (level for level in one.usability().levels if level.name == f"Visits of {layer.name}")
    values = layer.visits.values.tolist()
    wanted = by_hand(values, [layer.visits.error] * len(values), one.count / WEIGHT)
    assert {key: level.facts()[key] for key in wanted} == wanted


@pytest.mark.parametrize("epsilon", ["1", "100"])
def test_flows_and_hours_are_judged_by_hand_too(epsilon: str) -> None:
    one = timed(epsilon)
    levels = {level.kind: level for level in one.usability().levels}
    trips = one.view().trips.noisy
    within = {0, 5, 10, 15}  # of two cells by two
    apart = [value for pair, value in enumerate(trips.values.tolist()) if pair not in within]
    count = one.count / WEIGHT
    elsewhere = max(count - sum(trips.values[pair] for pair in within), 0.0)
    wanted = by_hand(apart, [trips.error] * 12, elsewhere)
    assert {key: levels["flows"].facts()[key] for key in wanted} == wanted
    departures = (one.timing.timetable.departures / WEIGHT).tolist()
    (charge,) = (charge for charge in one.release.charges if charge.stage == "departures")
    wanted = by_hand(departures, [math.sqrt(2) * charge.scale_in_trajectories] * 168, count)
    assert {key: levels["hours"].facts()[key] for key in wanted} == wanted
    assert (levels["hours"].verdict == READABLE) == (epsilon == "100")


@EACH
def test_coarse_cells_are_judged_by_what_is_known_best(method: str) -> None:
    """Sums of the visits of finer cells may have less noise than those of coarse ones."""
    one = model(method, "1")
    coarse, finer = one.view().layers[0], one.view().layers[1:]
    errors = [coarse.visits.error / coarse.visits.values.sum() if coarse.visits.values.sum() > 0 else math.inf]
    found = [coarse.visits.values.tolist()], [[coarse.visits.error] * coarse.grid.n_cells]
    for layer in finer:
        held = [holding(coarse.grid, center) for center in layer.grid.pieces.centers]
        sums = [0.0] * coarse.grid.n_cells
        n_added = [0] * coarse.grid.n_cells
        for cell, value in zip(held, layer.visits.values.tolist(), strict=True):
            sums[cell] += value
            n_added[cell] += 1
        found[0].append(sums)
        found[1].append([layer.visits.error * math.sqrt(max(n, 1)) for n in n_added])
        mean = math.sqrt(sum(error**2 for error in found[1][-1]) / len(sums))
        errors.append(mean / max(sum(sums), 1e-9))
    best = errors.index(min(errors))
    wanted = by_hand(found[0][best], found[1][best], one.count / WEIGHT)
    level = one.usability().levels[0]
    assert {key: level.facts()[key] for key in wanted} == wanted


def holding(grid: Grid, point: Any) -> int:
    """Find the cell whose box holds a point."""
    west, south, east, north = grid.boxes.T
    (found,) = np.flatnonzero((west <= point[0]) & (point[0] < east) & (south <= point[1]) & (point[1] < north))
    return int(found)


def test_sums_are_of_whole_cells_alone() -> None:
    """Four cells by four lie in two by two; three by three do not."""
    coarse, fine, other = (Grid.uniform(REGION, n) for n in (2, 4, 3))
    inside = judging._holding(coarse, fine)
    assert inside is not None
    assert inside.tolist() == [0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3]
    assert judging._holding(coarse, other) is None


# Known numbers and known verdicts.


def judged(values: Any, error: float = 1.0, count: float | None = None) -> Level:
    values = np.asarray(values, float)
    total = float(values.sum()) if count is None else count
    return judging._judged("visits", "Visits of cells", values, np.full(len(values), error), total)


def test_numbers_far_above_their_noise_are_readable() -> None:
    level = judged([100.0] * 50)
    assert (level.verdict, level.n_out) == (READABLE, 50) and level.margin == pytest.approx(0.01645)
    assert level.share == pytest.approx(1, abs=0.01)


def test_numbers_below_their_noise_are_noise_however_many_trips_they_are() -> None:
    """A million trips, spread over cells with noise as large as what is in each."""
    assert judged([1.0, 0.5, 1.5, -0.5] * 250_000, 1.0).verdict == NOISE


def test_few_busy_places_stand_out_among_many_empty_ones() -> None:
    """A village of seven cells of four hundred, as far above the noise as can be, is not chance."""
    noise = np.random.default_rng(1).laplace(size=400) / math.sqrt(2)
    level = judged(noise + np.where(np.arange(400) < 7, 200.0, 0.0), count=1400.0)
    assert level.verdict == READABLE and level.margin == pytest.approx(1.645 / 200, rel=0.05)


def test_only_the_busy_ones_where_most_trips_are_lost_in_the_noise() -> None:
    level = judged([40.0] * 10 + [1.0] * 5_000, count=5_400.0)
    assert level.verdict == BUSY and level.margin is None and level.share < 0.1
    assert level.words.endswith("; a typical one is lost in the noise.")


def test_numbers_that_were_not_measured_are_never_readable() -> None:
    level = judging._judged("flows", "Flows", np.full(9, 99.0), np.ones(9), 900.0, "starts")
    assert level.verdict == BUSY and "they were not measured, but follow from starts" in level.words
    assert level.facts()["judged_by"] == "starts"


@pytest.mark.parametrize("n_numbers", [1, 4, 9, 25, 100, 400, 2500])
@pytest.mark.parametrize("count", [0.0, 5.0, 1e4])
def test_noise_alone_is_hardly_ever_called_more(n_numbers: int, count: float) -> None:
    noise = np.random.default_rng(1).laplace(size=(600, n_numbers)) / math.sqrt(2)
    verdicts = [judged(numbers, count=count).verdict for numbers in noise]
    assert verdicts.count(READABLE) <= 6 and verdicts.count(BUSY) <= 18


# Models.


@EACH
def test_fits_to_nothing_are_noise(method: str) -> None:
    """Twelve fits, with two levels or more each: one in hundreds may be called busy by chance."""
    found = [
        METHODS[method](epsilon=1, region=REGION).fit(trajectories(), noise=pt.SeededNoise(seed)).usability()
        for seed in range(12)
    ]
    assert all(level.verdict != READABLE for one in found for level in one.levels)
    assert sum(one.is_noise for one in found) >= 11


@EACH
def test_a_tiny_epsilon_gives_noise_and_says_what_would_help(method: str) -> None:
    found = model(method, "0.001", public_count=300).usability()
    assert found.is_noise and {level.verdict for level in found.levels} == {NOISE}
    help, spent = found.advice
    for words in ("a larger epsilon", "more trips", "coarser cells", "privtrace plan"):
        assert words in help
    assert "Another fit of the same data adds to what is spent" in spent and "0.002 in all" in spent
    assert found.verdict == "This model is all noise: nothing stands out in it by more than chance gives."
    assert all(level.margin is None for level in found.levels)


@EACH
def test_a_large_epsilon_can_be_read(method: str) -> None:
    found = model(method, "1000", 1000).usability()
    assert not found.is_noise and found.advice == () and found.best("visits") == READABLE
    assert found.verdict.startswith("Readable: visits of ")


def test_more_epsilon_is_never_worse() -> None:
    order = [NOISE, BUSY, READABLE]
    for kind in ("visits", "flows"):
        verdicts = [
            order.index(model("adatrace", e, 1000).usability().best(kind)) for e in ("0.001", "1", "1000")
        ]
        assert verdicts == sorted(verdicts) and verdicts[0] == 0 and verdicts[-1] == 2


def test_no_trips_are_said_to_be_none() -> None:
    """Whatever stands out, nothing can be read from a model that makes no trips."""
    full = model("adatrace", "1000", 1000)
    found = replace(full, count=0).usability()
    assert found.is_empty and found.is_noise and "the model makes none" in found.verdict and not found.levels
    assert {found.best(kind) for kind in ("visits", "flows")} == {NOISE} and len(found.advice) == 2


def test_of_what_a_model_does_not_have_nothing_is_said() -> None:
    one = fitted(pt.PrivTrace(epsilon=1, region=REGION, K=1, second_layer=False), walks(20))
    found = one.usability()
    assert found.best("hours") is None and found.best("flows") is None and found.best("visits") is not None
    assert "lows" not in found.verdict


def test_seeded_noise_spends_nothing() -> None:
    settings = pt.AdaTrace(epsilon="0.001", region=REGION)
    found = settings.fit(walks(60), noise=pt.SeededNoise(1)).usability()
    assert len(found.advice) == 1 and "spent:" not in found.advice[0]


def test_a_fit_that_is_all_noise_logs_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "privtrace"):
        pt.AdaTrace(epsilon="0.001", region=REGION, public_count=60).fit(walks(60), noise=pt.SeededNoise(1))
    said = caplog.records[-1].getMessage()
    assert "This model is all noise" in said and "What would help" in said
    caplog.clear()
    with caplog.at_level(logging.WARNING, "privtrace"):
        pt.AdaTrace(epsilon=1000, region=REGION).fit(walks(300), noise=pt.SeededNoise(1))
    assert not any("all noise" in record.getMessage() for record in caplog.records)


def test_it_takes_the_model_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It samples nothing and fits nothing, so that it costs nothing at the end of a fit."""
    one = model("bridgetrace")
    for name in ("sample_block", "walk", "encode", "place"):
        monkeypatch.setattr(type(one), name, lambda *_: pytest.fail("it walked"))
    assert one.usability().levels


# Words.


@EACH
@pytest.mark.parametrize("epsilon", ["0.001", "1", "1000"])
def test_facts_and_words_agree(method: str, epsilon: str) -> None:
    found: Usability = model(method, epsilon).usability()
    facts = json.loads(json.dumps(found.facts()))
    assert facts["verdict"] == found.verdict and facts["all_noise"] == found.is_noise
    assert facts["advice"] == [*found.advice]
    lines = str(found).splitlines()
    assert lines == [found.verdict, *(f"  {level.sentence}" for level in found.levels), *found.advice]
    for level, fact in zip(found.levels, facts["levels"], strict=True):
        assert level.sentence.startswith(f"{fact['level']}: {fact['verdict']}; ")
        assert f"{fact['stand_out']:,} of {fact['numbers']:,} stand" in level.words
        if level.rests_on is None and fact["verdict"] != NOISE:
            share = "nearly all" if level.share >= 0.995 else f"{100 * level.share:.0f} %"
            assert f"{share} of the" in level.words
            if fact["relative_margin"] is not None:
                (told,) = (word for word in level.words.split() if word.startswith("±"))
                assert float(told[1:]) == pytest.approx(100 * fact["relative_margin"], rel=0.06)
        if not found.is_noise:
            assert (level.name[1:] in found.verdict) and (level.verdict != NOISE or "Noise: " in found.verdict)
    assert found.verdict in found._repr_html_() and found.verdict in repr(found)


def test_one_number_is_told_in_the_singular() -> None:
    level = judged([50.0, 0.0, 0.0, 0.0])
    assert level.words.startswith(
        "readable; 1 of 4 stands out from its noise and holds nearly all of the visits"
    )
