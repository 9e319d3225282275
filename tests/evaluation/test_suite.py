"""Evaluating: the table in words and numbers, what it refuses, and sets with little in them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import polygons
from tests.conftest import trajectories

import privtrace as pt
from privtrace.evaluation.comparison import PROFILES
from privtrace.evaluation.reference import Made
from privtrace.evaluation.suite import MOST_REPLICATES, Evaluation
from privtrace.io.printing import rounded
from privtrace.observer import Silent

LISBON = pt.Region.box(-9.25, 38.68, -9.08, 38.80)


@pytest.fixture(scope="module")
def table(wanderers: pt.Trajectories, region: pt.Region) -> Evaluation:
    return pt.evaluate(wanderers, wanderers[:300], region=region, profile="all", seed=5, bootstrap=4)


def test_to_dict_is_plain_json(table: Evaluation) -> None:
    listed = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert listed == table.to_dict()
    assert set(listed) == {"metrics", "inputs", "not_private", "notice", "deprecated"}
    assert listed["not_private"] is True
    assert "the privacy statement no longer holds" in listed["notice"]
    for name, entry in listed["metrics"].items():
        score = table[name]
        limit = None if name == "cell_speed" else score.limit  # no cell has 50 visits of a half
        assert (entry["value"], entry["limit"], entry["baseline"]) == (score.value, limit, score.baseline)
        assert entry["interval"] == list(score.interval or ())
        assert (entry["best"], entry["words"]) == (score.metric.best, score.metric.words)


def test_old_names_give_the_same_with_a_note(table: Evaluation) -> None:
    with pytest.warns(
        DeprecationWarning, match="Score.ceiling was renamed to baseline; .* version 0.3"
    ) as seen:
        assert table["length"].ceiling == table["length"].baseline
    assert seen[0].filename == __file__  # where the old name stands
    listed = table.to_dict()
    assert listed["deprecated"] == {
        "ceiling": "renamed to baseline; the old name will be removed in version 0.3"
    }
    assert all(entry["ceiling"] == entry["baseline"] for entry in listed["metrics"].values())
    assert "ceiling" not in str(table)


def test_inputs_count_what_was_read(table: Evaluation, wanderers: pt.Trajectories, region: pt.Region) -> None:
    inputs = table.to_dict()["inputs"]
    inside = region.for_data("planar").contains(wanderers.points)
    n_inside = sum(
        inside[first:last].any()
        for first, last in zip(wanderers.offsets[:-1], wanderers.offsets[1:], strict=True)
    )
    assert inputs["real"] == {
        "path": None,
        "trajectories": 600,
        "in_region": n_inside,
        "points": wanderers.n_points,
        "points_in_region": inside.sum(),
        "bad_points": 0,
        "has_times": True,
        "untimed_points": inputs["real"]["untimed_points"],
    }
    assert 0 < inputs["real"]["untimed_points"] < 0.03 * wanderers.n_points
    assert inputs["timezone"] == "UTC" and inputs["left_out"] == []
    assert inputs["synthetic"]["trajectories"] == 300
    settings = {name: inputs[name] for name in ("region", "crs", "profile", "seed", "bootstrap")}
    expected = {"region": "0,0,10,10", "crs": "planar", "profile": "all", "seed": 5, "bootstrap": 4}
    assert settings == expected


def test_a_table_is_a_mapping_of_scores(table: Evaluation) -> None:
    assert list(table) == list(table.scores) and len(table) == 36 and "density" in table
    assert "magic" not in table and "<function" not in repr(table["density"])
    with pytest.raises(KeyError, match="magic is not a metric of the profile all: length, "):
        table["magic"]
    assert repr(table) == str(table)


class Notes(Silent):
    """Write notes down."""

    def __init__(self) -> None:
        self.loud: list[str] = []

    def note(self, text: str, *, loud: bool = False) -> None:
        self.loud += [text] if loud else []


@pytest.mark.parametrize(
    ("box", "n_synthetic", "words"),
    [
        ((0, 0, 10, 10), 300, []),
        ((0, 0, 10, 10), 0, ["the synthetic data: it is empty"]),
        (
            (3, 3, 4, 4),
            300,
            ["the real data: most of its points are outside", "the synthetic data: most of its"],
        ),
        (
            (-500, -500, 500, 500),
            300,
            ["the real data: it fills only a small part", "the synthetic data: it fills only a"],
        ),
    ],
)
def test_what_is_perhaps_not_meant_is_told(
    wanderers: pt.Trajectories, box: tuple[float, ...], n_synthetic: int, words: list[str]
) -> None:
    notes = Notes()
    pt.evaluate(wanderers, wanderers[:n_synthetic], region=pt.Region.box(*box), observer=notes)
    assert len(notes.loud) == len(words)
    assert all(note.startswith(start) for note, start in zip(notes.loud, words, strict=True))


def test_words_begin_with_not_private(table: Evaluation) -> None:
    first = str(table).splitlines()[0]
    assert first.startswith("NOT PRIVATE")
    assert "the privacy statement no longer holds" in first


def test_words_list_every_metric_with_its_numbers(table: Evaluation) -> None:
    lines = str(table).splitlines()
    for name, score in table.scores.items():
        (row,) = (line for line in lines if line.split(" ")[0] == name)
        for number in (score.value, score.limit, score.baseline, *(score.interval or ())):
            assert (" - " if math.isnan(number) else f"{number:.4f}") in row
        assert row.endswith(score.metric.words)
    assert "real       " in str(table) and "300 trajectories" in str(table)


def test_there_are_no_intervals_unless_asked(wanderers: pt.Trajectories, region: pt.Region) -> None:
    plain = pt.evaluate(wanderers, wanderers, region=region)
    assert "interval" not in str(plain)
    assert not any("interval" in entry for entry in plain.to_dict()["metrics"].values())


def test_profiles_are_those_named(wanderers: pt.Trajectories, region: pt.Region) -> None:
    tables = {
        name: pt.evaluate(wanderers, wanderers[:50], region=region, profile=name) for name in [*PROFILES, "all"]
    }
    default = pt.evaluate(wanderers, wanderers[:50], region=region)
    assert default.to_dict() == tables["paper"].to_dict()
    for name, profile in PROFILES.items():
        assert list(tables[name].scores) == [metric.name for metric in profile.metrics]
        for metric in profile.metrics:  # the same beside the others
            assert tables["all"][metric.name] == tables[name][metric.name]
    assert len(tables["all"].scores) == sum(len(profile.metrics) for profile in PROFILES.values())


def test_real_data_itself_is_between_nothing_and_its_limit(
    wanderers: pt.Trajectories, region: pt.Region
) -> None:
    itself = pt.evaluate(wanderers, wanderers, region=region, profile="all")
    for name, score in itself.scores.items():
        if name not in ("next_cell", "travel_time"):
            assert score.value == pytest.approx(score.metric.best, abs=0.01)
            if name == "cell_speed":  # no cell has 50 visits of a half
                assert math.isnan(score.limit) and score.baseline > 0
            else:
                assert abs(score.limit - score.metric.best) < abs(score.baseline - score.metric.best)


def test_works_on_a_polygon_and_on_files(wanderers: pt.Trajectories, tmp_path: Path) -> None:
    path, real = tmp_path / "real.csv", rounded(wanderers)  # as text has it
    real.write(path)
    within = polygons.region("mixed 1")
    memory = pt.evaluate(real, wanderers[:200], region=within, profile="all")
    file = pt.evaluate(pt.read(path), wanderers[:200], region=within, profile="all")
    assert file.to_dict()["metrics"] == memory.to_dict()["metrics"]
    assert file.to_dict()["inputs"]["real"]["path"] == str(path)
    inputs = memory.to_dict()["inputs"]
    assert "polygon" in inputs["region"] and inputs["real"]["in_region"] < 600


NEED_TIMES = [metric.name for metric in PROFILES["time"].metrics if metric.needs_times]


@pytest.mark.parametrize(
    ("lacking", "words"),
    [
        ("real", "the real data has no usable times"),
        ("synthetic", "the synthetic data has no usable times"),
        ("both", "the real and the synthetic data have no usable times"),
    ],
)
@pytest.mark.parametrize("times", [None, "numbers"])
def test_what_needs_times_is_left_out_where_there_are_none(
    wanderers: pt.Trajectories, region: pt.Region, lacking: str, words: str, times: str | None
) -> None:
    """Numbers are no clock, and neither are they used as one."""
    without = replace(wanderers, times=None if times is None else np.arange(float(wanderers.n_points)))
    pair = (
        without if lacking in ("real", "both") else wanderers,
        without if lacking in ("synthetic", "both") else wanderers,
    )
    table = pt.evaluate(*pair, region=region, profile="time", bootstrap=2)
    assert list(table) == ["jump", "points"] and table["jump"].value == 0
    inputs = table.to_dict()["inputs"]
    assert inputs["left_out"] == NEED_TIMES
    for given, role in zip(pair, ("real", "synthetic"), strict=True):
        assert inputs[role]["has_times"] == (given is wanderers)
        assert (inputs[role]["untimed_points"] is None) == (given is without)
    assert f"left out   {words}, so these metrics are left out: departure, " in str(table)
    assert "left out" not in str(pt.evaluate(*pair, region=region))


@pytest.mark.parametrize("name", ["walks.csv", "walks.parquet"])
def test_times_of_files_are_read_on_the_calendar(
    wanderers: pt.Trajectories, region: pt.Region, tmp_path: Path, name: str
) -> None:
    """Text sets the order of points alone, unless times are looked at."""
    given = rounded(wanderers)
    given.write(tmp_path / name)
    with pt.read(tmp_path / name, crs="planar") as source:
        file = pt.evaluate(source, source, region=region, profile="time")
    memory = pt.evaluate(given, given, region=region, profile="time")
    assert file.to_dict()["metrics"] == memory.to_dict()["metrics"]


def test_numbers_in_a_text_file_are_no_times(region: pt.Region, tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    rows = [f"{number},{number % 7 + 1},{step + 2},{step}" for number in range(9) for step in range(3)]
    path.write_text("\n".join(["traj_id,x,y,t", *rows]))
    table = pt.evaluate(pt.read(path), pt.read(path), region=region, profile="time")
    assert list(table) == ["jump", "points"] and table.inputs["real"]["has_times"] is False
    seconds = pt.read(path, time_unit="s")
    assert "departure" in pt.evaluate(seconds, seconds, region=region, profile="time")


def test_how_many_points_are_untimed_is_said(wanderers: pt.Trajectories, region: pt.Region) -> None:
    table = pt.evaluate(wanderers, wanderers[:0], region=region, profile="time")
    n_untimed = table.inputs["real"]["untimed_points"]
    assert f"; {n_untimed:,} points have no usable time" in str(table) and n_untimed > 100
    assert str(table).count("usable time") == 1
    plain = pt.evaluate(wanderers, wanderers, region=region, figures=False)
    assert plain.inputs["real"]["untimed_points"] is None  # nobody looked


def test_hours_are_those_of_the_real_data_s_zone_or_another(
    wanderers: pt.Trajectories, region: pt.Region
) -> None:
    moved = replace(wanderers, times=wanderers.times + np.timedelta64(3, "h"))
    settings: dict[str, Any] = {"region": region, "profile": "time"}
    here = pt.evaluate(replace(wanderers, zone="Asia/Tokyo"), moved, **settings)
    there = pt.evaluate(wanderers, replace(moved, zone="Asia/Tokyo"), timezone="Asia/Tokyo", **settings)
    utc = pt.evaluate(wanderers, moved, **settings)
    assert here.inputs["timezone"] == there.inputs["timezone"] == "Asia/Tokyo"
    assert here.to_dict() == there.to_dict() != utc.to_dict() and utc.inputs["timezone"] == "UTC"
    # Monday morning is the middle of Monday there: other parts of the day, and shifted by as many hours.
    assert here["departure"].value == pytest.approx(utc["departure"].value)
    assert here["hourly_od"].value != utc["hourly_od"].value
    with pytest.raises(pt.SettingsError, match="there is no time zone 'Mars/Base'"):
        pt.evaluate(wanderers, moved, timezone="Mars/Base", **settings)


def in_lisbon(*points: tuple[float, float]) -> pt.Trajectories:
    return trajectories(list(points), crs="lonlat")


GOOD = in_lisbon((-9.1387654, 38.7223456), (-9.1412345, 38.7198765))
SWAPPED = in_lisbon((38.7223456, -9.1387654), (38.7198765, -9.1412345))
ELSEWHERE = in_lisbon((2.3487654, 48.8523456), (2.3498765, 48.8511111))
BAD = in_lisbon((math.nan, 38.7223456), (0.0, 0.0))


@pytest.mark.parametrize(
    ("real", "synthetic", "words"),
    [
        (
            SWAPPED,
            GOOD,
            "the real data: almost no points lie in the region, but most would with x and y swapped",
        ),
        (GOOD, SWAPPED, "the synthetic data: almost no points .* swapped"),
        (ELSEWHERE, GOOD, "the real data: none of its points lies in the region"),
        (GOOD, ELSEWHERE, "the synthetic data: none of its points lies in the region"),
        (BAD, GOOD, "the real data: it has no valid points"),
        (GOOD, BAD, "the synthetic data: it has no valid points"),
        (trajectories(crs="lonlat"), GOOD, "the real data: there are no trips to compare with"),
        (trajectories([], [], crs="lonlat"), GOOD, "the real data: there are no trips"),
        (GOOD, trajectories([(1.0, 1.0)]), "the real data is lonlat and the synthetic data is planar"),
    ],
)
def test_data_that_cannot_be_meant_is_refused(real: Any, synthetic: Any, words: str) -> None:
    with pytest.raises(pt.DataError, match=words) as caught:
        pt.evaluate(real, synthetic, region=LISBON, profile="all")
    for given in (real, synthetic):
        for number in given.points[np.isfinite(given.points) & (given.points != 0)].tolist():
            assert f"{number:.3f}" not in str(caught.value) and f"{abs(number):.4f}" not in str(caught.value)


def test_a_refusal_names_the_file(tmp_path: Path) -> None:
    ELSEWHERE.write(tmp_path / "paris.csv")
    with pytest.raises(pt.DataError, match=r"the synthetic data, .*paris\.csv: none of its points") as caught:
        pt.evaluate(GOOD, pt.read(tmp_path / "paris.csv"), region=LISBON)
    assert "48.85" not in str(caught.value)


def test_only_hardly_a_point_beside_the_swapped_ones_refuses() -> None:
    good, swapped, other = (-9.14, 38.72), (38.72, -9.14), (2.35, 48.85)
    for accepted in ([good, swapped], [good, *[swapped] * 100, other, other]):
        mixed = in_lisbon(*accepted)
        assert pt.evaluate(mixed, mixed, region=LISBON).inputs["real"]["points_in_region"] == 1
    for refused in ([swapped, other, other], [good, *[swapped] * 101]):
        with pytest.raises(pt.DataError, match="seem to be swapped"):
            pt.evaluate(in_lisbon(*refused), GOOD, region=LISBON)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"profile": "everything"},
            "the profile must be paper, adatrace, mobility, time or all, not 'everything'",
        ),
        ({"profile": None}, "the profile must be"),
        ({"seed": -1}, "must be a whole number from 0 to 1844"),
        ({"seed": 2**64}, "must be a whole number from 0 to 1844"),
        ({"seed": 1.5}, "must be a whole number from 0 to 1844"),
        ({"seed": "1"}, "must be a whole number from 0 to 1844"),
        ({"seed": None}, "must be a whole number from 0 to 1844"),
        ({"bootstrap": -1}, "bootstrap must be 0 or from 2"),
        ({"bootstrap": 1}, "bootstrap must be 0 or from 2"),
        ({"bootstrap": MOST_REPLICATES + 1}, "bootstrap must be 0 or from 2"),
        ({"bootstrap": 2.0}, "bootstrap must be 0 or from 2"),
        ({"bootstrap": None}, "bootstrap must be 0 or from 2"),
        ({"region": None}, "a region is needed"),
        ({"region": (0, 0, 10)}, "a region is four numbers"),
        ({"region": pt.Region.box(0, 0, 10, 10, crs="lonlat")}, "is lonlat, but the data is planar"),
    ],
)
def test_bad_settings_are_refused(
    wanderers: pt.Trajectories, region: pt.Region, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(pt.SettingsError, match=words):
        pt.evaluate(wanderers, wanderers, **{"region": region, **settings})


@pytest.mark.parametrize("nothing", [None, np.zeros((3, 2)), [[(1.0, 1.0)]]])
def test_what_is_no_source_is_refused(wanderers: pt.Trajectories, region: pt.Region, nothing: Any) -> None:
    for pair in ((nothing, wanderers), (wanderers, nothing)):
        with pytest.raises(pt.DataError, match="trajectories are needed: "):
            pt.evaluate(*pair, region=region)


TINY = {
    "nothing": trajectories(),
    "no points": trajectories([], []),
    "a point": trajectories([(3.0, 4.0)]),
    "points": trajectories([(3.0, 4.0)], [(3.0, 4.0)], [(9.0, 1.0)], [(10.0, 10.0)], [(0.0, 0.0)]),
    "a stop": trajectories([(3.0, 4.0)] * 3),
    "a hair": trajectories([(0.0, 0.0), (1e-310, 0.0)], [(5.0, 5.0)]),
    "a line": trajectories([(1.0, 1.0), (9.0, 9.0)]),
    "bad points": trajectories(
        [(math.nan, 1.0), (3.0, 4.0), (math.inf, 2.0), (5.0, 5.0)], [(math.nan, math.nan)], [(1.0, 1.0)], []
    ),
    "leaving": trajectories([(1.0, 1.0), (99.0, 1.0), (2.0, 2.0), (3.0, 3.0)], [(50.0, 50.0)]),
}


REAL = [name for name in TINY if name not in ("nothing", "no points")]

#: Each of the real ones with two of the synthetic ones, all of which are among them.
PAIRS = [(name, [*TINY][(place + more) % len(TINY)]) for place, name in enumerate(REAL) for more in (0, 4)]


@pytest.mark.parametrize(("real", "synthetic"), PAIRS)
def test_little_data_gives_numbers_or_none(real: str, synthetic: str, region: pt.Region) -> None:
    table = pt.evaluate(TINY[real], TINY[synthetic], region=region, profile="all", bootstrap=2)
    json.dumps(table.to_dict(), allow_nan=False)
    assert str(table).startswith("NOT PRIVATE")
    for score in table.scores.values():
        for number in (score.value, score.limit, score.baseline):
            assert math.isnan(number) or score.metric.low <= number <= score.metric.high
            assert not math.isinf(number)


@pytest.mark.parametrize("name", REAL)
def test_little_data_itself_is_as_good_as_can_be(name: str, region: pt.Region) -> None:
    table = pt.evaluate(TINY[name], TINY[name], region=region, profile="all")
    for metric, score in table.scores.items():
        if not math.isnan(score.value) and not metric.startswith("short_"):  # many may have the median length
            assert score.value == pytest.approx(score.metric.best, abs=1e-12)
    for metric in ("length", "diameter", "density", "query", "trip", "od", "visits", "gyration", "jump"):
        assert table[metric].value == 0


def test_one_real_trajectory_has_no_limit(region: pt.Region) -> None:
    table = pt.evaluate(TINY["a line"], TINY["points"], region=region, profile="all")
    assert all(entry["limit"] is None for entry in table.to_dict()["metrics"].values())
    assert table.to_dict()["metrics"]["length"]["baseline"] is not None


@pytest.mark.parametrize(
    "nothing",
    [TINY["nothing"], TINY["no points"], Made(lambda: iter([]), "planar", 0)],
    ids=["no trajectories", "no points", "no parts"],
)
def test_an_empty_synthetic_set_gets_the_worst(
    wanderers: pt.Trajectories, region: pt.Region, nothing: pt.Source
) -> None:
    table = pt.evaluate(wanderers, nothing, region=region, profile="all", bootstrap=3)
    worst = {"pattern": 1, "pattern_short": 1, "pattern_long": 1, "frequent_support": 1, "frequent_f1": 0}
    undefined = {"coverage", "short_length_share", "short_diameter_share"}
    for metric, score in table.scores.items():
        if metric in undefined:
            assert math.isnan(score.value)
        elif metric in worst:
            assert score.value == worst[metric]
        elif metric == "cell_speed":  # where nothing moves, an error of speed / (speed + 1)
            assert 0 < score.value < 1
        elif metric.startswith(
            ("density", "query", "hourly_density")
        ):  # a circle that no real trajectory is in misses none
            assert 0.9 < score.value <= 1
        elif metric not in ("next_cell", "visits_ndcg", "travel_time"):
            assert score.value == pytest.approx(math.log(2))
    assert 0 < table["next_cell"].value < 1 and 0 < table["travel_time"].value < 1
    assert 0 < table["visits_ndcg"].value < 0.6
    assert table.to_dict()["metrics"]["coverage"]["value"] is None
