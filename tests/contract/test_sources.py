"""Every source of ours hands each trajectory over whole, as one entry of one part, the same in every pass.

The unit of privacy hangs on it, and a fit does not check it. A new class that yields parts needs a line in
SOURCES, and a new format one in FILE_NAMES.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.io.samples import FILE_NAMES
from tests.spark.fake import FakeFrame

import privtrace as pt
from privtrace import trajectories as containers
from privtrace.calendar import Period, Zone
from privtrace.evaluation.decomposition import _retraced, _sampled
from privtrace.evaluation.reference import Made
from privtrace.frames import Declared, from_lazy
from privtrace.frames import spark as on_spark
from privtrace.io import FORMATS, open_source
from privtrace.io.source import FileSource, Sizes
from privtrace.privacy.unsafe_noise import NoNoise
from privtrace.testing.data import Cut
from privtrace.within import Transformed, Within

TINY = Sizes(part_points=5, batch_rows=4, bucket_rows=30, block_bytes=64)
STRINGS: Any = np.dtypes.StringDType()


def scattered() -> pt.Trajectories:
    """Give 60 entries of 20 trajectories, those of each anywhere. Three users number their trips alike."""
    rng = np.random.default_rng(4)
    lengths = rng.integers(1, 5, 60)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    keys = rng.permutation(np.repeat(np.arange(20), 3))
    steps = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    starts = np.datetime64("2024-01-01T00:00:00", "s") + 600 * np.arange(60)
    return pt.Trajectories(
        np.round(rng.uniform(1, 9, (offsets[-1], 2)), 3),
        offsets,
        np.repeat(starts, lengths) + 15 * steps,
        np.array([f"user {key % 3}" for key in keys], STRINGS),
        np.array([f"{key // 3}" for key in keys], STRINGS),
    )


def trips_of(parts: Iterable[pt.Trajectories]) -> list[tuple[str, list[list[float]]]]:
    """List each entry of all parts: its user/id, as formats write it that have no users; its points, sorted."""
    trips = []
    for part in parts:
        ids = part.ids_from(0).tolist()
        users = [""] * len(ids) if part.users is None else part.users.tolist()
        names = [f"{user}/{id_}" if user else id_ for user, id_ in zip(users, ids, strict=True)]
        points = [sorted(part.points[start:stop].tolist()) for start, stop in pairwise(part.offsets)]
        trips += [*zip(names, points, strict=True)]
    return trips


def expected(given: pt.Trajectories) -> dict[str, list[list[float]]]:
    """Gather the points of each user and id with a dictionary."""
    found: dict[str, list[list[float]]] = {}
    for name, points in trips_of([given]):
        found[name] = sorted(found.get(name, []) + points)
    return found


def check(source: Any, wanted: dict[str, list[list[float]]]) -> None:
    """Hold two passes against what a slow look finds."""
    passes = [[*source.parts()] for _ in range(2)]
    assert len(passes[0]) > 1  # else a trajectory could not lie over several
    one, other = map(trips_of, passes)
    assert one == other and len(one) == len(wanted) and dict(one) == wanted


# --- in memory --------------------------------------------------------------------------------------------


def check_trajectories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "PART_POINTS", 9)
    check(scattered(), expected(scattered()))


def check_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those made from a model have no ids: each entry is a trajectory, as many as there are real ones."""
    region = pt.Region.box(0, 0, 10, 10)
    model = pt.PrivTrace(epsilon=1, region=region).fit(scattered(), noise=NoNoise())
    monkeypatch.setattr(containers, "PART_POINTS", 9)
    for made in (_retraced(model, scattered(), 1), _sampled(model, 1, pt.Threads(1))):
        parts = [*made.parts()]
        assert all(part.ids is None for part in parts) and sum(map(len, parts)) == model.n_trajectories == 20


def check_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames and queries are read as files are; the formats themselves are below."""
    given = scattered().to_arrow()
    shuffled = given.take(np.random.default_rng(1).permutation(len(given)))
    monkeypatch.setattr(containers, "PART_POINTS", 9)
    check(pt.Trajectories.from_arrow(shuffled), expected(scattered()))
    check(from_lazy(pl.DataFrame(shuffled).lazy(), Declared(), TINY), expected(scattered()))


def check_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows lie in partitions and batches as it comes."""
    monkeypatch.setattr(on_spark, "PART_POINTS", 9)
    check(on_spark.SparkSource.of(FakeFrame.of(scattered().to_arrow())), expected(scattered()))


def check_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(Cut(scattered(), [3, 0, 5]), expected(scattered()))


def check_within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what the source hands over, a period takes trajectories as a whole."""
    both = Period.of("2024-01-01/2024-01-02"), Period.of("2023-12-31/2024-01-01")
    found = [
        dict(trips_of(Within(Cut(scattered(), [3, 0, 5]), period, Zone.named("Atlantic/Azores")).parts()))
        for period in both
    ]
    assert all(found) and not {*found[0]} & {*found[1]} and found[0] | found[1] == expected(scattered())
    check(Within(Cut(scattered(), [3, 0, 5]), both[0], Zone.named("UTC")), expected(scattered()))


def check_transformed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points move, and trajectories stay as they are cut."""
    check(Transformed(Cut(scattered(), [3, 0, 5]), scattered().crs), expected(scattered()))


SOURCES: dict[type, Callable[[Path, pytest.MonkeyPatch], None]] = {
    pt.Trajectories: check_trajectories,
    FileSource: check_files,
    on_spark.SparkSource: check_spark,
    Made: check_made,
    Cut: check_cut,
    Within: check_within,
    Transformed: check_transformed,
}


def sources() -> set[type]:
    """Find all classes of the package that yield parts."""
    found = set()
    for module in pkgutil.walk_packages(pt.__path__, "privtrace."):
        if module.name == "privtrace.__main__":
            continue
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            parts = vars(kind).get("parts")  # its own: what is inherited is held to it where it comes from
            if inspect.isfunction(parts) and "Trajectories" in str(inspect.signature(parts).return_annotation):
                found.add(kind)
    return found - {pt.Source}


def test_every_source_is_here() -> None:
    assert sources() == set(SOURCES), (
        "a source is new: show here that it hands each trajectory over in one part"
    )
    assert set(FILE_NAMES) == set(FORMATS), "a format is new: show here that its trajectories come whole"


@pytest.mark.parametrize("kind", SOURCES, ids=lambda kind: kind.__name__)
def test_each_trajectory_comes_in_one_part(kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SOURCES[kind](tmp_path, monkeypatch)


# --- files ------------------------------------------------------------------------------------------------


def write(given: pt.Trajectories, path: Path, name: str) -> None:
    """Write entries as they stand, and rows in any order where the format has rows of points."""
    if name in ("parquet", "csv", "tsv", "geoparquet"):
        apart = np.random.default_rng(2).permutation(given.n_points)
        owners = np.repeat(np.arange(len(given)), np.diff(given.offsets))
        given = given.take(owners)  # of which only the own point is kept
        starts = given.offsets[:-1] + np.arange(len(owners)) - np.searchsorted(owners, owners)
        given = pt.Trajectories(
            given.points[starts],
            np.arange(len(owners) + 1),
            given.times[starts],
            given.users,
            given.ids,  # type: ignore[index]
        ).take(apart)
    if name == "geolife":  # where a file is a trajectory, and no two have one name
        given = given.joined()
    pt.write([given[place : place + 7] for place in range(0, len(given), 7)], path, format=name)


@pytest.mark.parametrize("name", FILE_NAMES)
def test_each_trajectory_of_a_file_comes_in_one_part(name: str, tmp_path: Path) -> None:
    path = tmp_path / FILE_NAMES[name]
    write(scattered(), path, name)
    with open_source(path, "lonlat", TINY) as source:
        check(source, expected(scattered()))


@pytest.mark.parametrize("name", FILE_NAMES)
def test_each_trajectory_of_a_folder_comes_in_one_part(name: str, tmp_path: Path) -> None:
    """A trajectory lies over several files."""
    given = scattered()
    for number, start in enumerate(range(0, 60, 20)):
        write(given[start : start + 20], tmp_path / f"{number} {FILE_NAMES[name]}", name)
    with open_source(tmp_path, "lonlat", TINY) as source:
        check(source, expected(given))
