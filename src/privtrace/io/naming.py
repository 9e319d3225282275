"""Lay trajectories out as a long table whose columns are called as another program wants them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from privtrace.errors import SettingsError
from privtrace.io import printing
from privtrace.io.columns import CALENDAR, PAIRS, TIME, TRAJECTORY, USER
from privtrace.io.dates import UTC
from privtrace.io.long_table import laid_out, long_table, long_tables
from privtrace.trajectories import Trajectories

#: Our names of columns and those of other programs, by program; times are local calendar times in all of them.
NAMES = {
    "scikit-mobility": {
        USER: "uid",
        TRAJECTORY: "tid",
        TIME: CALENDAR,
        PAIRS["lonlat"][1]: "lat",
        PAIRS["lonlat"][0]: "lng",
    }
}


def named_tables(parts: Iterable[Trajectories], names: str | None) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Lay parts out with our own names, or with those of a program in `NAMES`."""
    if names is None:
        return long_tables(parts)
    if names not in NAMES:
        raise SettingsError(f"--names (names) must be one of {', '.join(NAMES)}, not {names!r}")
    theirs = NAMES[names]

    def table(part: Trajectories, first_id: int) -> pa.Table:
        printing.lonlat_only(part, f"a table for {names}")
        if part.times is not None:
            shown = printing.wall_times(printing.calendar(part.times), part.zone)
            part = replace(part, times=shown, zone=UTC)
        ours = _without_zone(long_table(part, first_id))
        present = [name for name in theirs if name in ours.column_names]
        return ours.select(present).rename_columns([theirs[name] for name in present])

    return laid_out(parts, table)


def _without_zone(table: pa.Table) -> pa.Table:
    """Leave the zone out of the type of times: they are what clocks on the wall show."""
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            plain = table[field.name].combine_chunks().view(pa.timestamp(field.type.unit))
            table = table.set_column(number, field.name, plain)
    return table
