"""Folders are put in place whole or not at all, and none is deleted by mistake."""

import os
from pathlib import Path

import pytest

from privtrace.errors import OutputError
from privtrace.storage.atomic import check_target, replacing


def fill(folder: Path, word: str) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "a.plt").write_text(word)


def output(path: Path, word: str, force: bool = False) -> Path:
    with replacing(path, force, ".plt") as temporary:
        fill(temporary, word)
    return path


def word(folder: Path) -> str:
    return (folder / "inner" / "a.plt").read_text()


def test_a_folder_appears_whole(tmp_path):
    with replacing(tmp_path / "out", folder_of=".plt") as temporary:
        fill(temporary, "new")
        assert temporary.parent.parent == tmp_path and not (tmp_path / "out").exists()
    assert word(tmp_path / "out") == "new"
    assert os.listdir(tmp_path) == ["out"]


def test_force_replaces_what_was_written_here(tmp_path):
    output(tmp_path / "out", "old")
    with pytest.raises(OutputError, match=r"out: exists; pass --force \(force=True\)"):
        output(tmp_path / "out", "new")
    assert word(tmp_path / "out") == "old"
    output(tmp_path / "out", "new", force=True)
    assert word(tmp_path / "out") == "new"
    (tmp_path / "empty").mkdir()
    assert word(output(tmp_path / "empty", "new", force=True)) == "new"
    assert sorted(os.listdir(tmp_path)) == ["empty", "out"]


@pytest.mark.parametrize("foreign", ["notes.txt", "inner/labels.txt", "link", "folder link", "unmarked"])
def test_force_deletes_nothing_else(tmp_path, foreign):
    out = output(tmp_path / "out", "mine")
    (tmp_path / "elsewhere").mkdir()
    if foreign == "unmarked":
        (out / ".privtrace-output").unlink()
    elif foreign == "link":
        (out / "b.plt").symlink_to(out / "inner" / "a.plt")
    elif foreign == "folder link":
        (out / "b").symlink_to(tmp_path / "elsewhere")
    else:
        (out / foreign).write_text("mine")
    with pytest.raises(
        OutputError, match="contains files that privtrace did not write, so --force does not replace it"
    ):
        output(out, "new", force=True)
    assert word(out) == "mine"
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "out"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("force", [False, True])
def test_an_interrupt_leaves_nothing_behind(tmp_path, error, force):
    if force:
        output(tmp_path / "out", "old")
    with pytest.raises(error), replacing(tmp_path / "out", force, ".plt") as temporary:
        fill(temporary, "new")
        raise error
    assert os.listdir(tmp_path) == (["out"] if force else [])
    assert not force or word(tmp_path / "out") == "old"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("at", [1, 2])
def test_an_interrupt_while_names_change_leaves_the_old_one(tmp_path, monkeypatch, error, at):
    output(tmp_path / "out", "old")
    rename = Path.rename
    calls = []

    def interrupted(path, target):
        calls.append(target)
        if len(calls) == at:
            raise error
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises((KeyboardInterrupt, OutputError)):
        output(tmp_path / "out", "new", force=True)
    assert word(tmp_path / "out") == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_a_name_taken_meanwhile_is_not_overwritten(tmp_path):
    with (
        pytest.raises(OutputError, match="exists"),
        replacing(tmp_path / "out", folder_of=".plt") as temporary,
    ):
        fill(temporary, "mine")
        (tmp_path / "out").mkdir()
        fill(tmp_path / "out", "theirs")
    assert word(tmp_path / "out") == "theirs"
    assert os.listdir(tmp_path) == ["out"]


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("mine")
    for name, words in {"none/out": "no such folder", "file": "is a file; give the path of a folder"}.items():
        with pytest.raises(OutputError, match=words):
            check_target(tmp_path / name, True, ".plt")
    with pytest.raises(OutputError, match="does not replace it"):
        check_target(tmp_path, True, ".plt")
    assert check_target(tmp_path / "new", folder_of=".plt").resolved == tmp_path / "new"


def test_no_error_names_a_file_in_a_folder(tmp_path):
    """Files are called after users and trajectories, and errors travel with what they were raised from."""
    with (
        pytest.raises(OutputError, match="out: cannot be written") as caught,
        replacing(tmp_path / "out", folder_of=".plt"),
    ):
        raise OSError(28, "No space left on device", "Data/alice/Trajectory/1.plt")
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    assert "alice" not in str(caught.value)


def test_a_link_stays_a_link(tmp_path):
    output(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    output(tmp_path / "link", "new", force=True)
    assert (tmp_path / "link").is_symlink() and word(tmp_path / "real") == "new"
