"""Tell what is wrong with rows: in which file, in which line and why, never the value itself.

A row with a fault does not stop a reader: what is wrong is dropped. Faults are for the curator, who may want
the number of them, the first, or all: NOT PRIVATE.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from privtrace.trajectories import Integers

#: Starts the reasons why a file of a folder was left out as a whole, or its end was.
FILE = "the file is left out"


class Fault(NamedTuple):
    """Point at one row, or one point of a row, that cannot be used."""

    path: Path
    line: int  # of a text, counted from 1; of a table without lines, the row
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


@dataclass(frozen=True)
class Place:
    """Say where the rows of a batch stand in their file, or in one of many; asked only when needed."""

    path: Path
    line_of: Callable[[Integers], Integers]  # from row numbers in the batch to lines
    path_of: Callable[[Integers], Iterable[Path]] | None = None  # and to files, if there are several

    @classmethod
    def following(cls, path: Path, n_before: int) -> Place:
        """Place rows one per line, after so many lines."""
        return cls(path, lambda rows: rows + (n_before + 1))


class Faults:
    """Collect faults while a reader passes over rows.

    What makes a row unusable is always counted, and so are times, and those that cannot be read. `locating`
    asks for more: also for what is wrong with the values of rows that stay, and where each fault is. Where
    logs are cut, rows `need_times`: without one they are unusable.
    """

    def __init__(self, *, locating: bool = False, need_times: bool = False) -> None:
        self.locating, self.need_times = locating, need_times
        self.counts: Counter[str] = Counter()
        self.n_times = self.n_unread = 0  # those that are there, and those of them that cannot be read
        self.n_unordered = 0  # rows without a number where that alone sets the order
        self._found: list[Fault] = []

    def add(self, reason: str, rows: Integers, place: Place) -> None:
        """Note that these rows of a batch have a fault."""
        if len(rows) == 0:
            return
        self.counts[reason] += len(rows)
        if self.locating:
            paths = repeat(place.path) if place.path_of is None else place.path_of(rows)
            lines = place.line_of(rows).tolist()
            self._found += [Fault(path, line, reason) for line, path in zip(lines, paths, strict=False)]

    def take(self) -> list[Fault]:
        """Hand over what was found since the last time, in order of lines."""
        found, self._found = self._found, []
        return sorted(found)
