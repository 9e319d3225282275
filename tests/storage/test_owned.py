"""Private folders go away with their owner, and at the next run where that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from privtrace.storage.owned import ROWS, OwnedFolder

pytest.importorskip("fcntl")

# Says where its folder is, and waits to be killed.
OWNER = """
import tempfile, time
from pathlib import Path
from privtrace.storage.owned import ROWS, OwnedFolder
owned = OwnedFolder(Path(tempfile.gettempdir()), ROWS)
(owned.path / "rows").touch()
print(owned.path, flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_run_left_goes_at_the_next(place):
    command, environment = [sys.executable, "-c", OWNER], {**os.environ, "TMPDIR": str(place)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        try:
            folder = Path(owner.stdout.readline().strip())
            assert folder.parent == place and (folder / "rows").exists()
            OwnedFolder(place, ROWS).close()
            assert (folder / "rows").exists()  # its owner lives
            owner.send_signal(signal.SIGKILL)
            owner.wait()
            assert (folder / "rows").exists()
            OwnedFolder(place, ROWS).close()
            assert not folder.exists()
        finally:
            owner.kill()


def test_what_is_not_ours_stays(place):
    kept = ["privtrace-results", "privtrace-rows-mine", "privtrace-rows-12345678x", "other"]
    for name in kept:
        (place / name).mkdir()
    (place / "privtrace-rows-abcdefgh").mkdir()
    (place / "privtrace-rows-abcdefgh" / "rows").touch()  # without a lock nobody knows whether its owner lives
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "owner").touch()
    (place / "privtrace-rows-linked__").symlink_to(place / "elsewhere")
    (place / "privtrace-rows-emptied_").mkdir()  # as if killed before it had a lock
    OwnedFolder(place, ROWS).close()
    found = {path.name for path in place.iterdir()}
    assert found == {*kept, "privtrace-rows-abcdefgh", "elsewhere", "privtrace-rows-linked__"}
    assert (place / "elsewhere" / "owner").exists()


def test_a_folder_swept_away_while_it_is_made_is_made_again(place, monkeypatch):
    really, opened = os.open, []

    def swept(path, *arguments, **named):
        if str(path).endswith("owner") and not opened:
            opened.append(path)
            os.rmdir(Path(path).parent)
        return really(path, *arguments, **named)

    monkeypatch.setattr(os, "open", swept)
    owned = OwnedFolder(place, ROWS)
    assert opened and owned.path.is_dir() and (owned.path / "owner").exists()
    owned.close()
    assert not list(place.iterdir())


def test_several_of_one_process_do_not_sweep_each_other(place):
    first, second = OwnedFolder(place, ROWS), OwnedFolder(place, ROWS)
    assert first.path.is_dir() and second.path.is_dir()
    first.close()
    assert second.path.is_dir()
    second.close()
    assert not list(place.iterdir())
