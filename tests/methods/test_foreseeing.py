"""Forecasts: what is asked for, which epsilon it needs, and how often forecasts came true on public data."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from experiments import foreseen as experiment
from experiments.data import METHODS
from hypothesis import given
from hypothesis import strategies as st

import privtrace as pt
from privtrace.methods.estimating import Sampling
from privtrace.methods.foreseeing import (
    MORE_TRIPS,
    STATISTICS,
    Target,
    percent,
    rounded_up,
    sampled,
    what_would_help,
)
from privtrace.methods.settings import Settings
from privtrace.privacy.unit import WEIGHT

SETTINGS = pt.BridgeTrace(epsilon=1, region=pt.Region.box(-8.70, 41.10, -8.54, 41.22))
TABLE = Path(experiment.__file__).with_suffix(".csv")


def offs(settings: Any, count: int = 25_000, **options: int) -> dict[str, float]:
    return {one.statistic: one.off for one in settings.expected(count, **options)}


# --- targets ---


@pytest.mark.parametrize(
    ("text", "statistic", "off"),
    [
        ("od error 10%", "od", 0.1),
        ("od 10 %", "od", 0.1),
        ("Flows within 7.5 percent", "od", 0.075),
        ("district ±5%", "district", 0.05),
        ("busiest hour off by 12 %", "hour", 0.12),
        ("trip length: 20%", "length", 0.2),
        ("streets < 50%", "street", 0.5),
        ("visits = 15", "district", 0.15),
    ],
)
def test_targets_are_read_as_people_write_them(text: str, statistic: str, off: float) -> None:
    assert Target.read(text) == (Target(statistic, pytest.approx(off)),)  # type: ignore[arg-type]


def test_several_targets_are_read() -> None:
    assert Target.read("od 10%, hour error 5%") == (Target("od", 0.1), Target("hour", 0.05))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the statistics are district, od, hour, length, street"),
        ("speed 10%", "not 'speed 10%'; the statistics are"),
        ("od", "needs an error from 0.1% to 99%"),
        ("od 0%", "needs an error"),
        ("od 100%", "needs an error"),
        ("od 0.1", "needs an error"),  # a share or percent? nobody knows
        ("od 1.2.3%", "needs an error"),
        ("od 10%, ", "a target is a statistic and by how much it may be off"),
    ],
)
def test_what_is_no_target_is_refused_with_an_example(text: str, words: str) -> None:
    with pytest.raises(pt.SettingsError, match=r"such as '.* error 10%'") as caught:
        Target.read(text)
    assert words in str(caught.value)


# --- epsilon ---


@given(st.floats(1e-8, 1e5))
def test_epsilon_is_rounded_up_to_one_digit(value: float) -> None:
    found = rounded_up(value)
    digits = f"{float(found):.15g}".replace(".", "").strip("0").partition("e")[0].strip("0")
    assert len(digits) == 1 and value <= found <= 2 * Fraction(value)


@pytest.mark.parametrize(
    ("value", "rounded"), [(0.234, "0.3"), (0.95, "1"), (7.01, "8"), (12.0, "20"), (3, "3")]
)
def test_examples_of_rounding_up(value: float, rounded: str) -> None:
    assert rounded_up(value) == Fraction(rounded)


@pytest.mark.parametrize("target", ["od 25%", "district 10%", "hour 10%", "length 15%", "od 25%, hour 10%"])
@pytest.mark.parametrize(
    "more",
    [{}, {"unit": "user", "max_per_user": 5}, {"times": True, "trips_share": "0.2", "visits_share": "0.29"}],
)
def test_the_epsilon_found_is_the_least_of_one_digit(target: str, more: dict[str, Any]) -> None:
    found = pt.BridgeTrace.for_target(target, count=40_000, region=SETTINGS.region, **more)
    epsilon = Fraction(found.epsilon)
    step = Fraction(10) ** int(f"{float(epsilon):e}".partition("e")[2])
    assert (epsilon / step).denominator == 1 and 1 <= epsilon / step <= 9
    less = epsilon - step if epsilon > step else epsilon * Fraction(9, 10)

    def met(at: Fraction) -> bool:
        said = offs(found.at(at), 40_000)
        return all(said[one.statistic] <= one.off * (1 + 1e-9) for one in Target.read(target))

    assert met(epsilon) and not met(less)


def test_users_with_several_trips_need_as_much_more_epsilon() -> None:
    users = replace(SETTINGS, unit="user", max_per_user=5, epsilon=5)
    assert offs(users) == pytest.approx(offs(SETTINGS))
    assert offs(users.at(1))["od"] > 1.5 * offs(SETTINGS)["od"]


def test_more_trips_and_more_epsilon_help_and_more_districts_do_not() -> None:
    here = offs(SETTINGS)
    for better in (offs(SETTINGS.at(2)), offs(SETTINGS, 50_000)):
        assert set(better) == set(here) == {*STATISTICS}
        assert all(better[name] < here[name] for name in here)
    finer = offs(SETTINGS, districts=36)
    assert {name for name in here if finer[name] > here[name]} == {"district", "od"}
    assert all(finer[name] == here[name] for name in ("hour", "length", "street"))


def test_nothing_is_promised_beyond_what_was_measured() -> None:
    """Signals larger than those of the public data are not said to help further, nor sought."""
    most = SETTINGS.foreseen["od"].most
    huge, larger = (offs(SETTINGS.at(epsilon), 10**6)["od"] for epsilon in (100, 1000))
    assert huge == larger < offs(SETTINGS.at("0.1"), 10**6)["od"]
    assert 10**6 * SETTINGS.at(100).per_unit("trips") > most > 10**6 * SETTINGS.at("0.1").per_unit("trips")


def test_only_public_numbers_count() -> None:
    """So a plan can be shown to anybody: the region's place and size, and sizes of models, do not matter."""
    elsewhere = replace(SETTINGS, region=(0, 0, 1, 1), K=3, public_count=25_000)
    assert offs(elsewhere)["od"] == offs(SETTINGS)["od"]


def test_a_target_that_no_epsilon_meets_says_what_would_help() -> None:
    def refused(target: str, count: int, districts: int = 9) -> str:
        with pytest.raises(pt.SettingsError) as caught:
            SETTINGS.reaching(target, count, districts)
        return str(caught.value)

    told = refused("od 20%", 5000, 36)
    assert told.startswith("no epsilon is known to bring a typical flow between two districts within ±20 %")
    assert "(36 districts): however large it is, expect about ±" in told
    assert " 9 districts (then epsilon" in told and "or a larger error (epsilon 10 gives about ±" in told
    assert "times as many trips" in refused("od 12%", 1000, 9)
    assert "What would help: a larger error (epsilon 10 gives" in refused("length 0.5%", 10**6)


def test_what_would_help_is_true_and_the_least() -> None:
    target = Target.read("od 15%")
    told = what_would_help(SETTINGS, target, 2000, 9)
    times = int(told.partition(" times")[0].rpartition(" ")[2])
    epsilon = told.partition("period (then epsilon ")[2].partition(" ")[0]
    assert SETTINGS.reaching("od 15%", 2000 * times).epsilon == epsilon and float(epsilon) <= 10
    fewer = MORE_TRIPS[MORE_TRIPS.index(times) - 1]
    assert fewer < times and float(SETTINGS.reaching("od 15%", 2000 * fewer).epsilon) > 10


def test_what_would_help_is_about_the_hardest_target() -> None:
    both = [
        what_would_help(SETTINGS, Target.read(text), 2000) for text in ("od 15%, hour 90%", "hour 90%, od 15%")
    ]
    assert both == 2 * [what_would_help(SETTINGS, Target.read("od 15%"), 2000)]


def test_hours_need_times_and_are_left_out_without() -> None:
    untimed = replace(SETTINGS, times=False)
    assert set(offs(untimed)) == {*STATISTICS} - {"hour"}
    with pytest.raises(pt.SettingsError, match="needs a model with times"):
        untimed.reaching("hour 10%", 25_000)


def test_methods_that_nobody_measured_foresee_nothing() -> None:
    class Other(pt.BridgeTrace):
        foreseen = Settings.foreseen  # type: ignore[assignment]

    settings = Other(epsilon=1, region=SETTINGS.region)
    plan = settings.plan(1000)
    assert settings.expected(1000) == plan.expected == () and not plan.outlook
    assert "is not foreseen for the method" in str(plan) and "is not foreseen" in plan._repr_html_()
    with pytest.raises(pt.SettingsError, match="is not foreseen for the method"):
        settings.reaching("od 10%", 1000)


@pytest.mark.parametrize("wrong", [{"districts": 3}, {"districts": 401}, {"count": 0}, {"epsilon": 1}])
def test_what_was_not_measured_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(pt.SettingsError):
        pt.BridgeTrace.for_target("od 30%", **{"region": SETTINGS.region, "count": 10_000, **wrong})


@pytest.mark.parametrize(("share", "text"), [(0.08, "±8 %"), (0.004, "±0.4 %"), (0.996, "±100 % or more")])
def test_shares_in_words(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize("count", [1, 499, 501, 20_000, 25_001, 10**6])
def test_as_many_trips_are_thought_of_as_are_counted(count: int) -> None:
    model: Any = SimpleNamespace(n_trajectories=count, count=count * WEIGHT)
    assert sampled(count) == Sampling.of(model).count


# --- what came true ---


@cache
def cases() -> dict[tuple[str, str], list[bool]]:
    """Say which forecasts were right, by method and statistic: those of the program, on the measured table."""
    found = defaultdict(list)
    for row in experiment.read(TABLE):
        if row.statistic in RIGHT.get(row.method, ()):
            found[row.method, row.statistic].append((experiment.expected(row), row.off))
    return {key: experiment.close(pairs) for key, pairs in found.items()}


def settings_of(method: str) -> Any:
    return METHODS[method](epsilon=1, region=SETTINGS.region)


def right(method: str, statistic: str | None = None) -> float:
    some = [
        one for key, of in cases().items() if key[0] == method and statistic in (None, key[1]) for one in of
    ]
    assert some
    return sum(some) / len(some)


#: The shares of forecasts that were right, rounded down: of all, and of each statistic.
RIGHT: dict[str, dict[str | None, float]] = {
    "bridgetrace": {None: 0.88, "district": 0.84, "od": 0.95, "hour": 0.93, "length": 0.65, "street": 0.99},
    "privtrace": {None: 0.89, "district": 0.84, "od": 0.96, "hour": 0.83, "street": 0.99},
    "dpt": {None: 0.90, "district": 0.93, "od": 0.92, "hour": 0.86, "length": 0.66, "street": 0.99},
}


@pytest.mark.parametrize("method", RIGHT)
def test_forecasts_came_true_on_public_data_in_most_cases(method: str) -> None:
    assert {*RIGHT[method]} == {None, *settings_of(method).foreseen}
    for statistic, least in RIGHT[method].items():
        assert least <= right(method, statistic) < least + 0.03, statistic


def test_the_page_about_choosing_epsilon_says_how_often_forecasts_were_right() -> None:
    page = (Path(__file__).parents[2] / "docs" / "choosing-epsilon.md").read_text()
    for method in RIGHT:
        (row,) = (line for line in page.splitlines() if line.startswith(f"| {method} |"))
        for statistic, cell in zip(STATISTICS, row.split("|")[2:-2], strict=True):
            if statistic in RIGHT[method]:
                assert cell.strip().startswith(f"{math.floor(100 * right(method, statistic))} % ("), (
                    method,
                    statistic,
                )
            else:
                assert cell.strip() == "not foreseen"


@pytest.mark.parametrize("method", RIGHT)
def test_constants_of_other_data_sets_foresee_nearly_as_well(method: str) -> None:
    """A user's data is none of those that were measured."""
    rows = [row for row in experiment.read(TABLE) if (row.method, row.statistic) == (method, "od")]
    told: list[bool] = []
    for name in {row.data for row in rows}:
        constants = experiment.constants_for([row for row in rows if row.data != name])
        told += experiment.close(
            (experiment.off_by(constants, row), row.off) for row in rows if row.data == name
        )
    assert sum(told) / len(told) >= 0.8


@pytest.mark.parametrize("method", RIGHT)
def test_tables_are_those_of_the_measured_errors(method: str) -> None:
    """The constants in the program follow from the table, as the experiment finds them."""
    rows = [row for row in experiment.read(TABLE) if (row.method, row.statistic) == (method, "hour")]
    constants, table = experiment.constants_for(rows), settings_of(method).foreseen["hour"]
    assert table.stage == constants.stage and table.most == constants.most
    for signal in (10.0, 100.0, 1000.0, 10_000.0):
        assert constants.off(signal, 10_000, 1) == pytest.approx(table.off(signal, 10_000, 1), rel=0.02)


def test_quantiles_are_of_weights() -> None:
    values = np.array([3.0, 1.0, 2.0])
    assert experiment.quantile(values, np.ones(3), 0.5) == 2.0
    assert experiment.quantile(values, np.array([8.0, 1.0, 1.0]), 0.5) > 2.5


def test_errors_are_those_of_numbers_that_typical_trips_are_in() -> None:
    """Of 1, 2, 4, 8 and 16 trips, those between a quarter and three quarters of all 31 are in 8 and 16."""
    real = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    n_places = 2 * len(experiment.PER_SIDE) + 1
    true = experiment.Seen([real] * n_places, np.arange(24.0), 1000.0)
    made = experiment.Seen([real * 1.5] * n_places, np.arange(24.0) * 0.9, 1100.0)
    found = {(name, size): errors for name, size, errors in experiment.errors_of(made, true, 31)}
    assert len(found) == n_places + 2
    assert [*found["street", 1].weights] == [8.0, 16.0] and [*found["street", 1].off] == [0.5, 0.5]
    assert [*found["hour", 1].off] == pytest.approx([0.1] * 4) and found["hour", 1].share == 23 / 31
    assert found["length", 1].off == pytest.approx([0.1])


@pytest.mark.data
def test_forecasts_come_true_on_real_data(real_data: Path) -> None:
    """Fits of now, with noise and trips other than those of the table."""
    fits = (("porto", None, "1"), ("porto", 1000, "10"), ("geolife", 5000, "1"), ("brinkhoff", 5000, "3"))
    sets, pairs = {name: experiment.Data(name) for name, *_ in fits}, []
    for name, size, epsilon in fits:
        rows = experiment.rows_of(sets[name], "bridgetrace", size, range(100, 102), epsilon)
        pairs += [(experiment.expected(row), row.off) for row in rows]
    told = experiment.close(pairs)
    assert len(told) > 40 and sum(told) / len(told) >= 0.65
