"""Keep a curator's account of a data set: an append-only text file that charges every fit before it draws.

A line is a JSON object. The first says what the file is about, and each later one is a fit:

    {"format": "privtrace budget file 1", "limit": "4", "unit": "user", "check": "8f0c..."}
    {"when": "2025-03-01T09:30:00Z", "epsilon": "0.5", "method": "privtrace", "unit": "user, 5 trips each", ...}

Epsilons are exact. A check is the start of the SHA-256 of the line and the check before it, so that a line that
was changed or moved is noticed, and one that is lost unless it was the last: keep copies. It guards against
accidents; whoever wants to cheat can compute it too.

Nothing is drawn that is not charged: the line is on the disk before the first draw. Interrupted earlier, a fit
has drawn nothing; later, it is charged whatever becomes of it. A last line that has no end was never granted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

from privtrace.errors import BudgetExceeded, BudgetFileError, SettingsError
from privtrace.privacy.epsilon import Epsilon, decimal, exact
from privtrace.privacy.unit import Unit

_NAME = "privtrace budget file"
_FORMAT = f"{_NAME} 1"
_BEGINNING = f'{{"format": "{_NAME}'.encode()
_CHECK_DIGITS = 16


@dataclass(frozen=True)
class BudgetEntry:
    """Record one fit."""

    when: str  # in UTC
    epsilon: Fraction
    method: str
    unit: str
    note: str


@dataclass(frozen=True)
class BudgetRecord:
    """Hold what a budget file says."""

    limit: Fraction
    unit: str  # what one change of the data may be; see `Unit.neighbors`
    entries: tuple[BudgetEntry, ...]
    torn: bool  # a last line has no end: writing it was cut off, and it was never granted

    @property
    def spent(self) -> Fraction:
        """Add up all fits, failed ones as well."""
        return sum((entry.epsilon for entry in self.entries), Fraction(0))

    @property
    def left(self) -> Fraction:
        """Give what may still be spent."""
        return self.limit - self.spent


@dataclass(frozen=True)
class BudgetFile:
    """Name a data set's budget file, which limits what all fits on it may spend together.

    The limit is given once, with the first fit, and written into the file. Later it may be left out.
    """

    path: str | Path
    limit: Epsilon | None = None
    note: str = ""  # words that go along with a fit, such as where its model is

    def __post_init__(self) -> None:
        if self.limit is not None:
            object.__setattr__(self, "limit", decimal(exact(self.limit, "limit")))
        if not self.note.isprintable() or len(self.note) > 500:
            raise SettingsError("a budget file's note must be at most 500 printable characters")

    def read(self) -> BudgetRecord:
        """Read what was spent, refusing a file that is damaged."""
        record = self._content().record
        if record is None:
            raise BudgetFileError(f"{self.path}: no budget file is here; the first fit with a limit makes one")
        return record

    def check(self, epsilon: Fraction, unit: Unit) -> None:
        """Refuse a fit that would be refused as things are now; change nothing."""
        self._check(self._content().record, epsilon, unit)
        path = Path(self.path)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise BudgetFileError(
                f"{self.path}: cannot be written; check that its folder exists, and permissions"
            )

    def charge(self, epsilon: Fraction, unit: Unit, method: str) -> None:
        """Charge a whole fit, on the disk when this returns; or refuse it, and nothing changed."""
        with self._opened(os.O_RDWR | os.O_CREAT | os.O_APPEND, exclusive=True) as descriptor:
            content = _parsed(_read(descriptor), self.path)
            limit = self._check(content.record, epsilon, unit)
            lines, last = [], content.last_check
            if content.record is None:
                header = {"format": _FORMAT, "limit": decimal(limit), "unit": unit.neighbors}
                line, last = _line(header, last)
                lines.append(line)
            entry = {
                "when": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "epsilon": decimal(epsilon),
                "method": method,
                "unit": unit.neighbors
                + ("" if unit.max_per_user is None else f", {unit.max_per_user} trips each"),
                "note": self.note,
            }
            lines.append(_line(entry, last)[0])
            _append(descriptor, content, b"".join(lines))
            _sync_folder(Path(self.path))

    def _check(self, record: BudgetRecord | None, epsilon: Fraction, unit: Unit) -> Fraction:
        """Refuse what does not fit the file; return the limit."""
        given = None if self.limit is None else exact(self.limit, "limit")
        if record is None:
            if given is None:
                raise SettingsError(
                    f"{self.path}: a new budget file needs a limit, which all fits on the data may spend "
                    "together, such as --limit 4 (limit=4)"
                )
            record = BudgetRecord(given, unit.neighbors, (), torn=False)
        if given not in (None, record.limit):
            raise SettingsError(
                f"{self.path}: the limit is {decimal(record.limit)}, as set with the first fit, and not "
                f"{self.limit}; leave it out"
            )
        if unit.neighbors != record.unit:
            raise SettingsError(
                f"{self.path}: the account is per {record.unit}, and this fit per {unit.neighbors}; their "
                "epsilons do not add up, so give it a budget file of its own"
            )
        if epsilon > record.left:
            raise BudgetExceeded(
                f"{self.path}: the fit asks for epsilon {decimal(epsilon)}, but {decimal(record.spent)} of "
                f"{decimal(record.limit)} is spent and only {decimal(record.left)} is left; ask for less"
            )
        return record.limit

    def _content(self) -> _Content:
        """Read the file as it is now; a missing one is an empty one."""
        if not Path(self.path).exists():
            return _parsed(b"", self.path)
        with self._opened(os.O_RDONLY, exclusive=False) as descriptor:
            return _parsed(_read(descriptor), self.path)

    @contextmanager
    def _opened(self, flags: int, *, exclusive: bool) -> Iterator[int]:
        """Open and lock the file; closing it gives the lock back, as the end of the process does."""
        with _words(self.path):
            if Path(self.path).exists() and not Path(self.path).is_file():
                raise BudgetFileError(f"{self.path}: is not a regular file; give another path")
            descriptor = os.open(self.path, flags, 0o666)
            try:
                _lock(descriptor, exclusive)
                if not os.path.samestat(os.fstat(descriptor), os.stat(self.path)):
                    raise BudgetFileError(f"{self.path}: was replaced while a fit waited for it; try again")
                yield descriptor
            finally:
                os.close(descriptor)


@dataclass(frozen=True)
class _Content:
    """Hold a file's bytes in a form that a line can be added to."""

    record: BudgetRecord | None  # None where no line was written yet
    size: int  # of the lines that count, in bytes
    ended: bool  # whether the last of these lines has its end
    last_check: str


def _parsed(content: bytes, path: str | Path) -> _Content:
    """Check all lines, each against the one before."""
    *lines, tail = content.split(b"\n")
    if not _BEGINNING.startswith(content[: len(_BEGINNING)]):
        raise BudgetFileError(f"{path}: is not a budget file; give the path of one, or of a new file")
    if not lines:
        return _Content(None, 0, True, "")
    header, last = _facts(lines[0], ("format", "limit", "unit"), "") or _damaged(path, 1)
    if header["format"] != _FORMAT:
        raise BudgetFileError(
            f"{path}: has the format {header['format']!r}, and this version reads {_FORMAT!r}"
        )
    entries = []
    for number, line in enumerate(lines[1:], 2):
        entry, last = _entry(line, last) or _damaged(path, number)
        entries.append(entry)
    size, ended = len(content) - len(tail), True
    if granted := _entry(tail, last):  # all but its end is there: to count it is the safe side
        entries.append(granted[0])
        last, size, ended = granted[1], len(content), False
    elif _entry(tail[:-1], last):  # its end is another byte: no crash does that
        _damaged(path, len(lines) + 1)
    record = BudgetRecord(exact(header["limit"]), header["unit"], tuple(entries), torn=size < len(content))
    return _Content(record, size, ended, last)


def _damaged(path: str | Path, number: int) -> NoReturn:
    raise BudgetFileError(
        f"{path}: line {number} is damaged or was changed, so what was spent is not known; restore the file "
        "from a copy"
    )


def _entry(line: bytes, before: str) -> tuple[BudgetEntry, str] | None:
    """Read a fit's line and its check."""
    read = _facts(line, ("when", "epsilon", "method", "unit", "note"), before)
    if read is None:
        return None
    facts, check = read
    epsilon = exact(facts.pop("epsilon"))
    return BudgetEntry(epsilon=epsilon, **facts), check


def _facts(line: bytes, names: tuple[str, ...], before: str) -> tuple[dict[str, str], str] | None:
    """Read a line and its check; None unless it is just what would be written."""
    try:
        facts = json.loads(line.decode("ascii"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(facts, dict) or list(facts) != [*names, "check"]:
        return None
    check = facts.pop("check")
    return (facts, check) if _line(facts, before) == (line + b"\n", check) else None


def _line(facts: dict[str, str], before: str) -> tuple[bytes, str]:
    """Write a line, and give its check: that of the line and the check before."""
    digest = hashlib.sha256((before + json.dumps(facts)).encode("ascii"))
    check = digest.hexdigest()[:_CHECK_DIGITS]
    return json.dumps({**facts, "check": check}).encode("ascii") + b"\n", check


def _append(descriptor: int, content: _Content, lines: bytes) -> None:
    """Add lines in one write behind those that count, and wait until they are on the disk."""
    os.ftruncate(descriptor, content.size)
    addition = lines if content.ended else b"\n" + lines
    try:
        if os.write(descriptor, addition) != len(addition):
            raise OSError(0, "no room for a whole line")
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, content.size)
        raise
    os.fsync(descriptor)


def _sync_folder(path: Path) -> None:
    """Wait until the file's name is on the disk as well."""
    with contextlib.suppress(OSError):  # not every system can sync a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        return file.read()


def _lock(descriptor: int, exclusive: bool) -> None:
    """Wait for the file's lock: one writer, or any number of readers."""
    try:
        import fcntl
    except ImportError:
        raise BudgetFileError(
            "budget files need file locks as POSIX systems have them; fit on one of these"
        ) from None
    fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)


@contextmanager
def _words(path: str | Path) -> Iterator[None]:
    """Say what failed in words that help."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or "input or output error"
        raise BudgetFileError(
            f"{path}: cannot be opened, locked or written ({reason}); nothing was drawn"
        ) from None
