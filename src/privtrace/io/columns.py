"""Find out what the columns of a file mean, from their names and types alone: both are public."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from privtrace.errors import DataError, SettingsError
from privtrace.trajectories import Crs

#: The names of the two coordinates, by what they mean.
PAIRS: dict[Crs, tuple[str, str]] = {"lonlat": ("lon", "lat"), "planar": ("x", "y")}
TRAJECTORY = "traj_id"
USER = "user_id"
TIME = "t"

#: Names listed in a message, at most; a table of a thousand columns would drown the cure.
_NAMES_SHOWN = 20


@dataclass(frozen=True)
class Layout:
    """Say which column of a file plays which role."""

    trajectory: str
    x: str
    y: str
    crs: Crs
    user: str | None
    time: str | None

    @property
    def names(self) -> list[str]:
        """List the columns to read."""
        roles = (self.trajectory, self.user, self.x, self.y, self.time)
        return [name for name in roles if name is not None]


def resolve(path: Path, names: Sequence[str], crs: Crs | None) -> Layout:
    """Give every role its column; `crs`, where declared, overrides what the names say."""
    if crs is not None and crs not in PAIRS:
        raise SettingsError(f"crs must be 'lonlat' or 'planar', not {crs!r}")
    if TRAJECTORY not in names:
        raise _missing(
            path, f"no column {TRAJECTORY!r}", names, f"name the trajectories' column {TRAJECTORY!r}"
        )
    meaning, (x, y) = _pair(path, names, crs)
    user, time = (name if name in names else None for name in (USER, TIME))
    layout = Layout(TRAJECTORY, x, y, meaning, user, time)
    for name in layout.names:
        if names.count(name) > 1:
            raise DataError(f"{path}: there are {names.count(name)} columns {name!r}; keep one of them")
    return layout


def _pair(path: Path, names: Sequence[str], crs: Crs | None) -> tuple[Crs, tuple[str, str]]:
    """Choose the two columns of coordinates and what they mean."""
    present: list[Crs] = [meaning for meaning, pair in PAIRS.items() if set(pair) <= set(names)]
    if not present:
        begun = [pair for pair in PAIRS.values() if set(pair) & set(names)]
        wanted = " and ".join(repr(name) for pair in begun for name in pair if name not in names)
        what = f"no column {wanted}" if wanted else "no columns for the coordinates"
        raise _missing(path, what, names, "name them 'lon' and 'lat' (degrees) or 'x' and 'y' (planar)")
    if len(present) == 1:
        return crs or present[0], PAIRS[present[0]]
    if crs is None:
        raise DataError(
            f"{path}: columns 'lon', 'lat' and 'x', 'y' are both there; "
            "pass --crs lonlat or --crs planar (crs='lonlat' or 'planar') to choose"
        )
    return crs, PAIRS[crs]


def _missing(path: Path, what: str, names: Sequence[str], cure: str) -> DataError:
    """Say what is missing and what was found, unless what was found is a row and not a header."""
    if any(_looks_like_data(name) for name in names):
        return DataError(
            f"{path}: {what}; what stands in their place does not look like names: add a header row"
        )
    shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
    return DataError(f"{path}: {what}; found {shown or 'no columns'}; {cure}")


def _looks_like_data(name: str) -> bool:
    """Tell a value from a name, so that a table without header is never quoted."""
    words = re.split(r"[;|\s]+", name)
    numbers = (re.fullmatch(r"[+-]?[\d.][\d.,:eE+\-TZ]*", word) for word in words)
    return len(name) > 64 or not name.isprintable() or any(numbers)


def check_types(path: Path, layout: Layout, schema: pa.Schema) -> None:
    """Refuse columns whose declared type cannot play their role."""
    wanted: list[tuple[str | None, Callable[[pa.DataType], bool], str]] = [
        (layout.trajectory, _is_id, "integers or text"),
        (layout.user, _is_id, "integers or text"),
        (layout.x, _is_number, "numbers"),
        (layout.y, _is_number, "numbers"),
        (layout.time, _is_time, "numbers or timestamps"),
    ]
    for name, fits, words in wanted:
        if name is not None and not fits(_plain(schema.field(name).type)):
            kind = schema.field(name).type
            raise DataError(f"{path}: column {name!r} holds {kind}; convert it to {words}")


def _plain(kind: pa.DataType) -> pa.DataType:
    """Look through a dictionary to the type of its values."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_number(kind: pa.DataType) -> bool:
    # A column without a single value is declared as null by some writers.
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return bool(number or pa.types.is_null(kind))


def _is_time(kind: pa.DataType) -> bool:
    return _is_number(kind) or bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _is_id(kind: pa.DataType) -> bool:
    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
    return any(is_kind(kind) for is_kind in plain) or is_text(kind)


def is_text(kind: pa.DataType) -> bool:
    """Tell whether values are runs of bytes, valid text or not."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )
