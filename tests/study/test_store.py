"""The file of results: what comes back, what is refused, and several who write one file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privtrace as pt
from privtrace.errors import DataError, OutputError
from privtrace.study import store as storing
from privtrace.study.store import Key, Store
from privtrace.study.study import Entry, Study

ABOUT = {"data": "abc", "profile": "paper", "seed": 1}
ONE = Key("mine", "v1", "score", "0.5", 0)


def store(path: Path | None, about: dict[str, Any] = ABOUT) -> Store:
    made = Store(path, about)
    made.entries["mine"] = (Entry("mine", ("#000000", "#ffffff"), "what it is"), "v1")
    return made


def test_numbers_and_maps_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "results.parquet"
    found = {"length": 0.1 + 0.2, "density": math.nan, "map": np.random.default_rng(1).random((80, 80))}
    first = store(path)
    first.add(ONE, 7, found)
    first.save()
    for again in (Store(path, ABOUT), Store.read(path)):
        got = again.get(ONE)
        assert got["length"] == found["length"] and math.isnan(got["density"])
        assert np.array_equal(got["map"], found["map"]) and got["map"].dtype == np.float64
        assert again.entries == first.entries
        assert again.of("mine", "score", "0.5") == [got]
        assert (again.epsilons(), again.most_runs()) == ({"0.5"}, 1)


def test_strangers_can_read_it(tmp_path: Path) -> None:
    made = store(tmp_path / "results.parquet")
    made.add(ONE, 2**32 - 1, {"length": 0.25, "map": np.zeros((2, 2))})
    made.save()
    table = pq.read_table(tmp_path / "results.parquet")
    assert table.schema.remove_metadata() == pa.schema(
        [
            ("competitor", pa.string()), ("origin", pa.string()), ("kind", pa.string()),
            ("epsilon", pa.string()), ("run", pa.int32()), ("seed", pa.int64()), ("quantity", pa.string()),
            ("value", pa.float64()), ("cells", pa.list_(pa.float64())),
        ]
    )  # fmt: skip
    rows = table.to_pylist()
    assert [row["quantity"] for row in rows] == ["length", "map"] and rows[0]["value"] == 0.25
    assert rows[0]["cells"] is None and rows[1]["value"] is None and rows[1]["cells"] == [0.0] * 4
    assert {row["seed"] for row in rows} == {2**32 - 1}
    about = json.loads(table.schema.metadata[b"privtrace.comparison"])
    assert about["not_private"] is True and about["notice"].startswith("NOT PRIVATE") and about["seed"] == 1


def test_two_that_add_to_one_file_keep_what_both_found(tmp_path: Path) -> None:
    path = tmp_path / "results.parquet"
    first, second = store(path), store(path)
    first.add(ONE, 7, {"length": 1.0})
    first.save()
    second.add(ONE._replace(run=1), 8, {"length": 2.0})
    second.add(ONE, 7, {"density": 3.0})
    second.save()
    first.add(ONE._replace(run=2), 9, {"length": 4.0})
    first.save()
    last = Store.read(path)
    assert last.of("mine", "score", "0.5") == [
        {"length": 1.0, "density": 3.0},
        {"length": 2.0},
        {"length": 4.0},
    ]
    assert first.of("mine", "score", "0.5") == last.of("mine", "score", "0.5")


def test_results_of_another_making_are_kept_apart(tmp_path: Path) -> None:
    made = store(tmp_path / "results.parquet")
    made.add(ONE, 7, {"length": 1.0})
    made.add(ONE._replace(origin="v2"), 7, {"length": 2.0})
    assert made.of("mine", "score", "0.5") == [{"length": 1.0}]
    made.entries["mine"] = (made.entries["mine"][0], "v2")
    assert made.of("mine", "score", "0.5") == [{"length": 2.0}]
    made.save()
    again = Store.read(tmp_path / "results.parquet")
    assert again.of("mine", "score", "0.5") == [{"length": 2.0}]
    assert again.get(ONE) == {"length": 1.0}


def test_the_file_follows_soon_and_without_one_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "EVERY_S", 0.0)
    monkeypatch.setattr(storing, "TIMES_WRITING", 0)
    made = store(tmp_path / "results.parquet")
    made.add(ONE, 7, {"length": 1.0})
    assert Store.read(tmp_path / "results.parquet").get(ONE) == {"length": 1.0}
    nowhere = store(None)
    nowhere.add(ONE, 7, {"length": 1.0})
    nowhere.save()
    assert [path.name for path in tmp_path.iterdir()] == ["results.parquet"]


def test_results_of_another_comparison_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.parquet"
    store(path).save()
    with pytest.raises(DataError, match="of another comparison, of other data and another seed; remove it"):
        Store(path, {**ABOUT, "data": "abd", "seed": 2})
    with pytest.raises(DataError, match="of another period"):
        Store(path, {**ABOUT, "period": "2024-01-01/2024-01-08"})


def test_what_is_no_file_of_results_is_refused(tmp_path: Path, trips: pt.Trajectories) -> None:
    trips.write(tmp_path / "trips.parquet")
    (tmp_path / "text.parquet").write_text("no table")
    (tmp_path / "empty.parquet").write_text("")
    for name in ("trips", "text", "empty"):
        path = tmp_path / f"{name}.parquet"
        before = path.read_bytes()
        with pytest.raises(DataError, match=r"is no file of results of a comparison; give another path"):
            store(path)
        assert path.read_bytes() == before
    with pytest.raises(OutputError, match="no such folder"):
        store(tmp_path / "nowhere" / "results.parquet")
    with pytest.raises(OutputError, match="is a folder"):
        store(tmp_path)


def test_a_file_that_has_only_begun_is_no_study(tmp_path: Path) -> None:
    path = tmp_path / "results.parquet"
    with pytest.raises(DataError, match="no such file of results"):
        Study.read(path)
    made = store(path)
    made.save()
    with pytest.raises(DataError, match="has only begun; let the same call go on"):
        Study.read(path)
    made.add(ONE, 7, {"length": 1.0})
    made.save()
    with pytest.raises(DataError, match="has only begun"):
        Study.read(path)
