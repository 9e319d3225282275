"""Bring columns of pandas into arrow's types.

What pandas knows as numbers or timestamps stays that. A column of Python objects or of text is read as that of
a CSV file would be, each value on its own: ids are text, and what is no number or time where one should be is
missing. One odd value makes pandas hold a whole column as objects, so their type can be no reason to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.errors import DataError
from privtrace.io import text
from privtrace.io.columns import Layout, is_text
from privtrace.trajectories import Integers

Parse = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True)
class Columns:
    """Hold the columns of a frame, those of its index that have names among them."""

    place: str  # what the frame is called in messages
    names: list[str]
    values: list[Any]  # a `pandas.Series` each

    @classmethod
    def of(cls, place: str, frame: Any) -> Columns:
        """List the columns of a frame by names, which may be there twice."""
        levels = [level for level, name in enumerate(frame.index.names) if name is not None]
        names = [*(frame.index.names[level] for level in levels), *frame.columns]
        values = [frame.index.get_level_values(level).to_series() for level in levels]
        values += [frame.iloc[:, at] for at in range(frame.shape[1])]
        return cls(place, [str(name) for name in names], values)

    def arrow(self, name: str, layout: Layout) -> pa.Array:
        """Give a column as arrow holds it."""
        values = self._named(name)
        return self._converted(name, lambda: typed(values, _parse(name, layout)))

    def arrow_at(self, name: str, layout: Layout, lengths: Integers) -> pa.Array:
        """Give a column with each value repeated for the points of its row, lists laid out over them."""
        values = self._named(name)
        return self._converted(name, lambda: _laid_out(values, _parse(name, layout), lengths))

    def _named(self, name: str) -> Any:
        return self.values[self.names.index(name)]

    def _converted(self, name: str, convert: Callable[[], pa.Array]) -> pa.Array:
        try:
            return convert()
        except (pa.ArrowException, TypeError):  # a type that arrow does not know, whatever the values
            raise unknown_type(self.place, name, self._named(name).dtype) from None


def unknown_type(place: str, name: str, kind: object) -> DataError:
    """Refuse a column of a type that says nothing here."""
    return DataError(
        f"{place}: column {name!r} holds {kind}; convert it to integers, numbers, text or timestamps"
    )


def typed(values: Any, parse: Parse) -> pa.Array:
    """Bring values of pandas into one of arrow's types; what is text or objects is parsed."""
    if values.dtype.name == "category":
        codes = values.cat.codes.to_numpy()
        categories = typed(values.cat.categories.to_series(), parse)
        return categories.take(pa.array(codes, mask=codes < 0))
    if values.dtype == object or getattr(values.dtype, "storage", "") == "python":
        return parse(_as_text(values))
    array = pa.array(values)
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return parse(array.cast(pa.large_binary())) if is_text(array.type) else array


def _parse(name: str, layout: Layout) -> Parse:
    """Say how text is read, by the role of its column."""
    if name in (layout.x, layout.y):
        return text.numbers
    return lambda same: same  # ids are text, and times are read later, by the clock


def _as_text(values: Any) -> pa.Array:
    """Write objects as text, missing ones as null; they are Python's, so one by one is the only way."""
    missing = values.isna().to_numpy()
    written = [
        # Text may hold halves of characters, which Python keeps and UTF-8 does not know.
        value if isinstance(value, bytes) else str(value).encode(errors="surrogatepass")
        for value in values[~missing]
    ]
    filled = np.full(len(missing), None, object)
    filled[~missing] = np.array([*written, None], object)[:-1]
    return pa.array(filled, pa.large_binary())


def _laid_out(values: Any, parse: Parse, lengths: Integers) -> pa.Array:
    """Give every point of a row its value: the one of the row, or its own of a list that has as many."""
    flat, counts = _flat(values, parse)
    starts, firsts = np.cumsum(counts) - counts, np.cumsum(lengths) - lengths
    own = np.repeat(counts == lengths, lengths)
    within = np.arange(lengths.sum()) - np.repeat(firsts, lengths)
    positions = np.repeat(starts, lengths) + np.where(own, within, 0)
    return flat.take(pa.array(positions, mask=~own & np.repeat(counts != 1, lengths)))


def _flat(values: Any, parse: Parse) -> tuple[pa.Array, Integers]:
    """Put the values of all rows end to end, and count those of each."""
    if values.dtype == object:
        rows = [_listed(value) for value in values.tolist()]
        counts = np.array([len(row) for row in rows], np.int64)
        # Pandas' own way would look what all values are.
        flat = np.fromiter(chain.from_iterable(rows), object, counts.sum())
        return parse(_as_text(type(values)(flat, dtype=object))), counts
    array = typed(values, parse)
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        counts = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
        return array.flatten(), counts.astype(np.int64)
    return array, np.ones(len(array), np.int64)


def _listed(value: Any) -> Sequence[Any]:
    """List the values of a row; one that is no list, or an empty one, is one."""
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "M":  # at once, not one by one
        texts = np.datetime_as_string(value).astype(object)
        texts[np.isnat(value)] = None
        return list(texts) or [None]
    is_list = isinstance(value, list | tuple | set | frozenset) or (
        isinstance(value, np.ndarray) and value.ndim
    )
    return (list(value) or [None]) if is_list else [value]
