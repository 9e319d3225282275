"""Put a finished file or folder into place in one step, or nothing at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from privtrace.errors import OutputError

#: A hidden file that says that a folder was written here, and may be replaced.
_MARK = ".privtrace-output"


@dataclass(frozen=True)
class Target(os.PathLike[str]):
    """Hold a path that was checked before the work; it can stand for the path, and is not checked again."""

    path: Path  # as it was given
    resolved: Path  # writes through a link instead of replacing it
    force: bool  # whether what is there may be replaced

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return str(self.path)


@contextmanager
def replacing(path: str | os.PathLike[str], force: bool = False) -> Iterator[Path]:
    """Yield a temporary path in the same folder; what is written there becomes `path` on success.

    On any failure, an interrupt included, the temporary file goes and `path` stays as it was. Without
    `force` an existing file is refused, before the work and again at its end. A `Target` was checked before,
    and says itself whether to overwrite.
    """
    checked = check_target(path, force)
    target, force = checked.resolved, checked.force
    temporary = target.parent / f".privtrace-{secrets.token_hex(8)}"
    try:
        with _words(target):
            # Open to others just as the umask allows, as any new file is.
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            yield temporary
            _sync(temporary)
            if force:
                os.replace(temporary, target)
            else:
                _publish(temporary, target)
            with contextlib.suppress(OSError):  # not every system can sync a folder
                _sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def check_target(path: str | os.PathLike[str], force: bool = False) -> Target:
    """Refuse before the work what would be refused after it; return what `replacing` takes unchecked."""
    if isinstance(path, Target):
        return path
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise OutputError(f"{path}: no such folder as {target.parent}; create it first")
    if target.is_dir():
        raise OutputError(f"{path}: is a folder; give the path of a file")
    if target.exists() and not target.is_file():
        raise OutputError(f"{path}: is not a regular file; give another path")
    if target.exists() and not force:
        raise _exists(path)
    return Target(Path(path), target, force)


@contextmanager
def replacing_folder(path: str | os.PathLike[str], suffix: str, force: bool = False) -> Iterator[Path]:
    """Yield a temporary folder beside `path`; it becomes `path` on success.

    On any failure, an interrupt included, the temporary folder goes and `path` stays as it was. With `force`
    a folder is replaced if it was made here and holds nothing but files with this suffix: a folder may be
    all that someone has, and one wrong path must not delete it.
    """
    checked = check_folder(path, suffix, force)
    target, force = checked.resolved, checked.force
    temporary, aside = (target.parent / f".privtrace-{secrets.token_hex(8)}" for _ in range(2))
    try:
        with _words(target):
            temporary.mkdir()
            yield temporary
            (temporary / _MARK).touch()
            _sync_all()
            check_folder(checked.path, suffix, force)  # someone may have used the name meanwhile
            try:
                if target.exists():
                    target.rename(aside)
                temporary.rename(target)
            finally:
                if aside.exists() and not target.exists():
                    aside.rename(target)
            with contextlib.suppress(OSError):  # not every system can sync a folder
                _sync(target.parent)
    finally:
        for leftover in (temporary, aside):
            shutil.rmtree(leftover, ignore_errors=True)


def check_folder(path: str | os.PathLike[str], suffix: str, force: bool = False) -> Target:
    """Refuse before the work what would be refused after it, as `check_target` does for a file."""
    if isinstance(path, Target):
        return path
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise OutputError(f"{path}: no such folder as {target.parent}; create it first")
    if target.exists() and not target.is_dir():
        raise OutputError(f"{path}: is a file; give the path of a folder")
    if target.exists() and not force:
        raise _exists(path)
    if target.exists() and not _may_go(target, suffix):
        raise OutputError(
            f"{path}: holds what was not written here, so --force does not replace it; "
            "remove the folder yourself or give another path"
        )
    return Target(Path(path), target, force)


def _may_go(folder: Path, suffix: str) -> bool:
    """Tell whether a folder is empty, or was made here and holds only such files and folders of them."""
    try:
        walk = [(Path(place), folders + names) for place, folders, names in os.walk(folder, onerror=_raise)]
    except OSError:
        return False
    entries = [place / name for place, names in walk for name in names]
    mark = folder / _MARK
    foreign = (
        entry.is_symlink() or (not entry.is_dir() and entry.suffix != suffix)
        for entry in entries
        if entry != mark
    )
    return not entries or (mark in entries and not any(foreign))


def _raise(error: OSError) -> None:
    raise error


def _exists(path: str | os.PathLike[str]) -> OutputError:
    return OutputError(f"{path}: exists; pass --force (force=True) to overwrite it")


@contextmanager
def _words(target: Path) -> Iterator[None]:
    """Say what failed in words that help."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or "input or output error"
        # Not from the error: it may name a file in a folder, and so a user.
        raise OutputError(f"{target}: cannot be written ({reason}); check space and permissions") from None


def _publish(temporary: Path, target: Path) -> None:
    """Give the finished file its name, unless someone else took the name meanwhile."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise _exists(target) from None
    except OSError:  # a file system without links: take the name first, then fill it
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            raise _exists(target) from None
        try:
            os.replace(temporary, target)
        except BaseException:
            target.unlink(missing_ok=True)
            raise


def _sync_all() -> None:
    """Wait until all files are on the disk: one call, where thousands of files would each wait their turn."""
    if hasattr(os, "sync"):  # not on Windows
        os.sync()


def _sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
