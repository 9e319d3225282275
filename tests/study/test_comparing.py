"""Comparing, in this process: what is asked for, what is run, what is found and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.study import methods as given
from tests.study.setups import Here, compare, fits

import privtrace as pt
from privtrace.errors import DataError, PrivTraceError, SettingsError
from privtrace.evaluation.comparison import PROFILES
from privtrace.privacy.unsafe_noise import SeededNoise
from privtrace.study.study import Study

pytestmark = pytest.mark.usefixtures("here")

PAPER = [metric.name for metric in PROFILES["paper"].metrics]


def same(one: Study, other: Study) -> bool:
    """Tell whether two found the same, wherever their data is."""
    plain = [json.loads(json.dumps(study.to_dict())) for study in (one, other)]
    for listed in plain:
        listed["inputs"].pop("path", None)
    return bool(plain[0] == plain[1])


# --- what is found ---


def test_numbers_are_those_of_fitting_and_evaluating_by_hand(
    trips: pt.Trajectories, area: pt.Region, tmp_path: Path
) -> None:
    """With the seed that the file names beside them."""
    path = tmp_path / "results.parquet"
    study = compare(trips, area, "privtrace", given.Shifted, epsilons=["0.5", 2], results=path)
    rows = [row for row in pq.read_table(path).to_pylist() if row["kind"] == "score"]
    for label, epsilon, run in (("privtrace", "0.5", 1), ("Shifted", "2", 0)):
        wanted = {"competitor": label, "epsilon": epsilon, "run": run}
        own = [row for row in rows if {name: row[name] for name in wanted} == wanted]
        [seed] = {row["seed"] for row in own}
        if label == "privtrace":
            model: Any = pt.PrivTrace(epsilon=epsilon, region=area, times=False).fit(
                trips, noise=SeededNoise(seed)
            )
        else:
            model = given.Shifted(epsilon, area).fit(trips, seed)
        by_hand = pt.evaluate(trips, model.sample(seed=seed), region=area, figures=False)
        for name in PAPER:
            assert study.values(label, epsilon, name)[run] == by_hand[name].value
            assert study.limit[name] == by_hand[name].limit
            assert study.baseline[name] == by_hand[name].baseline
            [row] = [row for row in own if row["quantity"] == name]
            assert row["value"] == by_hand[name].value
        assert ("size: states" in {row["quantity"] for row in own}) == (label == "privtrace")


def test_the_same_seed_gives_the_same_and_another_another(trips: pt.Trajectories, area: pt.Region) -> None:
    one, again, other = (compare(trips, area, "dpt", seed=seed) for seed in (1, 1, 2))
    assert same(one, again)
    assert not np.isin(one.values("dpt", 1, "length"), other.values("dpt", 1, "length")).any()
    assert one.limit["length"] != other.limit["length"]


def test_no_two_trials_share_chance(trips: pt.Trajectories, area: pt.Region, tmp_path: Path) -> None:
    log, path = tmp_path / "log", tmp_path / "results.parquet"
    logging = partial(given.Shifted, log=str(log))
    compare(trips, area, methods={"a": logging, "b": logging}, epsilons=[1, 2], runs=3, results=path)
    assert len(fits(log)) == len({line.split()[1] for line in fits(log)}) == 2 * 2 * 3
    rows = [row for row in pq.read_table(path).to_pylist() if row["kind"] == "score"]
    assert {str(row["seed"]) for row in rows} == {line.split()[1] for line in fits(log)}


def test_a_study_of_a_file_is_what_compare_gave(
    trips: pt.Trajectories, area: pt.Region, tmp_path: Path
) -> None:
    path = tmp_path / "results.parquet"
    files = {"half": {"1": trips[::2]}, "same": [trips, trips[:150], trips[50:]]}
    study = compare(trips, area, "dpt", files=files, maps=True, costs=True, results=path)
    again = Study.read(path)
    assert same(study, again) and repr(study) == repr(again)
    assert study.entries == again.entries and study.metrics == again.metrics
    assert study.costs == again.costs and set(study.costs) == {"dpt"}
    assert set(study.heats) == set(again.heats) == {"real", "dpt", "half", "same"}
    assert all(np.array_equal(study.heats[label], again.heats[label]) for label in study.heats)
    assert study.heats["real"].shape == (80, 80) and np.array_equal(study.heats["real"], study.heats["same"])
    assert len(study.values("same", 1, "length")) == 3  # all of them, though two runs were asked for
    assert study.errors("same", 1, "length")[0] == 0


def test_results_say_that_they_are_not_private(trips: pt.Trajectories, area: pt.Region, tmp_path: Path) -> None:
    path = tmp_path / "results.parquet"
    study = compare(trips, area, given.Same, results=path)
    metadata = pq.read_schema(path).metadata
    assert json.loads(metadata[b"privtrace.comparison"])["not_private"] is True
    assert study.to_dict()["not_private"] is True and repr(study).startswith("NOT PRIVATE")


# --- going on ---


def test_what_is_done_is_not_done_again(trips: pt.Trajectories, area: pt.Region, tmp_path: Path) -> None:
    log, path = tmp_path / "log", tmp_path / "results.parquet"
    go = partial(compare, trips, area, partial(given.Shifted, log=str(log)), results=path)
    first = go()
    assert len(fits(log)) == 2
    assert same(go(), first) and len(fits(log)) == 2
    assert not {trial.label for trial in Here.ran[4:]}  # the marks as well
    more = go(runs=3, epsilons=[1, 2])
    assert len(fits(log)) == 6
    assert more.values("Shifted", 1, "length")[:2].tolist() == first.values("Shifted", 1, "length").tolist()
    assert same(go(), first)  # and not what else the file holds
    both = go(methods={"Shifted": partial(given.Shifted, log=str(log)), "other": given.Same})
    assert len(fits(log)) == 6 and both.labels == ("Shifted", "other")
    with_maps = go(maps=True)
    assert len(fits(log)) == 7 and set(with_maps.heats) == {"real", "Shifted"}


def test_what_is_made_otherwise_is_done_again(trips: pt.Trajectories, area: pt.Region, tmp_path: Path) -> None:
    path = tmp_path / "results.parquet"
    first = compare(trips, area, {"a": "dpt"}, methods={"a": pt.DPT}, results=path)
    settings = pt.DPT(epsilon=1, region=area, unit="user", max_per_user=2)
    other = compare(trips, area, methods={"a": settings}, results=path)
    assert first.mean("a", 1, "length") != other.mean("a", 1, "length")
    n_ran = len(Here.ran)
    assert same(compare(trips, area, methods={"a": pt.DPT}, results=path), first) and len(Here.ran) == n_ran
    shorter = compare(trips, area, methods=[], files={"f": trips[:50]}, results=path)
    longer = compare(trips, area, methods=[], files={"f": trips[:100]}, results=path)
    assert shorter.mean("f", 1, "density") != longer.mean("f", 1, "density")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"profile": "mobility"}, "another profile"),
        ({"seed": 2}, "another seed"),
        ({"timezone": "Asia/Tokyo"}, "another time zone"),
        ({"real": slice(0, -1)}, "other data"),
        ({"region": 1e-3}, "another region"),
    ],
)
def test_results_of_another_comparison_are_refused(
    changed: dict[str, Any], words: str, trips: pt.Trajectories, area: pt.Region, tmp_path: Path
) -> None:
    path = tmp_path / "results.parquet"
    compare(trips, area, methods=[], files={"f": trips}, results=path)
    before = path.read_bytes()
    real = trips[changed.pop("real", slice(None))]
    wider = replace(area, east=area.east + changed.pop("region", 0))
    with pytest.raises(DataError, match=f"another comparison, of {words}; remove it, or give another"):
        compare(real, wider, methods=[], files={"f": trips}, results=path, **changed)
    assert path.read_bytes() == before


def test_another_border_in_the_same_box_is_another_region(trips: pt.Trajectories, tmp_path: Path) -> None:
    (west, south), (east, north) = trips.points.min(axis=0), trips.points.max(axis=0)
    corners = [(west, south), (east, south), (east, north), (west, north)]
    notched = [(east - 0.01, (south + north) / 2), (west + 0.01, (south + north) / 2)]
    borders = [[*corners[:2], notch, *corners[2:], corners[0]] for notch in notched]
    given_regions = [pt.Region.polygon([border]) for border in borders]
    assert str(given_regions[0]) == str(given_regions[1])
    path = tmp_path / "results.parquet"
    compare(trips, given_regions[0], methods=[], files={"f": trips}, results=path)
    with pytest.raises(DataError, match="of another outline"):
        compare(trips, given_regions[1], methods=[], files={"f": trips}, results=path)


# --- what fits give ---


def test_a_fit_may_give_trips_a_frame_or_a_path(
    trips: pt.Trajectories, area: pt.Region, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRITTEN", str(tmp_path / "made"))
    study = compare(trips, area, given.Same, given.Framed, given.Written)
    for metric in PAPER:
        assert {float(study.mean(label, 1, metric).value) for label in study.labels} == {
            study.metric(metric).best
        }, metric


def test_others_go_on_where_one_fails(trips: pt.Trajectories, area: pt.Region, tmp_path: Path) -> None:
    path = tmp_path / "results.parquet"
    with pytest.raises(PrivTraceError) as failed:
        compare(trips, area, given.Failing, "dpt", results=path)
    assert str(failed.value).startswith(
        "Failing failed: at epsilon 1, run 0: RuntimeError: no such luck (methods.py, line "
    )
    assert str(failed.value).endswith(f". The results of all others are kept in {path}")
    n_ran = len(Here.ran)
    study = compare(trips, area, "dpt", results=path)
    assert study.mean("dpt", 1, "length").runs == 2 and len(Here.ran) == n_ran
    assert [trial.label for trial in Here.ran].count("Failing") == 1
    with pytest.raises(
        PrivTraceError, match=r"Nothing failed: at .* gave None, and no trips: Trajectories, a frame"
    ):
        compare(trips, area, given.Nothing)


# --- which data ---


def test_paths_and_frames_are_read(trips: pt.Trajectories, area: pt.Region, tmp_path: Path) -> None:
    path = tmp_path / "trips.parquet"
    trips.write(path)
    go = partial(compare, region=area, methods=[given.Same, "dpt"], timezone="UTC")
    plain, of_path, of_frame = go(trips), go(path), go(trips.to_pandas())
    assert same(plain, of_path) and same(plain, of_frame)
    assert json.loads(json.dumps(of_path.to_dict()))["inputs"]["path"] == str(path)


def test_planar_data(wanderers: pt.Trajectories, region: pt.Region) -> None:
    study = compare(wanderers, (0, 0, 10, 10), "dpt", given.Same, files={"half": wanderers[:300]})
    assert study.inputs["crs"] == "planar" and study.mean("Same", 1, "density").value == 0
    assert study.mean("half", 1, "density").value > 0


def test_in_a_polygon_what_is_outside_does_not_count(trips: pt.Trajectories, area: pt.Region) -> None:
    middle = trips.points.mean(axis=0)
    half = [(area.west, area.south), (middle[0], area.south), (middle[0], area.north), (area.west, area.north)]
    study = compare(trips, pt.Region.polygon([[*half, half[0]]]), "dpt", maps=True, files={"same": trips})
    assert study.heats["real"].any() and np.array_equal(study.heats["real"], study.heats["same"])
    assert study.inputs["trips"] < len(trips)


def test_a_period_leaves_its_trips_alone(timed: pt.Trajectories, area: pt.Region) -> None:
    assert timed.times is not None
    begins = timed.times[timed.offsets[:-1]].astype("datetime64[D]")
    first = begins.min()
    period = f"{first}/{first + 1}"
    study = compare(timed, area, given.Same, period=period, timezone="UTC")
    assert study.inputs["trips"] == (begins == first).sum() < len(timed)
    assert study.inputs["period"] == period and study.mean("Same", 1, "length").value == 0
    with pytest.raises(DataError, match="there are no trips to compare with"):
        compare(timed, area, given.Same, period="1999-01-01/1999-01-02")


def test_times_are_compared_where_all_have_them(
    timed: pt.Trajectories, trips: pt.Trajectories, area: pt.Region
) -> None:
    with_times = compare(timed, area, "dpt", given.Shifted, profile="all", files={"same": timed})
    names = {metric.name for metric in with_times.metrics}
    times = {metric.name for metric in PROFILES["time"].metrics if metric.needs_times}
    assert {"departure", "length"} < names and with_times.mean("dpt", 1, "departure").runs == 2
    assert with_times.mean("same", 1, "departure").value == 0
    assert with_times.mean("Shifted", 1, "departure").runs == 0  # it gives no times
    without = compare(trips, area, "dpt", profile="all", files={"same": trips})
    assert times & {metric.name for metric in without.metrics} == set()
    assert set(without.inputs["left_out"]) >= times and "departure" not in repr(without)
    for study in (with_times, without):
        assert "nan" not in (repr(study) + study._repr_html_()).lower()
        json.dumps(study.to_dict(), allow_nan=False)
    plain = compare(timed, area, "bridgetrace", profile="paper", files={"same": timed})
    assert plain.metrics and not times & {metric.name for metric in plain.metrics}


@pytest.mark.parametrize("data", ["empty", "elsewhere", "swapped"])
def test_data_that_cannot_be_meant_is_refused(data: str, trips: pt.Trajectories, area: pt.Region) -> None:
    real, words = {
        "empty": (trips[:0], "there are no trips to compare with"),
        "elsewhere": (replace(trips, points=trips.points + 20), "none of its points lies in the region"),
        "swapped": (replace(trips, points=trips.points[:, ::-1]), "swapped"),
    }[data]
    with pytest.raises(DataError, match=f"^the real data: .*{words}") as refused:
        compare(real, area, given.Same, "dpt", costs=True)
    assert "failed" not in str(refused.value) and len(Here.ran) == 1  # before any fit


# --- what is asked for ---


@pytest.mark.parametrize(
    ("epsilons", "expected"),
    [(1, ("1",)), ("2, 0.50", ("0.5", "2")), ([Fraction(1, 3), 0.2, "0.2"], ("0.2", "1/3")),
     (np.array([0.1, 10.0]), ("0.1", "10"))],
)  # fmt: skip
def test_epsilons(epsilons: Any, expected: Any, trips: pt.Trajectories, area: pt.Region) -> None:
    study = compare(trips, area, methods=[], files={"same": trips}, epsilons=epsilons)
    assert study.epsilons == expected and len(study.values("same", expected[0], "length")) == 1


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"runs": 1}, "must be at least 2: a single run shows neither spread nor significance"),
        ({"runs": 0}, r"\(runs\) must be a whole number from 2 to 1000"),
        ({"runs": 2.5}, r"\(runs\) must be a whole"),
        ({"workers": 0}, r"\(workers\) must be a whole"),
        ({"seed": -1}, r"\(seed\) must be a whole"),
        ({"profile": "magic"}, "the profile must be paper, adatrace, mobility, time or all, not 'magic'"),
        ({"epsilons": []}, "needs at least one epsilon"),
        ({"epsilons": "0.5,,1"}, "epsilon must be a positive decimal"),
        ({"epsilons": [0]}, "epsilon must be a positive decimal"),
        ({"epsilons": [-1, 1]}, "epsilon must be a positive decimal"),
        ({"region": None}, "region"),
        ({"region": (1, 2, 3)}, "region"),
        ({"timezone": "Mars/Base"}, "there is no time zone"),
        ({"period": "yesterday"}, "period"),
        ({"period": "2024-01-01/2024-01-08"}, "period"),  # the trips have no times
        ({"results": "nowhere/results.parquet"}, "no such folder"),
        ({"methods": ["magic"]}, "or module:Class, not .magic."),
        ({"files": {"x": "nowhere.csv"}}, "no such file"),
        ({"settings": {"unit": "user"}}, "max_per_user"),
        ({"settings": {"magic": 1}}, "has no setting magic"),
        ({"real": 5}, "trajectories are needed"),
        ({"real": "nowhere.parquet"}, "nowhere.parquet"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_before_any_work(
    changed: dict[str, Any], words: str, trips: pt.Trajectories, area: pt.Region
) -> None:
    with pytest.raises(PrivTraceError, match=words):
        compare(**{"trips": changed.pop("real", trips), "region": area, "methods": ["dpt"], **changed})
    assert Here.ran == []


def test_a_single_run_is_a_value_error_too(trips: pt.Trajectories, area: pt.Region) -> None:
    with pytest.raises(SettingsError, match=r"--runs \(runs\)"):
        compare(trips, area, "dpt", runs=1)


def test_protecting_users_needs_users_and_takes_them(trips: pt.Trajectories, area: pt.Region) -> None:
    settings = {"unit": "user", "max_per_user": 2}
    assert compare(trips, area, "dpt", settings=settings).mean("dpt", 1, "length").runs == 2
    with pytest.raises(PrivTraceError, match=r"dpt failed: at epsilon 1, run 0: .*user"):
        compare(replace(trips, users=None), area, "dpt", settings=settings)


def test_progress_counts_what_is_left(trips: pt.Trajectories, area: pt.Region, tmp_path: Path) -> None:
    from contextlib import contextmanager

    from privtrace.observer import Silent

    class Stages(Silent):
        def __init__(self) -> None:
            self.told: dict[str, list[int | None]] = {}

        @contextmanager
        def stage(self, text: str, total: int | None = None) -> Any:
            self.told[text] = [total, 0]

            def advance(amount: int) -> None:
                self.told[text][1] += amount  # type: ignore[operator]

            yield advance

    path, heard, again = tmp_path / "results.parquet", Stages(), Stages()
    compare(trips, area, given.Shifted, results=path, costs=True, observer=heard)
    assert heard.told["Comparing in 1 processes"] == [4, 4] and heard.told["Measuring time and memory"] == [
        3,
        3,
    ]
    compare(trips, area, given.Shifted, results=path, runs=3, costs=True, observer=again)
    assert again.told["Comparing in 1 processes"] == [1, 1] and again.told["Measuring time and memory"] == [
        0,
        0,
    ]
