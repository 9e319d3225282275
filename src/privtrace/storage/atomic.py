"""Put a finished file or folder into place in one step, or nothing at all; or stream to standard output."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

from privtrace.errors import OutputError
from privtrace.storage.owned import OwnedFolder

#: The path that is standard input or output.
STANDARD = "-"

#: A hidden file that says that a folder was written here, and may be replaced.
_MARK = ".privtrace-output"

#: What the folders are called in which outputs are made, beside their targets.
_PREFIX = ".privtrace-"


#: One suffix, or several.
Suffixes: TypeAlias = str | tuple[str, ...]


@dataclass(frozen=True)
class Target(os.PathLike[str]):
    """Hold a path that was checked before the work; it can stand for the path, and is not checked again."""

    path: Path  # as it was given
    resolved: Path  # writes through a link instead of replacing it
    force: bool  # whether what is there may be replaced
    folder_of: Suffixes | None = None  # of a folder, the suffixes of the files in it

    @property
    def is_standard(self) -> bool:
        """Say whether this is standard output, which cannot be whole or nothing."""
        return str(self.path) == STANDARD

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return "standard output" if self.is_standard else str(self.path)


def check_target(
    path: str | os.PathLike[str],
    force: bool = False,
    folder_of: Suffixes | None = None,
    *,
    is_text: bool = False,
) -> Target:
    """Refuse before the work what would be refused after it; return what `replacing` takes unchecked.

    With `folder_of` it is the path of a folder of files with these suffixes. One that is there is replaced only
    if it was made here and holds nothing else: it may be all that someone has, and one wrong path must not
    delete it. Text may go to standard output.
    """
    if isinstance(path, Target):
        return path
    if os.fspath(path) == STANDARD:
        if not is_text:
            raise OutputError("-: only text can go to standard output; give the path of a file")
        return Target(Path(path), Path(path), force)
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise OutputError(f"{path}: no such folder: {target.parent}; create it first")
    if target.is_dir() and folder_of is None:
        raise OutputError(f"{path}: is a folder; give the path of a file")
    if target.exists() and not target.is_dir() and folder_of is not None:
        raise OutputError(f"{path}: is a file; give the path of a folder")
    if target.exists() and not target.is_dir() and not target.is_file():
        raise OutputError(f"{path}: is not a regular file; give another path")
    if target.exists() and not force:
        raise _exists(path)
    if target.exists() and folder_of is not None and not _may_go(target, folder_of):
        raise OutputError(
            f"{path}: contains files that privtrace did not write, so --force does not replace it; remove "
            "the folder yourself or give another path"
        )
    return Target(Path(path), target, force, folder_of)


@contextmanager
def replacing(
    path: str | os.PathLike[str],
    force: bool = False,
    folder_of: Suffixes | None = None,
    *,
    beside: Sequence[str] = (),
) -> Iterator[Path]:
    """Yield a temporary path on the same disk; what is written there becomes `path` on success.

    On any failure, an interrupt included, the temporary file or folder goes and `path` stays as it was; what a
    kill leaves goes when the next output is written there. Without `force` an existing file is refused, before
    the work and again at its end. A `Target` was checked before, and says itself whether to overwrite. Files
    with the suffixes `beside` go along, and are there when `path` is.
    """
    checked = check_target(path, force, folder_of)
    target = checked.resolved
    try:
        with closing(OwnedFolder(target.parent, _PREFIX)) as owned:
            temporary = owned.path / target.name
            # Open to others, once it is in place, just as the umask allows.
            temporary.touch() if checked.folder_of is None else temporary.mkdir()
            yield temporary
            for other in (temporary.with_suffix(suffix) for suffix in beside):
                if other.exists():
                    _sync(other)
                    os.replace(other, target.with_suffix(other.suffix))
            (_publish if checked.folder_of is None else _publish_folder)(temporary, checked)
            with suppress(OSError):  # not every system can sync a folder
                _sync(target.parent)
    except OSError as error:
        reason = error.strerror or "input or output error"
        # Not from the error: it may name a file in a folder, and so a user.
        raise OutputError(f"{target}: cannot be written ({reason}); check space and permissions") from None


@contextmanager
def streaming(target: Target, *, packed: bool = False) -> Iterator[BinaryIO]:
    """Yield a stream, packed with gzip or not; what is written there becomes the target on success.

    What goes to standard output stays written, and who reads it from a pipe may stop early.
    """
    if target.is_standard:
        sys.stdout.flush()
        try:
            with open(os.dup(sys.stdout.fileno()), "wb") as stream:
                yield stream
        except BrokenPipeError:
            with open(os.devnull, "wb") as nowhere:  # for what is flushed at exit
                os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return
    with replacing(target) as temporary, temporary.open("wb") as file:
        if not packed:
            yield file
            return
        # Without name and date, so that the same content makes the same file.
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as packer:
            yield cast(BinaryIO, packer)


def _publish(temporary: Path, checked: Target) -> None:
    """Give the finished file its name, unless someone else took the name meanwhile."""
    _sync(temporary)
    target = checked.resolved
    if checked.force:
        os.replace(temporary, target)
        return
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


def _publish_folder(temporary: Path, checked: Target) -> None:
    """Give the finished folder its name; what has it meanwhile may have to be kept."""
    (temporary / _MARK).touch()
    if hasattr(os, "sync"):  # not on Windows
        os.sync()  # once, where thousands of files would each wait their turn
    check_target(checked.path, checked.force, checked.folder_of)
    target = checked.resolved
    # Outside of what is swept: where the names are exchanged by a process that is killed, the old one stays.
    aside = target.with_name(f"{temporary.parent.name}-old")
    try:
        if target.exists():
            target.rename(aside)
        temporary.rename(target)
    finally:
        if aside.exists():
            aside.rename(temporary if target.exists() else target)


def _may_go(folder: Path, suffixes: Suffixes) -> bool:
    """Tell whether a folder is empty, or was made here and holds only such files and folders of them."""
    try:
        walk = [(Path(place), folders + names) for place, folders, names in os.walk(folder, onerror=_raise)]
    except OSError:
        return False
    entries = {place / name for place, names in walk for name in names}
    ours = (suffixes,) if isinstance(suffixes, str) else suffixes
    known = (
        not one.is_symlink() and (one.is_dir() or one.suffix in ours) for one in entries - {folder / _MARK}
    )
    return not entries or (folder / _MARK in entries and all(known))


def _raise(error: OSError) -> None:
    raise error


def _exists(path: str | os.PathLike[str]) -> OutputError:
    return OutputError(f"{path}: exists; pass --force (force=True) to overwrite it")


def _sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
