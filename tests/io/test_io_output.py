"""An output is checked once before the work, and its name once more when it is put in place."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.export.samples import model
from tests.io.samples import FILE_NAMES
from typer.testing import CliRunner

import privtrace as pt
from privtrace.cli.commands import app_for
from privtrace.errors import OutputError
from privtrace.export import export
from privtrace.io import FORMATS, check_output
from privtrace.report.document import check_page, page
from privtrace.storage import atomic
from privtrace.storage.atomic import Target, check_target, replacing

TRIPS = pt.Trajectories(
    np.array([[1.0, 2], [3, 4], [5, 6]]),
    np.array([0, 2, 3]),
    np.array([0, 15, 0]).astype("datetime64[s]"),
    ids=np.array([1, 2]),
)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """List the paths that were checked, each as often as it was."""
    found: list[Path] = []

    class Noted(Target):
        def __init__(self, path: Path, *more: Any) -> None:
            found.append(path)
            super().__init__(path, *more)

    monkeypatch.setattr(atomic, "Target", Noted)
    return found


@pytest.mark.parametrize("format", FORMATS)
def test_an_output_is_checked_once(format: str, tmp_path: Path, checked: list[Path]) -> None:
    path = tmp_path / FILE_NAMES[format]
    output = check_output(path, format=format)
    assert (output.path, output.target.force, output.name, output.format) == (
        path,
        False,
        format,
        FORMATS[format],
    )
    output.write(TRIPS)
    # Whether a folder may go, which no system tells at once, is asked again at the end.
    assert checked.count(path) == (2 if FORMATS[format].folder_of else 1)
    checked.clear()
    pt.write(TRIPS, path, format=format, force=True)
    assert checked.count(path) == (2 if FORMATS[format].folder_of else 1)


@pytest.mark.parametrize("format", ["csv", "gpkg", "geolife"])
def test_what_appears_meanwhile_is_not_overwritten(format: str, tmp_path: Path) -> None:
    path = tmp_path / FILE_NAMES[format]
    output = check_output(path, format=format)
    pt.write(TRIPS, path, format=format)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(OutputError, match=r"exists; pass --force \(force=True\) to overwrite it"):
        output.write(TRIPS.take(np.array([0])))
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_what_a_format_cannot_hold_is_refused_before_the_work(tmp_path: Path) -> None:
    check_output(tmp_path / "a.csv").check_holds("planar", has_times=False)
    with pytest.raises(OutputError, match=r"a\.mfjson: mfjson needs times, but there are none; write another"):
        check_output(tmp_path / "a.mfjson").check_holds("lonlat", has_times=False)
    with pytest.raises(OutputError, match=r"a\.gpx: gpx holds longitude and latitude in degrees"):
        check_output(tmp_path / "a.gpx").check_holds("planar", has_times=True)


def test_single_files_are_checked_once(tmp_path: Path, checked: list[Path]) -> None:
    def writes(target: Target | None, name: str) -> None:
        path = tmp_path / name if target is None else target
        if name == "a.model":
            model("dpt").save(path)
        elif name == "a.html":
            page("A page", []).write(path)
        elif name == "a.csv":
            export(model("dpt"), "density", path)
        else:
            with replacing(path) as temporary:
                temporary.write_text("new")

    for name in ("a.model", "a.html", "a.csv", "a.txt"):
        for check in (None, check_page if name == "a.html" else check_target):
            writes(None if check is None else check(tmp_path / name, False), name)
            assert checked == [tmp_path / name] and (tmp_path / name).stat().st_size
            checked.clear()
            (tmp_path / name).unlink()


def test_a_checked_path_says_itself_whether_to_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    target = check_target(path, force=True)
    assert check_target(target) is target and Path(target) == path and str(target) == str(path)
    with replacing(target) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "new"
    path.unlink()
    target = check_target(path)
    path.write_text("old")
    with pytest.raises(OutputError, match="exists"), replacing(target, force=True) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "old"


def test_commands_check_their_output_once(
    tmp_path: Path, checked: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pt.write(TRIPS, "trips.csv")
    model("dpt").save("a.model")
    for *command, output in (
        ("convert", "trips.csv", "a.parquet"),
        ("report", "a.model", "--output", "a.html"),
        ("export", "a.model", "--what", "od", "--output", "od.csv"),
    ):
        checked.clear()
        done = CliRunner().invoke(app_for([*command, output]), [*command, output])
        assert done.exit_code == 0 and checked == [Path(output)], done.output


# Writes half of an output, says so, and waits to be killed.
WRITER = """
import sys, time
from privtrace.storage.atomic import replacing
with replacing("out", folder_of=sys.argv[1] or None) as temporary:
    (temporary / "a.plt" if sys.argv[1] else temporary).write_text("half")
    print(flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("folder_of", ["", ".plt"])
def test_what_a_killed_run_left_goes_when_the_next_writes_there(folder_of: str, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    command = [sys.executable, "-c", WRITER, folder_of]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path) as writer:
        try:
            assert writer.stdout is not None and writer.stdout.readline()
            (left,) = tmp_path.iterdir()
            with replacing(tmp_path / "other") as temporary:
                temporary.write_text("whole")
            assert (left / "out").exists()  # its owner lives
            writer.send_signal(signal.SIGKILL)
            writer.wait()
            (
                tmp_path / ".privtrace-mine"
            ).mkdir()  # not ours, nor what stays if names are exchanged at that time
            (tmp_path / f"{left.name}-old").mkdir()
            with replacing(tmp_path / "other", force=True):
                pass
            assert {path.name for path in tmp_path.iterdir()} == {
                "other",
                ".privtrace-mine",
                f"{left.name}-old",
            }
        finally:
            writer.kill()
