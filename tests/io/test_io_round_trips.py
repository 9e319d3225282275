"""Every format goes to every other, keeping points, users, times and ids where the format can hold them."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from tests.io.samples import FILE_NAMES

import privtrace as pt
from privtrace.io import FORMATS
from privtrace.io.sorting import by_user_and_id

#: Text has six decimals of degrees.
DECIMALS = 0.5000001e-6


def trips() -> pt.Trajectories:
    """Give trips of several users with times 15 seconds apart, which every format with times can hold."""
    rng = np.random.default_rng(8)
    lengths = rng.integers(1, 30, 40)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    steps = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    starts = np.datetime64("2024-02-28T23:50:00", "s") + 3600 * np.arange(40)
    times = np.repeat(starts, lengths) + 15 * steps
    users = np.array([f"user {number % 7}" for number in range(40)], np.dtypes.StringDType())
    ids = np.array([f"{1000 + number}" for number in range(40)], np.dtypes.StringDType())
    return pt.Trajectories(rng.uniform(-60, 60, (offsets[-1], 2)), offsets, times, users, ids)


def seconds(times: np.ndarray) -> np.ndarray:
    """Give times as seconds since 1970, however they are held."""
    return times.astype("datetime64[us]").astype(np.int64) / 1e6 if times.dtype.kind == "M" else times


def in_order(given: pt.Trajectories) -> pt.Trajectories:
    return given.take(np.argsort(seconds(given.times)[given.offsets[:-1]]))


# All pairs are slow; quick are those from Parquet, and a ring through all formats.
QUICK_PAIRS = {*(("parquet", name) for name in FILE_NAMES), *pairwise([*FILE_NAMES, next(iter(FILE_NAMES))])}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pair if pair in QUICK_PAIRS else pytest.param(*pair, marks=pytest.mark.slow)
        for pair in product(FILE_NAMES, FILE_NAMES)
    ],
)
def test_every_format_goes_to_every_other(one: str, other: str, tmp_path: Path) -> None:
    given = trips()
    pt.write(given, tmp_path / FILE_NAMES[one], format=one)
    source = pt.read(tmp_path / FILE_NAMES[one], crs="lonlat")
    out = tmp_path / "out" / FILE_NAMES[other]
    out.parent.mkdir()
    if one == "dat" and other in ("geolife", "mfjson"):
        with pytest.raises(pt.OutputError, match="times"):
            pt.write(source, out, format=other)
        return
    pt.write(source, out, format=other)
    again = pt.read(out, crs="lonlat").collect()
    if "dat" in (one, other):  # it has no times, and users only in the ids
        assert len(again) == 40
        np.testing.assert_allclose(np.sort(again.points, axis=0), np.sort(given.points, axis=0), atol=DECIMALS)
        assert again.ids is not None and "1017" in " ".join(map(str, again.ids.tolist()))
        return
    again = in_order(again)
    np.testing.assert_array_equal(again.offsets, given.offsets)
    exact = not (FORMATS[one].in_decimals or FORMATS[other].in_decimals)
    np.testing.assert_allclose(again.points, given.points, rtol=0, atol=0 if exact else DECIMALS)
    np.testing.assert_array_equal(seconds(again.times), seconds(given.times))
    assert [str(user) for user in again.users.tolist()] == given.users.tolist()
    assert [str(name) for name in again.ids.tolist()] == given.ids.tolist()


@pytest.mark.parametrize("bucket_points", [50, 1 << 20])
def test_sorting_orders_by_user_and_id_and_loses_nothing(bucket_points: int) -> None:
    given = trips()
    mixed = given.take(np.random.default_rng(1).permutation(len(given)))
    made = pt.Trajectories.concatenate(by_user_and_id(mixed, bucket_points))
    assert made.users is not None and made.ids is not None
    keys = list(zip(made.users.tolist(), made.ids.tolist(), strict=True))
    assert keys == sorted(zip(given.users.tolist(), given.ids.tolist(), strict=True))
    by_key = {name: place for place, name in enumerate(given.ids.tolist())}
    wanted = given.take(np.array([by_key[name] for name in made.ids.tolist()]))
    np.testing.assert_array_equal(made.points, wanted.points)
    np.testing.assert_array_equal(made.times, wanted.times)


def test_sorting_puts_unknown_users_last_and_bears_nothing() -> None:
    users = np.array([3, np.iinfo(np.int64).min, 1])
    given = pt.Trajectories(np.arange(6.0).reshape(3, 2), np.arange(4), users=users)
    (made,) = by_user_and_id(given)
    assert made.users is not None and made.users.tolist()[:2] == [1, 3]
    assert made.points[:, 0].tolist() == [4, 0, 2]
    empty = list(by_user_and_id(given[:0]))
    assert sum(len(part) for part in empty) == 0
