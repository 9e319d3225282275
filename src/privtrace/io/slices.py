"""Find lines, fields and pairs of numbers in a text, as slices of its bytes: nothing is copied until read.

What is found in a line depends on that line alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.compiling import compiled
from privtrace.io.streams import n_ends
from privtrace.io.text import Bytes
from privtrace.io.text import ByteSlices as ByteSlices
from privtrace.trajectories import Flags as Flags
from privtrace.trajectories import Integers

_QUOTE, _COMMA, _SPACE, _OPEN, _ZERO, _NINE = (ord(sign) for sign in '", [09')
_TAB, _LINE_FEED, _RETURN = (ord(sign) for sign in "\t\n\r")


def lines(block: bytes) -> ByteSlices:
    """Find the lines of a text, blank ones too, without what ends them."""
    content = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(content == ord("\n"))
    starts = np.concatenate([[0], ends + 1])
    found = ByteSlices(content, starts, np.append(ends, len(content)))
    if starts[-1] == len(content):  # after the last end of a line there is no line
        found = found[:-1]
    return ByteSlices(content, found.starts, found.stops - (found.last() == ord("\r")))


def fields(lines: ByteSlices, n_fields: int) -> tuple[list[ByteSlices], Flags]:
    """Split lines at commas that are not in quotes; also tell which lines have just so many fields.

    The line 1,"a,b" has the fields 1 and a,b. A quote elsewhere than around a field, or one without its
    partner, is wrong. Fields of wrong lines are empty.
    """
    starts = np.zeros((n_fields, len(lines)), np.int64)
    stops = np.zeros((n_fields, len(lines)), np.int64)
    right = np.zeros(len(lines), np.bool_)
    _split(lines.text, lines.starts, lines.stops, starts, stops, right)
    stops[:, ~right] = starts[:, ~right]
    return [ByteSlices(lines.text, *bounds) for bounds in zip(starts, stops, strict=True)], right


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
        once = [value.replace(b'""', b'"') for value in texts.filter(pa.array(which)).to_pylist()]
        return pc.replace_with_mask(texts, pa.array(which), pa.array(once, texts.type))

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
    starts = np.empty((len(wanted), n_lines), np.int64)
    stops = np.empty((len(wanted), n_lines), np.int64)
    doubled = np.zeros((len(wanted), n_lines), np.bool_)
    fates = np.empty(n_lines, np.uint8)
    ends_field = np.isin(np.arange(256), [delimiter, _LINE_FEED, _RETURN])
    n_rows = _split_table(
        content, delimiter, ends_field, b"\r" in block, slots, (starts, stops), doubled, fates
    )
    columns = [
        ByteSlices(content, *bounds) for bounds in zip(starts[:, :n_rows], stops[:, :n_rows], strict=True)
    ]
    return Records(columns, list(doubled[:, :n_rows]), fates)


def pairs(lists: ByteSlices, *, bracketed: bool) -> tuple[ByteSlices, ByteSlices, Integers]:
    """Find the pairs of lists: where x and y are, and how many pairs each list has.

    A list is 1,2;3,4; or, bracketed, [1,2],[3,4]. What should be a pair and is none has an empty x and y.
    """
    separator = ord("]") if bracketed else ord(";")
    counts = np.empty(len(lists), np.int64)
    _count_pairs(lists.text, lists.starts, lists.stops, separator, counts)
    bounds = np.zeros((4, counts.sum()), np.int64)
    _find_pairs(lists.text, lists.starts, lists.stops, separator, bracketed, bounds)
    x, y = (ByteSlices(lists.text, bounds[i], bounds[i + 1]) for i in (0, 2))
    return x, y, counts


def digits(pieces: ByteSlices, form: str) -> tuple[Integers, Flags]:
    """Read the whole numbers in pieces of one form; also tell which pieces have it.

    The piece 02:09:59 in the form 00:00:00 gives a column 2, 9, 59.
    """
    signs = np.frombuffer(form.encode(), np.uint8)
    numbers = np.zeros((1 + np.sum(signs != _ZERO), len(pieces)), np.int64)
    right = np.zeros(len(pieces), np.bool_)
    _read_form(pieces.text, pieces.starts, pieces.stops, signs, numbers, right)
    return numbers, right


@compiled
def _read_form(text, starts, stops, signs, numbers, right):  # type: ignore[no-untyped-def]
    for i in range(len(starts)):
        if stops[i] - starts[i] != len(signs):
            continue
        right[i] = True
        group = 0
        for j in range(len(signs)):
            sign = text[starts[i] + j]
            if signs[j] != _ZERO:
                right[i] &= sign == signs[j]
                group += 1
            elif _ZERO <= sign <= _NINE:
                numbers[group, i] = 10 * numbers[group, i] + (sign - _ZERO)
            else:
                right[i] = False


@compiled
def _split_table(text, delimiter, ends_field, has_returns, slots, bounds, doubled, fates):  # type: ignore[no-untyped-def]
    """Find the fields of each line; returns how many lines are rows, whose fields stand first."""
    n_fields, end, (starts, stops) = len(slots), len(text), bounds
    at = n_rows = line = 0
    while at < end:
        first = at
        n_found = 0
        fate = RIGHT
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
                if at == end or text[at] == _LINE_FEED:
                    fate = UNMATCHED
                    break
                at += 1
                if at < end and not ends_field[text[at]]:
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
            fate = TOO_MANY if n_found > n_fields else TOO_FEW
            if _is_blank(text, first, at):
                fate = NOTHING
        while at < end and text[at] != _LINE_FEED:  # what is left of a line that is wrong, or its return
            at += 1
        if has_returns and _is_broken(text, first, at):
            fate = BROKEN
        at += 1
        fates[line] = fate
        line += 1
        n_rows += fate == RIGHT
    return n_rows


@compiled
def _is_blank(text, at, stop):  # type: ignore[no-untyped-def]
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


@compiled
def _split(text, starts, stops, field_starts, field_stops, right):  # type: ignore[no-untyped-def]
    n_fields = len(field_starts)
    for line in range(len(starts)):
        at, stop = starts[line], stops[line]
        n_found = 0
        while True:
            start, end, after = _field(text, at, stop)
            if after < 0:
                n_found = -1
                break
            if n_found < n_fields:
                field_starts[n_found, line] = start
                field_stops[n_found, line] = end
            n_found += 1
            if after == stop:
                break
            at = after + 1
        right[line] = n_found == n_fields


@compiled
def _field(text, at, stop):  # type: ignore[no-untyped-def]
    """Find the start and the end of a field and the comma after it; -1 where quotes do not match."""
    if at == stop or text[at] != _QUOTE:
        end = at
        while end < stop and text[end] != _COMMA:
            if text[end] == _QUOTE:
                return at, at, -1
            end += 1
        return at, end, end
    end = at + 1
    while end < stop:
        if text[end] == _QUOTE:
            if end + 1 == stop or text[end + 1] == _COMMA:
                return at + 1, end, end + 1
            if text[end + 1] != _QUOTE:
                return at, at, -1
            end += 1
        end += 1
    return at, at, -1


@compiled
def _count_pairs(text, starts, stops, separator, counts):  # type: ignore[no-untyped-def]
    for i in range(len(starts)):
        counts[i] = 0
        at = starts[i]
        while _trimmed(text, at, stops[i]) < stops[i]:
            at = _find(text, at, stops[i], separator) + 1
            counts[i] += 1


@compiled
def _find_pairs(text, starts, stops, separator, bracketed, bounds):  # type: ignore[no-untyped-def]
    n_found = 0
    for i in range(len(starts)):
        at = starts[i]
        while _trimmed(text, at, stops[i]) < stops[i]:
            end = _find(text, at, stops[i], separator)
            x = _inner(text, at, end, at > starts[i]) if bracketed else at
            comma = _find(text, x, end, _COMMA)
            if comma < end and (end < stops[i] or not bracketed):
                bounds[:, n_found] = x, comma, comma + 1, end
            n_found += 1
            at = end + 1


@compiled
def _inner(text, at, end, goes_on):  # type: ignore[no-untyped-def]
    """Find the x of a pair after its bracket, which follows a comma unless it is the first; or the end."""
    at = _trimmed(text, at, end)
    if goes_on:
        if at == end or text[at] != _COMMA:
            return end
        at = _trimmed(text, at + 1, end)
    if at == end or text[at] != _OPEN:
        return end
    return at + 1


@compiled
def _find(text, at, stop, sign):  # type: ignore[no-untyped-def]
    while at < stop and text[at] != sign:
        at += 1
    return at


@compiled
def _trimmed(text, at, stop):  # type: ignore[no-untyped-def]
    while at < stop and text[at] == _SPACE:
        at += 1
    return at
