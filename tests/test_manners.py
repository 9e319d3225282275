"""What people try first in Python works, or says what to do: indices, data frames, regions, counts, pickles."""

from __future__ import annotations

import pickle
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import shapely

import privtrace as pt
from privtrace.about import GUARANTEE
from privtrace.models import to_bytes
from privtrace.space.region import MISSING

#: Four trajectories of 1 to 4 points; the x of a point is its place.
TRIPS = pt.Trajectories(
    np.stack([np.arange(10), np.ones(10)], axis=1),
    [0, 1, 3, 6, 10],
    np.arange(10.0),
    users=np.array(["a", "b", "a", "c"]),
    ids=np.array([5, 6, 7, 8]),
    crs="planar",
)
BOX = (0, 0, 10, 10)


@pytest.fixture(scope="module")
def model() -> pt.DPTModel:
    return pt.DPT(epsilon=1, region=BOX).fit(TRIPS, noise=pt.SeededNoise(1))  # type: ignore[return-value]


def test_one_trajectory_is_taken_by_its_place() -> None:
    one = TRIPS[np.int64(2)]
    assert isinstance(one, pt.Trajectory) and (one.user, one.id, one.crs, len(one)) == ("a", 7, "planar", 3)
    assert one.points[:, 0].tolist() == [3, 4, 5] and one.times is not None and one.times.tolist() == [3, 4, 5]
    assert one.points.base is not None and TRIPS[-2].id == 7
    assert repr(one) == "Trajectory(3 points, planar)"  # private points and names stay out of logs
    bare = pt.Trajectories(TRIPS.points, TRIPS.offsets)
    assert (bare[-1].id, bare[-1].user, bare[-1].times) == (3, None, None)


def test_a_loop_goes_over_trajectories_and_ends() -> None:
    assert [(trip.id, len(trip)) for trip in TRIPS] == [(5, 1), (6, 2), (7, 3), (8, 4)]


@pytest.mark.parametrize(
    ("key", "ids"),
    [
        (slice(1, 3), [6, 7]),
        (slice(3, 1), []),
        (slice(None, None, -2), [8, 6]),
        ([3, -4], [8, 5]),
        ([], []),
        (np.array([True, False, False, True]), [5, 8]),
    ],
)
def test_several_are_taken_as_of_an_array(key: Any, ids: list[int]) -> None:
    taken = TRIPS[key]
    assert taken.ids is not None and taken.ids.tolist() == ids
    first = {5: 0, 6: 1, 7: 3, 8: 6}
    assert [trip.points[0, 0] for trip in taken] == [first[id] for id in ids]


@pytest.mark.parametrize("key", [4, -5, "5", 1.5, True, None, (0, 1), [4], [True], [[0]], [0.5]])
def test_what_is_no_place_is_refused_without_telling_how_many_there_are(key: Any) -> None:
    with pytest.raises(IndexError, match=r"numbers go from 0 to len\(trajectories\) - 1") as refused:
        TRIPS[key]
    assert "4" not in str(refused.value).replace("trajectory 4", "")


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "geopandas"])
def test_fits_take_data_frames_as_they_are(kind: str, model: pt.DPTModel) -> None:
    frame = getattr(TRIPS, f"to_{kind}")()
    made = pt.DPT(epsilon=1, region=BOX).fit(frame, noise=pt.SeededNoise(1))
    assert to_bytes(made) == to_bytes(model)


def test_fits_and_comparisons_take_paths(tmp_path: Path, model: pt.DPTModel) -> None:
    TRIPS.write(tmp_path / "trips.csv")
    made = pt.DPT(epsilon=1, region=BOX).fit(str(tmp_path / "trips.csv"), noise=pt.SeededNoise(1))
    assert to_bytes(made) == to_bytes(model)
    compared = pt.evaluate(tmp_path / "trips.csv", TRIPS.to_pandas(), region=BOX, figures=False)
    assert compared["length"].value == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            TRIPS.to_pandas().rename(columns={"traj_id": "q"}),
            r"no column 'traj_id'; .* Trajectories\.from_pandas$",
        ),
        (TRIPS.to_polars()["x"], r"from_polars takes a .*, not a Series.* Trajectories\.from_polars$"),
        ([1, 2], "a path, a data frame or Trajectories, not list"),
        (TRIPS.points, "a path, a data frame or Trajectories, not ndarray"),
    ],
    ids=["column", "series", "list", "array"],
)
def test_what_cannot_be_fitted_says_what_can(given: Any, words: str) -> None:
    with pytest.raises(pt.DataError, match=words):
        pt.DPT(epsilon=1, region=BOX).fit(given)


GEOJSON = {"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [0, 3], [0, 0]]]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (BOX, pt.Region.box(*BOX)),
        (list(BOX), pt.Region.box(*BOX)),
        (np.array(BOX), pt.Region.box(*BOX)),
        (shapely.box(*BOX), pt.Region.box(*BOX)),
        ("0,0,10,10", pt.Region.box(*BOX)),
        (GEOJSON, pt.Region.polygon(GEOJSON)),
        (shapely.geometry.shape(GEOJSON), pt.Region.polygon(GEOJSON)),
        (shapely.MultiPolygon([shapely.geometry.shape(GEOJSON)]), pt.Region.polygon(GEOJSON)),
    ],
    ids=["tuple", "list", "array", "box", "text", "mapping", "polygon", "multipolygon"],
)
def test_a_region_is_taken_from_what_describes_one(given: Any, expected: pt.Region) -> None:
    assert pt.Region(given) == pt.Region.of(given) == pt.BridgeTrace(epsilon=1, region=given).region == expected
    assert pt.Region(given, crs="planar") == expected.for_data("planar")


def test_a_region_is_read_from_a_path(tmp_path: Path) -> None:
    (tmp_path / "r.geojson").write_text(shapely.to_geojson(shapely.geometry.shape(GEOJSON)))
    assert pt.Region(tmp_path / "r.geojson") == pt.Region.polygon(GEOJSON)


@pytest.mark.parametrize("given", [(0, 0, 10), 5, ("a", 0, 1, 1), shapely.Point(0, 0), {}])
def test_what_is_no_region_says_what_is(given: Any) -> None:
    with pytest.raises(pt.SettingsError, match=r"a region (is four numbers|must be a Polygon)"):
        pt.Region(given)
    with pytest.raises(pt.SettingsError) as refused:
        pt.Region(None)
    assert str(refused.value) == MISSING


@pytest.mark.parametrize("name", ["count", "seed"])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("10", r"must be a whole number from 0 to \d+, not '10'; leave out the quotes: 10$"),
        ("many", r"must be a whole number from 0 to \d+, not 'many'$"),
        (2.5, "not 2.5$"),
        (-1, "not -1$"),
        (True, "not True$"),
    ],
)
def test_a_count_or_seed_that_is_none_is_refused_in_words(
    name: str, given: Any, words: str, model: pt.DPTModel
) -> None:
    with pytest.raises(pt.SettingsError, match=words):
        model.sample(**{"count": 1, name: given})


def test_counts_may_be_numpys(model: pt.DPTModel) -> None:
    assert len(model.sample(np.int32(3), seed=np.uint64(1))) == 3  # type: ignore[arg-type]


def test_models_and_trajectories_are_pickled(model: pt.DPTModel) -> None:
    made = model.sample(5, seed=1)  # which keeps tables in the model
    again, same = pickle.loads(pickle.dumps((model, made)))
    assert to_bytes(again) == to_bytes(model) and same.about == made.about
    assert np.array_equal(again.sample(5, seed=1).points, same.points)


def test_a_plan_is_printed_for_people_and_shown_in_a_line() -> None:
    plan = pt.BridgeTrace(epsilon=20, region=BOX).plan(500)
    lines = str(plan).splitlines()
    assert lines[0] == "Planned for about 500 trips at epsilon 20 per trajectory. No data was read."
    assert any(
        re.fullmatch(r"  count {10}epsilon 0.165 +the total is off by about ±14 trips", one) for one in lines
    )
    columns = {line.index(sentence) for line in lines for _, _, sentence in plan.noise if sentence in line}
    assert len(columns) == 1
    assert lines[-1].startswith("Warning: an epsilon above 10 promises little")
    assert repr(plan) == "Plan(bridgetrace, epsilon 20, 500 trajectories, 400 states, 380 MB)"


def test_notebooks_show_everything_but_private_points_and_run_nothing() -> None:
    names = np.array(["<script>u", "b", "c", "d"])
    trips = pt.Trajectories(TRIPS.points + 0.123, TRIPS.offsets, users=names, ids=names, crs="planar")
    noiseless = pt.DPT(epsilon=1, region=BOX).fit(trips, noise=pt.NoNoise())
    compared = pt.evaluate(trips, noiseless.sample(5, seed=1), region=BOX, figures=False)
    plan = pt.DPT(epsilon=20, region=BOX).plan(500)
    shown = [thing._repr_html_() for thing in (trips, noiseless.sample(5), noiseless, plan, compared)]
    for text in shown:
        elements = ElementTree.fromstring(text)  # closed, quoted and escaped, so far as XML can tell
        assert "script" not in text and "http" not in text and elements.tag == "div"
    foreign = replace(trips, about={GUARANTEE: "<i>a & b</i>"})._repr_html_()
    assert "<i>a & b</i>" in "".join(ElementTree.fromstring(foreign).itertext())
    private, made, model, planned, evaluation = (
        "".join(ElementTree.fromstring(text).itertext()) for text in shown
    )
    assert (
        "0.123" not in private and "Points are not shown" in private and "points10" in private.replace("\n", "")
    )
    assert all("NOT PRIVATE" in text for text in (made, model, evaluation)) and "NOT" not in private
    assert "the total is off by" in planned and "Warning: an epsilon above 10" in planned
    assert all(name in evaluation and score.metric.words in evaluation for name, score in compared.items())


def test_an_evaluation_becomes_a_frame_that_says_not_private() -> None:
    compared = pt.evaluate(TRIPS, TRIPS[:3], region=BOX, figures=False, bootstrap=2)
    frame = compared.to_pandas()
    assert [*frame.columns] == ["value", "low", "high", "limit", "baseline", "best", "meaning"]
    assert frame.attrs["not_private"] is True and [*frame.index] == [*compared]
    assert frame.loc["length", "value"] == compared["length"].value


def test_a_fit_warns_of_a_large_epsilon_as_its_plan_does() -> None:
    for epsilon, noise, n_warnings in ((10.5, None, 1), (10, None, 0), (10.5, pt.SeededNoise(1), 0)):
        synthesizer = pt.DPT(epsilon=epsilon, region=BOX)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            synthesizer.fit(TRIPS, noise=noise)
        assert len(caught) == n_warnings
        assert all(str(one.message) in synthesizer.plan(4).warnings for one in caught)
        assert all(one.filename == __file__ for one in caught)
