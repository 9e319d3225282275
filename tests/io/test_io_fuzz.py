"""Mutated files of every kind: an error in words or a result, never a traceback, a hang or half a file."""

from __future__ import annotations

import gzip
import shutil
import signal
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.io import samples

from privtrace import io
from privtrace.errors import PrivTraceError
from privtrace.io.check import remarks
from privtrace.trajectories import Trajectories

QUICK, ALL = 30, 2000
SECONDS = 5.0


def trips(first: int = 0) -> Trajectories:
    """Give a few trips with everything that a format may hold."""
    points = np.array([[8.5, 47.25], [8.51, 47.26], [8.52, 47.3], [-8.6, 41.1], [-8.61, 41.2], [0.5, 0.25]])
    times = np.datetime64("2020-02-28T23:59:00", "us") + np.arange(6) * np.timedelta64(1200, "s")
    users = np.array(["ann", "bob, jr", ""], np.dtypes.StringDType())
    ids = np.array([f"{first}", f'{first + 1} "b"', f"\xe9{first + 2}"], np.dtypes.StringDType())
    return Trajectories(points, np.array([0, 3, 5, 6]), times, users, ids)


def written(name: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        io.write(trips(), folder / name)
        return folder / name

    return write


def text(name: str, content: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content.encode())
        return folder / name

    return write


def folder_of(suffix: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / "parts" / "deep").mkdir(parents=True)
        for number, name in enumerate(["a", "deep/b", "c"]):
            io.write(trips(2 * number), folder / "parts" / f"{name}{suffix}")
        return folder / "parts"

    return write


#: For each reader, what writes a small sound sample into an empty folder and returns its path.
SAMPLES: dict[str, Callable[[Path], Path]] = {
    "csv": written("a.csv"),
    "tsv": written("a.tsv"),
    "csv.gz": written("a.csv.gz"),
    "decimal commas": text(
        "a.txt", "\ufeffTrip ID;Time;lng;lat\r\n1;3,5;8,61;47,3\r\n2;4;8,62;47,4\r\n1;9;;x\r\n"
    ),
    "blanks": text("a.csv", 'tid  x y   t\n 1  2 3   4\n"b 2" -1 1e3 7\n\n1  5 5\t1\n'),
    "parquet": written("a.parquet"),
    "geoparquet": written("a.geoparquet"),
    "gpkg": written("a.gpkg"),
    "geojson": written("a.geojson"),
    "mfjson": written("a.mfjson"),
    "gpx": written("a.gpx"),
    "folder of gpx": folder_of(".gpx"),
    "folder of csv": folder_of(".csv"),
    "folder of parquet": folder_of(".parquet"),
    **samples.SAMPLES,
}

#: What most damage makes unreadable as a whole.
STRICT = {"gpkg", "gpx"}

TOKENS = [
    b'"',
    b",",
    b";",
    b"\t",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"nan",
    b"-inf",
    b"1e999",
    b"400",
    b"\xef\xbb\xbf",
]
TOKENS += [
    b"9" * 50,
    b"lon",
    b"t",
    b"1970-01-01",
    b"#0:",
    b"[[",
    b"PAR1",
    b"\x1f\x8b",
    b"\xff\xff\xff\x7f",
    b"",
]


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Change a few bytes, stretches or lines."""
    for _ in range(rng.integers(1, 4)):
        start, stop = np.sort(rng.integers(0, len(content) + 1, 2)).tolist()
        near = min(stop, start + int(rng.integers(1, 9)))
        lines = content.splitlines(keepends=True)
        match rng.integers(0, 9):
            case 0 if content:  # flip
                place = int(rng.integers(0, len(content)))
                content = (
                    content[:place] + bytes([content[place] ^ (1 << rng.integers(0, 8))]) + content[place + 1 :]
                )
            case 1:  # delete
                content = content[:start] + content[near:]
            case 2:  # insert
                content = content[:start] + rng.bytes(rng.integers(1, 9)) + content[start:]
            case 3:  # duplicate
                content = content[:stop] + content[start:stop] + content[stop:]
            case 4:  # truncate
                content = content[:stop]
            case 5:  # splice
                content = content[:start] + content[stop:] + content[start:stop]
            case 6:  # hostile words
                content = content[:start] + TOKENS[rng.integers(0, len(TOKENS))] + content[near:]
            case 7 if lines:  # whole lines
                keep = rng.integers(0, len(lines), rng.integers(0, len(lines) + 2))
                content = b"".join(lines[line] for line in keep)
            case _:  # order of lines
                content = b"".join(lines[line] for line in rng.permutation(len(lines)))
    return content


def damage(path: Path, rng: np.random.Generator) -> None:
    """Mutate a file, or the files of a folder and their names."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    file = files[rng.integers(0, len(files))]
    content = file.read_bytes()
    if file.suffix == ".gz" and rng.random() < 0.5:
        content = gzip.compress(mutated(zlib.decompress(content, 31), rng))
    else:
        content = mutated(content, rng)
    file.write_bytes(content)
    if path.is_dir() and rng.random() < 0.3:
        names = [
            ".hidden.csv",
            "_success",
            "x.parquet",
            "x.csv",
            "x.csv.gz",
            "README.md",
            "\udcff.csv",
            "x.plt",
        ]
        file.rename(file.with_name(names[rng.integers(0, len(names))]))


class Hang(BaseException):
    """A case takes too long; not an Exception, so that nothing below catches it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def use(path: Path, output: Path, gap_minutes: float | None) -> bool:
    """Do all that can be done with a file; tell whether it went through."""
    try:
        with io.read(path, gap_minutes=gap_minutes) as source:
            faults = list(source.faults())
            assert all(str(fault).startswith(str(path)) and fault.line > 0 for fault in faults)
            whole = source.collect()
            found = remarks(source)
            assert (found.n_trajectories, found.n_rows) == (len(whole), whole.n_points + source.dropped_rows)
            io.write(source, output)
    except PrivTraceError as error:
        assert str(error)
        assert not output.exists()
        return False
    with io.read(output) as source:
        again = source.collect()
    assert (len(again), again.n_points) == (len(whole), whole.n_points)
    # Text has six decimals of degrees, and two of planar units.
    rounded_by = 0.0 if output.suffix == ".parquet" else 5.1e-7 if whole.crs == "lonlat" else 5.1e-3
    points = (np.sort(one.points, axis=0) for one in (again, whole))
    np.testing.assert_allclose(*points, rtol=0, atol=rounded_by)
    return True


def fuzz(name: str, cases: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample, spool, made = tmp_path / "sample", tmp_path / "spool", tmp_path / "made"
    for folder in (sample, spool, made):
        folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spool))
    monkeypatch.setattr("os.fsync", lambda _: None)  # most of the time otherwise
    sound = SAMPLES[name](sample)
    gap_minutes = 30 if io.read(sound).has_times else None
    assert use(sound, made / "a.parquet", None) and use(sound, made / "b.csv", gap_minutes)
    shutil.rmtree(made)
    n_read = 0
    for case in cases:
        rng = np.random.default_rng([case, zlib.crc32(name.encode())])
        shutil.rmtree(tmp_path / "case", ignore_errors=True)
        shutil.copytree(sample, tmp_path / "case")
        made.mkdir()
        path = tmp_path / "case" / sound.name
        damage(path, rng)
        output = made / ["a.parquet", "a.csv", "a.tsv.gz", "a.dat"][case % 4]
        try:
            with limited(SECONDS):
                went_through = use(path, output, None if case % 5 else gap_minutes)
        except BaseException as error:
            error.add_note(f"{name}, case {case}")
            raise
        assert [file.name for file in made.iterdir()] == ([output.name] if went_through else [])
        assert not list(spool.iterdir())
        shutil.rmtree(made)
        n_read += went_through
    assert n_read > 0.02 * len(cases) or name in STRICT  # else there is little that the cases try


@pytest.mark.parametrize("name", SAMPLES)
def test_a_mutated_file_is_read_or_refused_in_words(name, tmp_path, monkeypatch):
    fuzz(name, range(QUICK), tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_many_mutated_files_are_read_or_refused_in_words(name, tmp_path, monkeypatch):
    fuzz(name, range(QUICK, ALL), tmp_path, monkeypatch)
