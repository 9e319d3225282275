"""A file is opened once to find out what it is and what its header says; rows are read later."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privtrace as pt
from privtrace.io.beginning import Beginning
from privtrace.io.streams import LINE_BYTES

#: Opens each path as given, and counts how often the program opens a file of each folder.
COUNTING = """
import json, sys
import pyarrow as pa
import privtrace as pt

opened = []
sys.addaudithook(lambda event, given: opened.append(given[0]) if event == "open" else None)
for name in ("OSFile", "memory_map"):  # of which Python is not told
    def counting(path, *more, plainly=getattr(pa, name)):
        opened.append(path)
        return plainly(path, *more)
    setattr(pa, name, counting)

def folder(path):
    try:
        return str(path, "utf-8", "replace") if isinstance(path, bytes) else str(path)
    except TypeError:
        return ""

counts = {}
for path, options in json.loads(sys.stdin.read()):
    opened.clear()
    pt.read(path, **options)
    counts[path] = sum(folder(other).startswith(path) for other in opened)
print(json.dumps(counts))
"""

NAMES = {
    "a.csv": "csv",
    "a.csv.gz": "csv",
    "a.tsv": "tsv",
    "a.parquet": "parquet",
    "a.geoparquet": "geoparquet",
    "lines.parquet": "geoparquet-lines",
    "a.geojson": "geojson",
    "a.geojson.gz": "geojson",
    "a.mfjson": "mfjson",
    "a.gpx": "gpx",
    "porto.csv": "porto",
    "a.dat": "dat",
}


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Count how often reading opens each kind of file, by itself and in a folder."""
    root = tmp_path_factory.mktemp("opening")
    times = np.arange(4).astype("datetime64[s]")
    trips = pt.Trajectories(np.ones((4, 2)), np.array([0, 2, 4]), times, ids=np.array([1, 2]))
    (root / "folder").mkdir()
    for name, format in NAMES.items():
        pt.write(trips, root / name, format=format)
        pt.write(trips, root / "folder" / name, format=format)
    (root / "bare.geojson").write_text('{"type":"Feature","properties":{},"geometry":null}')
    (root / "wide.csv").write_text("traj_id,lon,lat" + "," * 10_000 + "\n")
    asked: list[tuple[str, dict[str, Any]]] = [(str(root / name), {}) for name in NAMES]
    asked += [(str(root / name), {}) for name in ("bare.geojson", "wide.csv", "folder")]
    done = subprocess.run(
        [sys.executable, "-c", COUNTING],
        input=json.dumps(asked),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return {Path(path).name: count for path, count in json.loads(done.stdout).items()}


@pytest.mark.parametrize("name", [*NAMES, "bare.geojson", "wide.csv"])
def test_a_file_is_opened_once(name: str, counts: dict[str, int]) -> None:
    # The first bytes of this text are a trajectory's: its name tells what it is.
    assert counts[name] == (0 if name == "a.dat" else 1)


def test_so_is_each_file_of_a_folder(counts: dict[str, int]) -> None:
    assert counts["folder"] == len(NAMES) - 1


@pytest.mark.parametrize("packed", [False, True])
def test_what_was_read_is_handed_to_all_who_ask(packed: bool, tmp_path: Path) -> None:
    import gzip

    text = b"traj_id,lon,lat\n" + b"1,2,3\n" * 10_000
    path = tmp_path / "a.csv"
    path.write_bytes(gzip.compress(text) if packed else text)
    for n_bytes in (1, 16, 17, 5000, len(text), len(text) + 1):
        with Beginning.of(path) as beginning:
            assert beginning.is_packed == packed
            assert beginning.first_line == text[:16]
            assert beginning.head(n_bytes) == text[:n_bytes]
            with beginning.text() as stream:
                assert stream.read() == text
            assert beginning.head(n_bytes + 1) == text[: n_bytes + 1]
            with beginning.text() as stream:
                assert stream.read(7) == text[:7]
        assert beginning.first_line == text[:16]  # also when the file is closed again


@pytest.mark.parametrize("length", [10, LINE_BYTES - 1, LINE_BYTES, LINE_BYTES + 1])
def test_a_first_line_ends_where_no_header_is_longer(length: int, tmp_path: Path) -> None:
    line = b"x" * (length - 1) + b"\n"
    (tmp_path / "a.csv").write_bytes(line + b"1,2,3\n")
    for n_before in (0, 5, length + 3):
        with Beginning.of(tmp_path / "a.csv") as beginning:
            beginning.head(n_before)
            assert beginning.first_line == line[:LINE_BYTES]
