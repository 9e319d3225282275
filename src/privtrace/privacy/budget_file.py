"""Keep a curator's account of a data set: a text file that charges every fit before it draws.

A line is a JSON object. The first is the head, the second says what the file is about, and each later one is
a fit:

    {"format": "privtrace budget file 2", "fits": "0000000003", "last": "51c2...", "check": "8f0c..."}
    {"limit": "4", "unit": "user", "check": "03ba..."}
    {"when": "2025-03-01T09:30:00Z", "epsilon": "0.5", "method": "privtrace", "unit": "user, 5 trips each", ...}

Epsilons are exact. A check is the start of the SHA-256 of the line and the check before it, and the head holds
the number of fits and the check of the last. So a line that was changed, moved or lost is noticed, the last as
well, and so is a file that was cut or emptied: it is refused. An older copy of the whole file is as good as the
file, and whoever wants to cheat can compute checks too: against both only copies help, kept elsewhere.

Nothing is drawn that is not charged. A fit's line is added and on the disk before the head counts it, and the
head is on the disk before the first draw. So whatever is cut off between them,

- a line without an end that the head does not count was never granted, and is dropped;
- a whole line that the head does not count is charged, although nothing was drawn for it;
- a line that the head counts is there, or the file was cut.

Heads are all of one length, and shorter than the 512 bytes that disks write whole or not at all. New files get
their name only when they are complete, and so do files of version 1, which had no head, when they get one.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

from privtrace.errors import BudgetExceeded, BudgetFileError, OutputError, SettingsError
from privtrace.privacy.epsilon import Epsilon, decimal, exact
from privtrace.privacy.unit import Unit
from privtrace.storage.atomic import replacing

_NAME = "privtrace budget file"
_FORMAT = f"{_NAME} 2"
_WITHOUT_HEAD = f"{_NAME} 1"
_BEGINNING = f'{{"format": "{_NAME}'.encode()
_CHECK_DIGITS = 16
_ABOUT = "about"  # in place of the check before it, for the line after the head: the head changes

#: What lines say: the first, by format, and that of a fit.
_FIRST_LINES = {_FORMAT: ("format", "fits", "last"), _WITHOUT_HEAD: ("format", "limit", "unit")}
_ENTRY = ("when", "epsilon", "method", "unit", "note")

#: Times that a file may be replaced while a fit waits for its lock: once, where another fit gives it a head.
_MOST_WAITS = 10


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
    n_unfinished: int = 0  # fits at the end that count, but were cut off before they could draw
    has_head: bool = True  # which shows a lost end; a file of version 1 gets one with the next fit

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
    _granted: dict[str, Fraction] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # by check

    def __post_init__(self) -> None:
        if self.limit is not None:
            object.__setattr__(self, "limit", decimal(exact(self.limit, "limit")))
        if not self.note.isprintable() or len(self.note) > 500:
            raise SettingsError("a budget file's note must be at most 500 printable characters")

    @property
    def charged(self) -> Fraction:
        """Add up what fits were granted through this object: it stays charged, whatever becomes of them."""
        return sum(self._granted.values(), Fraction(0))

    def read(self) -> BudgetRecord:
        """Read what was spent, refusing a file that is damaged."""
        record = self._record()
        if record is None:
            raise BudgetFileError(
                f"{self.path}: there is no budget file here; the first fit with a limit creates one"
            )
        return record

    def check(self, epsilon: Fraction, unit: Unit, *, private: bool = True) -> None:
        """Refuse a fit that would be refused as things are now, or is not private; change nothing."""
        if not private:
            raise SettingsError(
                "a budget file accounts for private fits, but seeded or missing noise makes this fit NOT "
                "PRIVATE; leave out the budget file or the seed"
            )
        self._check(self._record(), epsilon, unit)
        path = Path(self.path)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise BudgetFileError(
                f"{self.path}: cannot be written; check that the folder exists and is writable"
            )

    def charge(self, epsilon: Fraction, unit: Unit, method: str) -> None:
        """Charge a whole fit, on the disk when this returns; or refuse it, and nothing is charged."""
        self._ready(epsilon, unit)
        with self._opened(os.O_RDWR, exclusive=True) as descriptor:
            content = _parsed(_read(descriptor), self.path)
            self._check(content.record, epsilon, unit)
            entry = BudgetEntry(
                when=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                epsilon=epsilon,
                method=method,
                unit=unit.neighbors
                + ("" if unit.max_per_user is None else f", {unit.max_per_user} trips each"),
                note=self.note,
            )
            line, check = _line(_entry_facts(entry), content.last_check)
            head = _head(len(content.record.entries) + 1, check)
            try:
                self._granted[check] = epsilon
                _add(descriptor, content, line, head)
            except BaseException:  # an interrupt as well: nothing was drawn, so nothing need be charged
                self._take_back(descriptor, content)
                self._granted.pop(check)
                raise

    def _ready(self, epsilon: Fraction, unit: Unit) -> None:
        """Make a file that is missing and give one of version 1 its head, but not for a fit that is refused."""
        if not Path(self.path).exists():
            limit = self._check(None, epsilon, unit)
            self._put(_whole_file(BudgetRecord(limit, unit.neighbors, (), torn=False)), force=False)
            return
        with self._opened(os.O_RDWR, exclusive=True) as descriptor:
            record = _parsed(_read(descriptor), self.path).record
            self._check(record, epsilon, unit)
            if not record.has_head:
                self._put(_whole_file(record), force=True, mode=os.fstat(descriptor).st_mode)

    def _put(self, content: bytes, *, force: bool, mode: int | None = None) -> None:
        """Give a complete file its name, and wait until that is on the disk."""
        try:
            with replacing(self.path, force) as temporary:
                temporary.write_bytes(content)
                if mode is not None:
                    os.chmod(temporary, stat.S_IMODE(mode))
        except OutputError as error:
            if (
                force or not Path(self.path).exists()
            ):  # else another fit was quicker, and its file serves as well
                raise BudgetFileError(str(error)) from None

    def _take_back(self, descriptor: int, content: _Content) -> None:
        """Undo a charge, the head first, so that it never counts a line that is gone."""
        try:
            _write(descriptor, content.head, 0)
            os.fsync(descriptor)
            os.ftruncate(descriptor, content.size)
            os.fsync(descriptor)
        except OSError as error:
            raise BudgetFileError(
                f"{self.path}: cannot be written ({error.strerror or 'input or output error'}); no noise "
                f"was drawn, but `privtrace ledger {self.path}` may show the fit as charged"
            ) from None

    def _check(self, record: BudgetRecord | None, epsilon: Fraction, unit: Unit) -> Fraction:
        """Refuse what does not fit the file; return the limit."""
        given = None if self.limit is None else exact(self.limit, "limit")
        if record is None:
            if given is None:
                raise SettingsError(
                    f"{self.path}: a new budget file needs a limit for all fits on the data together, for "
                    "example --limit 4 (limit=4)"
                )
            record = BudgetRecord(given, unit.neighbors, (), torn=False)
        if given not in (None, record.limit):
            raise SettingsError(
                f"{self.path}: the first fit set the limit to {decimal(record.limit)}, not {self.limit}; "
                "leave the limit out"
            )
        if unit.neighbors != record.unit:
            raise SettingsError(
                f"{self.path}: the file counts epsilon per {record.unit}, but this fit protects each "
                f"{unit.neighbors}; the two cannot be added, so use another budget file"
            )
        if epsilon > record.left:
            raise BudgetExceeded(
                f"{self.path}: the fit asks for epsilon {decimal(epsilon)}, but {decimal(record.spent)} of "
                f"{decimal(record.limit)} is spent and only {decimal(record.left)} is left; ask for less"
            )
        return record.limit

    def _record(self) -> BudgetRecord | None:
        """Read the file as it is now; None where there is none."""
        if not Path(self.path).exists():
            return None
        with self._opened(os.O_RDONLY, exclusive=False) as descriptor:
            return _parsed(_read(descriptor), self.path).record

    @contextmanager
    def _opened(self, flags: int, *, exclusive: bool) -> Iterator[int]:
        """Open and lock the file; closing it gives the lock back, as the end of the process does."""
        with _words(self.path):
            if Path(self.path).exists() and not Path(self.path).is_file():
                raise BudgetFileError(f"{self.path}: is not a regular file; give another path")
            for _ in range(_MOST_WAITS):
                descriptor = os.open(self.path, flags)
                try:
                    _lock(descriptor, exclusive)
                    if os.path.samestat(os.fstat(descriptor), os.stat(self.path)):
                        yield descriptor
                        return
                finally:
                    os.close(descriptor)
            raise BudgetFileError(f"{self.path}: was replaced while a fit waited for it; try again")


@dataclass(frozen=True)
class _Content:
    """Hold a file's bytes in a form that a line can be added to."""

    record: BudgetRecord
    head: bytes  # the first line
    size: int  # of the lines that count, in bytes
    ended: bool  # whether the last of these lines has its end
    last_check: str


def _parsed(content: bytes, path: str | Path) -> _Content:
    """Check all lines, each against the one before, and against the head."""
    if not content:
        raise BudgetFileError(
            f"{path}: is empty, but a budget file is never empty, so it is unknown what was spent; "
            "restore the file from a backup, or delete it if nothing was ever charged to it"
        )
    if not _BEGINNING.startswith(content[: len(_BEGINNING)]):
        raise BudgetFileError(f"{path}: is not a budget file; give the path of a budget file, or of a new file")
    *lines, tail = content.split(b"\n")
    if not lines:
        _cut(path)
    first, check = _facts(lines[0], "") or _damaged(path, 1)
    if first["format"] not in _FIRST_LINES:
        raise BudgetFileError(f"{path}: has the format {first['format']!r}, but this version reads {_FORMAT!r}")
    if tuple(first) != _FIRST_LINES[first["format"]]:
        _damaged(path, 1)
    has_head = first["format"] == _FORMAT
    n_before, about, last = 1, first, check
    if has_head:
        if len(lines) == 1:
            _cut(path)
        n_before, (about, last) = 2, _facts(lines[1], _ABOUT, ("limit", "unit")) or _damaged(path, 2)
    entries, checks = [], [last]
    for number, line in enumerate(lines[n_before:], n_before + 1):
        entry, last = _entry(line, last) or _damaged(path, number)
        entries.append(entry)
        checks.append(last)
    n_granted = int(first["fits"]) if has_head else 0
    if len(entries) < n_granted:
        _cut(path)
    if has_head and checks[n_granted] != first["last"]:
        _damaged(path, 1)
    size, ended = len(content) - len(tail), True
    if granted := _entry(tail, last):  # all but its end is there: to count it is the safe side
        entries.append(granted[0])
        last, size, ended = granted[1], len(content), False
    elif _entry(tail[:-1], last):  # its end is another byte: no crash does that
        _damaged(path, len(lines) + 1)
    if not has_head and (size < len(content) or not entries):
        _cut(path)  # without a head, it may as well be a fit that drew
    record = BudgetRecord(
        limit=exact(about["limit"]),
        unit=about["unit"],
        entries=tuple(entries),
        torn=size < len(content),
        n_unfinished=len(entries) - n_granted if has_head else 0,
        has_head=has_head,
    )
    return _Content(record, lines[0] + b"\n", size, ended, last)


def _cut(path: str | Path) -> NoReturn:
    raise BudgetFileError(
        f"{path}: its end is missing, so it is unknown what was spent; restore the file from a backup"
    )


def _damaged(path: str | Path, number: int) -> NoReturn:
    raise BudgetFileError(
        f"{path}: line {number} is damaged or was changed, so it is unknown what was spent; restore the "
        "file from a backup"
    )


def _entry(line: bytes, before: str) -> tuple[BudgetEntry, str] | None:
    """Read a fit's line and its check."""
    read = _facts(line, before, _ENTRY)
    if read is None:
        return None
    facts, check = read
    epsilon = exact(facts.pop("epsilon"))
    return BudgetEntry(epsilon=epsilon, **facts), check


def _entry_facts(entry: BudgetEntry) -> dict[str, str]:
    """List what a fit's line says."""
    return {**asdict(entry), "epsilon": decimal(entry.epsilon)}


def _facts(line: bytes, before: str, names: tuple[str, ...] | None = None) -> tuple[dict[str, str], str] | None:
    """Read a line and its check; None unless it is just what would be written, with these names if given."""
    try:
        facts = json.loads(line.decode("ascii"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(facts, dict) or "check" not in facts:
        return None
    check = facts.pop("check")
    if names is not None and tuple(facts) != names:
        return None
    return (facts, check) if _line(facts, before) == (line + b"\n", check) else None


def _line(facts: dict[str, str], before: str) -> tuple[bytes, str]:
    """Write a line, and give its check: that of the line and the check before."""
    digest = hashlib.sha256((before + json.dumps(facts)).encode("ascii"))
    check = digest.hexdigest()[:_CHECK_DIGITS]
    return json.dumps({**facts, "check": check}).encode("ascii") + b"\n", check


def _head(n_fits: int, last_check: str) -> bytes:
    """Write a head, as long as any other."""
    return _line({"format": _FORMAT, "fits": f"{n_fits:010}", "last": last_check}, "")[0]


def _whole_file(record: BudgetRecord) -> bytes:
    """Write a whole file down."""
    line, check = _line({"limit": decimal(record.limit), "unit": record.unit}, _ABOUT)
    lines = [line]
    for entry in record.entries:
        line, check = _line(_entry_facts(entry), check)
        lines.append(line)
    return b"".join([_head(len(record.entries), check), *lines])


def _add(descriptor: int, content: _Content, line: bytes, head: bytes) -> None:
    """Add a line after those that count, then count it in the head; each is on the disk before the next."""
    os.ftruncate(descriptor, content.size)
    _write(descriptor, line if content.ended else b"\n" + line, content.size)
    os.fsync(descriptor)
    _write(descriptor, head, 0)
    os.fsync(descriptor)


def _write(descriptor: int, content: bytes, place: int) -> None:
    if os.pwrite(descriptor, content, place) != len(content):
        raise OSError(0, "no space for a whole line")


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        return file.read()


def _lock(descriptor: int, exclusive: bool) -> None:
    """Wait for the file's lock: one writer, or any number of readers."""
    try:
        import fcntl
    except ImportError:
        raise BudgetFileError(
            "budget files need POSIX file locks, which this system does not have; run the fit on Linux or macOS"
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
            f"{path}: cannot be opened, locked or written ({reason}); check space and permissions"
        ) from None
