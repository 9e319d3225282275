"""What a Spark DataFrame must have, how it is read, and what is said of it."""

from __future__ import annotations

import functools
import inspect
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.spark.fake import FakeFrame
from tests.spark.test_equality import FrameOf, file_of, walks

import privtrace as pt
from privtrace.backends.spark import SparkBackend
from privtrace.frames import spark as frames
from privtrace.frames.spark import SparkSource
from privtrace.models import to_bytes
from privtrace.observer import Silent
from privtrace.privacy.choosing import Chooser
from privtrace.privacy.ledger import Ledger
from privtrace.privacy.noise import KeyedNoise
from privtrace.testing.data import REGIONS

BOX = REGIONS["box"]
ROWS = {"traj_id": [1, 1, 2], "x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0], "t": [1, 2, 1]}


def without(*names: str) -> pa.Table:
    return pa.table({name: values for name, values in ROWS.items() if name not in names})


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (without("traj_id"), "no column 'traj_id'"),
        (without("t"), "no times and no order of points.*--columns t=NAME.*--columns order=NAME"),
        (without("x"), "no column 'x'"),
        (pa.table({**ROWS, "x": ["a", "b", "c"]}), "column 'x' holds text; convert it to numbers"),
    ],
    ids=["id", "order", "x", "type"],
)
def test_a_table_that_cannot_be_read_is_refused_by_its_schema(
    table: pa.Table, words: str, frame_of: FrameOf
) -> None:
    with pytest.raises(pt.DataError, match=f"^the Spark DataFrame: .*{words}"):
        pt.read(frame_of(table))


def test_users_are_needed_to_protect_them(frame_of: FrameOf) -> None:
    with pytest.raises(pt.DataError, match="the data has no users"):
        pt.PrivTrace(epsilon=8, region=BOX, unit="user", max_per_user=1).fit(frame_of(pa.table(ROWS)))


def test_options_say_how_it_is_read(frame_of: FrameOf) -> None:
    table = pa.table({"Trip Id": ["a", "b"], "lo`n": [1.0, 2.0], "l.a.t": [1.0, 2.0], "nth": [1, 1]})
    columns = {"traj_id": "Trip Id", "lon": "lo`n", "lat": "l.a.t", "order": "nth"}
    source = pt.read(frame_of(table), columns=columns, crs="EPSG:4326")
    assert {*trips_of(source)} == {(None, "a"), (None, "b")} and source.crs == "lonlat"
    with pytest.raises(pt.SettingsError, match="partitions must be a whole number of at least 1"):
        SparkSource.of(frame_of(table), columns=columns, partitions=0)


def trips_of(source: Any) -> dict[Any, list[list[float]]]:
    """Bring all parts here, and list the points of each trajectory by user and id."""
    found: dict[Any, list[list[float]]] = {}
    for part in source.parts():
        users = [None] * len(part) if part.users is None else part.users.tolist()
        for user, name, (start, stop) in zip(users, part.ids.tolist(), pairwise(part.offsets), strict=True):
            assert (user, name) not in found
            found[user, name] = (part.points[start:stop] + 0.0).tolist()  # no -0
    return found


def test_points_come_in_order(frame_of: FrameOf, tmp_path: Path) -> None:
    """By time, then by the order column, then by x and y; what is missing comes last. As from a file."""
    rng, n = np.random.default_rng(3), 400
    table = pa.table(
        {
            "traj_id": rng.integers(0, 9, n),
            "t": pa.array(rng.integers(0, 4, n), mask=rng.random(n) < 0.2),
            "order": pa.array(rng.integers(0, 3, n).astype(float), mask=rng.random(n) < 0.3),
            "x": rng.choice([0.0, -0.0, 1.5, np.nan], n),
            "y": rng.choice([2.0, 1.0, np.nan], n),
        }
    )
    rows = sorted(
        table.to_pylist(),
        key=lambda row: [
            (1, 0) if row[name] is None or row[name] != row[name] else (0, row[name])
            for name in ("t", "order", "x", "y")
        ],
    )
    slow: dict[Any, list[list[float]]] = {}
    for row in rows:
        slow.setdefault((None, row["traj_id"]), []).append([row["x"] + 0.0, row["y"]])
    for source in (pt.read(frame_of(table)), pt.read(file_of(table, tmp_path))):
        np.testing.assert_equal(trips_of(source), slow)


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        (pa.array(["b", "B", "", None, "b", "ä", "a\u0308", "x" * 2000]), None),
        (pa.array([0.0, -0.0, np.nan, None, 2.5, 1e300, -1.0, 2.5]), [-1.0, 0.0, 2.5, 1e300]),
        (pa.array([3, -3, 3, None, 2**62, 0, 1, 1]), [-3, 0, 1, 3, 2**62]),
        (pa.array([b"\xff", b"\x00", b"\xff", b"", None, b"\x7f", b"\x80", b"a"]), None),
        (pa.array([7, 7, -7, None, 1, 2, 3, 4], pa.int16()), [-7, 1, 2, 3, 4, 7]),
    ],
    ids=["text", "floats", "integers", "bytes", "short"],
)
def test_keys_are_one_where_they_are_one_here(ids: Any, names: Any, frame_of: FrameOf, tmp_path: Path) -> None:
    table = pa.table(
        {
            "traj_id": ids,
            "user_id": ids.take(pa.array([7, 6, 5, 4, 3, 2, 1, 0])),
            **{name: np.arange(8.0) for name in ("x", "y", "t")},
        }
    )
    there, here = trips_of(pt.read(frame_of(table))), trips_of(pt.read(file_of(table, tmp_path)))
    assert repr(sorted(there.items(), key=repr)) == repr(sorted(here.items(), key=repr)) and len(here) >= 5
    if names is not None:
        assert sorted({name for _, name in there}) == names


@pytest.mark.spark
def test_collations_make_no_two_ids_one(spark_frame_of: FrameOf) -> None:
    rows = {"traj_id": ["a", "A", "a", "A"], "t": [1, 1, 2, 2], "x": [1.0] * 4, "y": [1.0] * 4}
    lower = "traj_id collate UTF8_LCASE as traj_id"
    collated = spark_frame_of(pa.table(rows)).selectExpr(lower, "t", "x", "y")
    assert {name: len(points) for (_, name), points in trips_of(pt.read(collated)).items()} == {"a": 2, "A": 2}


def test_logs_are_cut_at_gaps(frame_of: FrameOf, tmp_path: Path) -> None:
    """A user's rows are a log, of any length, over all batches."""
    table = walks().select(["user_id", "x", "y", "t"])
    there = trips_of(pt.read(frame_of(table), gap_minutes=30))
    assert there == trips_of(pt.read(file_of(table, tmp_path), gap_minutes=30)) and len(there) > 500


class Notes(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str, *, loud: bool = False) -> None:
        self.notes.append(text)


def test_a_curator_hears_what_could_not_be_used(frame_of: FrameOf) -> None:
    rows = {**ROWS, "t": ["2024-01-01T00:00:00Z", "soon", "2024-01-01T00:00:00Z"]}
    heard = Notes()
    settings = pt.PrivTrace(epsilon=8, region=BOX, times=True)
    settings.fit(frame_of(pa.table(rows)), observer=heard)
    assert any("1 of 3 times could not be read" in text for text in heard.notes), heard.notes
    assert any("2 of 2 trajectories" in text for text in heard.notes), heard.notes


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        (pt.PrivTrace(epsilon=8, region=BOX), ["3, without an id"]),
        (
            pt.PrivTrace(epsilon=8, region=BOX, unit="user", max_per_user=1),
            ["3, without an id", "1, without a user"],
        ),
    ],
    ids=["trips", "users"],
)
def test_a_curator_hears_of_rows_without_a_key(
    frame_of: FrameOf, settings: pt.PrivTrace, wanted: list[str]
) -> None:
    """They are left out before rows are brought together: all would meet in one place."""
    keys = {"traj_id": ["a", "", None, "b", None, "b"], "user_id": [1, 2, None, None, 1, 1]}
    there = {"x": [1.0] * 6, "y": [1.0] * 6, "t": range(6)}
    heard = Notes()
    settings.fit(frame_of(pa.table({**keys, **there})), observer=heard)
    told = [text.partition("dropped: ")[2] for text in heard.notes if "dropped: " in text]
    assert told == wanted, heard.notes


@pytest.mark.parametrize("unit", [{}, {"unit": "user", "max_per_user": 2}], ids=["trajectory", "user"])
@pytest.mark.parametrize("period", [None, "2013-07-08/2013-07-15", "1999-01-01/1999-01-02"])
def test_a_curator_hears_there_what_is_heard_here(
    unit: dict[str, Any], period: str | None, frame_of: FrameOf, tmp_path: Path
) -> None:
    """How many trips begin in the period, how many of whose trips count, how much lies in the region: once."""
    settings = pt.PrivTrace(epsilon=8, region=BOX, period=period, **unit)
    here, there = Notes(), Notes()
    settings.fit(file_of(walks(), tmp_path), noise=pt.SeededNoise(1), observer=here)
    settings.fit(frame_of(walks()), noise=pt.SeededNoise(1), observer=there)
    told = [text.removesuffix("; 0 more trips have no user") for text in here.notes]
    assert sorted(there.notes) == sorted(told)
    assert len(there.notes) == 1 + len(unit) // 2 + (period is not None)


def test_an_older_spark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(FakeFrame, "toArrow")
    with pytest.raises(pt.DataError, match="needs Spark 4 or newer"):
        pt.read(FakeFrame.of(walks()))


def test_what_is_no_frame_of_spark_is_refused() -> None:
    with pytest.raises(pt.DataError, match="a Spark DataFrame is needed, not str"):
        SparkSource.of("trips.parquet")


@pytest.mark.spark
def test_pandas_on_spark_is_told_apart(spark_frame_of: FrameOf) -> None:
    frame = spark_frame_of(pa.table(ROWS)).pandas_api(index_col="t")
    with pytest.raises(pt.DataError, match=r"pandas on Spark; give its to_spark\(\)"):
        pt.PrivTrace(epsilon=1, region=BOX).fit(frame)
    assert len(trips_of(pt.read(frame.to_spark(index_col="t")))) == 2


def test_of_a_user_with_very_many_trips_few_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is what counts of all; and meanwhile memory holds a part, and those that may count."""
    monkeypatch.setattr(frames, "PART_POINTS", 200)
    n = 4000
    trips = pt.Trajectories(
        np.random.default_rng(1).uniform(0, 10, (n, 2)),
        np.arange(n + 1),
        users=np.repeat([1, 2, 3, 4], [5, n - 40, 3, 32]),
        ids=np.arange(n),
        crs="planar",
    )
    most: list[int] = []

    def choose(part: pt.Trajectories) -> pt.Trajectories:
        most.append(part.n_points)
        return Chooser(3, bytes(range(16)))(part)

    step = frames._OfUsers(choose)
    kept = pt.Trajectories.end_to_end([*step(trips.cut(100), frames.Meeting())])
    whole = Chooser(3, bytes(range(16)))(trips)
    assert sorted(kept.ids.tolist()) == sorted(whole.ids.tolist()) and len(kept) == 12
    assert max(most) < 500


def test_parts_come_here_if_somebody_wants_them(frame_of: FrameOf, tmp_path: Path) -> None:
    """So whatever takes a source takes this one, and other backends count it too."""
    source, path = pt.read(frame_of(walks())), file_of(walks(), tmp_path)
    assert trips_of(source) == trips_of(pt.read(path))
    settings = pt.PrivTrace(epsilon=8, region=BOX, unit="user", max_per_user=1)
    here = settings.fit(source, noise=pt.SeededNoise(1), backend=pt.Threads(2))
    assert to_bytes(here) == to_bytes(settings.fit(path, noise=pt.SeededNoise(1)))
    made = here.sample(200, seed=1)
    one, other = (pt.evaluate(given, made, region=BOX, figures=False) for given in (frame_of(walks()), path))
    assert one["density"].value == other["density"].value


# --- what goes to the workers ---------------------------------------------------------------------------------


def reachable(thing: object, seen: dict[int, object]) -> dict[int, object]:
    """List all objects that go along with one: fields, elements, and what functions hold."""
    if id(thing) in seen or isinstance(thing, str | bytes | int | float | type | np.ndarray | type(None)):
        return seen
    seen[id(thing)] = thing
    inner: list[object] = []
    if isinstance(thing, dict):
        inner += [*thing.keys(), *thing.values()]
    elif isinstance(thing, list | tuple | set | frozenset):
        inner += thing
    elif inspect.ismethod(thing):
        inner += [thing.__self__, thing.__func__]
    elif isinstance(thing, functools.partial):
        inner += [thing.func, *thing.args, *thing.keywords.values()]
    elif inspect.isfunction(thing):
        inner += [cell.cell_contents for cell in thing.__closure__ or ()]
    else:
        inner += [getattr(thing, one.name) for one in fields(thing)] if is_dataclass(thing) else []
        inner += vars(thing).values() if hasattr(thing, "__dict__") else ()
    for one in inner:
        reachable(one, seen)
    return seen


SENT: list[object] = []


class Watched(FakeFrame):
    def mapInArrow(self, work: Any, schema: Any) -> Any:
        SENT.append(work)
        return super().mapInArrow(work, schema)


Watched.__module__, Watched.__name__ = FakeFrame.__module__, FakeFrame.__name__


@pytest.mark.parametrize("unit", [{}, {"unit": "user", "max_per_user": 2}], ids=["trajectory", "user"])
@pytest.mark.parametrize("method", [pt.BridgeTrace, pt.PrivTrace, pt.AdaTrace, pt.DPT])
@pytest.mark.filterwarnings("ignore:.*walks reached")
def test_no_noise_and_no_ledger_go_to_the_workers(method: Any, unit: dict[str, Any]) -> None:
    """Nor its key, sums of earlier passes, or other rows: of what is secret, only the key of the choice."""
    SENT.clear()
    noise = pt.SeededNoise(1)
    method(epsilon=8, region=BOX, times=True, **unit).fit(Watched.of(walks()), noise=noise)
    assert len(SENT) >= 3
    for work in SENT:
        found = [*reachable(work, {}).values()]
        kinds = {type(one) for one in found}
        assert not [
            kind for kind in kinds if issubclass(kind, Ledger | KeyedNoise | pt.Trajectories | FakeFrame)
        ]
        assert SparkSource not in kinds and SparkBackend not in kinds
        assert (Chooser in kinds) == bool(unit)


def test_a_source_stays_where_it_is() -> None:
    import pickle

    with pytest.raises(TypeError, match="cannot be copied"):
        pickle.dumps(pt.read(FakeFrame.of(pa.table(ROWS))))


def test_rows_without_a_user_do_not_count_where_users_are_protected(frame_of: FrameOf, tmp_path: Path) -> None:
    table = walks()
    users = [None if user % 3 == 0 else user for user in table["user_id"].to_pylist()]
    table = table.set_column(table.column_names.index("user_id"), "user_id", pa.array(users, pa.int64()))
    settings = pt.PrivTrace(epsilon=8, region=BOX, unit="user", max_per_user=2)
    here = settings.fit(file_of(table, tmp_path), noise=pt.SeededNoise(1))
    there = settings.fit(frame_of(table), noise=pt.SeededNoise(1))
    assert to_bytes(there) == to_bytes(here)
