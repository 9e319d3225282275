"""Split the lines of a table into fields, as slices of its bytes, each line by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.compiling import compiled
from privtrace.parsing.text import Bytes, ByteSlices
from privtrace.trajectories import Flags, Integers

_QUOTE, _SPACE, _TAB, _LINE_FEED, _RETURN = (ord(sign) for sign in '" \t\n\r')

#: What becomes of a line of a table: a row; nothing, as of blank ones; or something is wrong with it.
RIGHT, NOTHING, BROKEN, UNMATCHED, TOO_MANY, TOO_FEW = range(6)


@dataclass(frozen=True)
class Records:
    """Point at the fields of the lines that are rows, column by column, and hold what became of all lines."""

    columns: list[ByteSlices]
    doubled: list[Flags]  # which fields have doubled quotes
    fates: Bytes  # (n_lines,)

    def texts(self, column: int) -> pa.Array:
        """Copy the fields of a column out, as large_binary, doubled quotes written once."""
        texts, which = self.columns[column].texts(), self.doubled[column]
        if not which.any():
            return texts
        return pc.if_else(pa.array(which), pc.replace_substring(texts, b'""', b'"'), texts)

    def lines_that(self, fate: int) -> Integers:
        """List the lines of this fate, counted from 0."""
        return np.flatnonzero(self.fates == fate)


def records(block: bytes, delimiter: int, n_fields: int, wanted: Sequence[int]) -> Records:
    """Split the lines of a table into fields, each line by itself, and take the wanted ones.

    A field may stand in quotes, and quotes within these are doubled; other quotes are signs like any other, but
    none starts a field. Carriage returns stand before the end of a line alone.
    """
    content = np.frombuffer(block, np.uint8)
    n_lines = n_ends(block) + (block != b"" and not block.endswith(b"\n"))
    slots = np.full(n_fields, -1)  # which place of the wanted ones a field has
    slots[list(wanted)] = np.arange(len(wanted))
    starts, stops = np.empty((2, len(wanted), n_lines), np.int64)
    doubled = np.zeros((len(wanted), n_lines), np.bool_)
    fates = np.empty(n_lines, np.uint8)
    ends_field = np.isin(np.arange(256), [delimiter, _LINE_FEED, _RETURN])
    n_rows = _split(content, delimiter, ends_field, b"\r" in block, slots, (starts, stops, doubled), fates)
    columns = [ByteSlices(content, starts[slot, :n_rows], stops[slot, :n_rows]) for slot in range(len(wanted))]
    return Records(columns, list(doubled[:, :n_rows]), fates)


def n_ends(block: bytes) -> int:
    """Count the ends of lines."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))


@compiled
def _split(text, delimiter, ends_field, has_returns, slots, found, fates):  # type: ignore[no-untyped-def]
    """Find the fields of each line; returns how many lines are rows, whose fields stand first."""
    starts, stops, doubled = found
    n_fields, end = len(slots), len(text)
    at = n_rows = 0
    for line in range(len(fates)):
        first = at
        n_found, fate = 0, RIGHT
        while True:  # a field
            slot = slots[n_found] if n_found < n_fields else -1
            has_doubled = False
            if at < end and text[at] == _QUOTE:
                at += 1
                start = at
                while at < end and text[at] != _LINE_FEED:
                    if text[at] == _QUOTE:
                        if at + 1 == end or text[at + 1] != _QUOTE:
                            break
                        has_doubled = True
                        at += 1
                    at += 1
                stop = at
                at += at < end and text[at] == _QUOTE
                if at == stop or (at < end and not ends_field[text[at]]):
                    fate = UNMATCHED
                    break
            else:
                start = at
                while at < end and not ends_field[text[at]]:
                    at += 1
                stop = at
            if slot >= 0:
                starts[slot, n_rows] = start
                stops[slot, n_rows] = stop
                doubled[slot, n_rows] = has_doubled
            n_found += 1
            if at == end or text[at] != delimiter:
                break
            at += 1
        if fate == RIGHT and n_found != n_fields:
            fate = NOTHING if _only_blanks(text, first, at) else TOO_MANY if n_found > n_fields else TOO_FEW
        while at < end and text[at] != _LINE_FEED:  # what is left of a line that is wrong, or its return
            at += 1
        if has_returns and _is_broken(text, first, at):
            fate = BROKEN
        at += 1
        fates[line] = fate
        n_rows += fate == RIGHT
    return n_rows


@compiled
def _only_blanks(text, at, stop):  # type: ignore[no-untyped-def]
    while at < stop and (text[at] == _SPACE or text[at] == _TAB):
        at += 1
    return at == stop


@compiled
def _is_broken(text, at, stop):  # type: ignore[no-untyped-def]
    """Tell whether a carriage return stands elsewhere than at the end."""
    while at < stop - 1:
        if text[at] == _RETURN:
            return True
        at += 1
    return False
