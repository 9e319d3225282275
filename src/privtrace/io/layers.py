"""Read features whose schema says once which attribute is what, and of which type."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from privtrace.io import rows
from privtrace.io.columns import Declared, attributes, check_attributes, named_zone, tells_time
from privtrace.io.features import FeatureLayout, FeatureReader, Features, times_of
from privtrace.io.geometries import Geometries
from privtrace.trajectories import Crs


class LayerReader(FeatureReader):
    """Read features with a schema; a format says how it gets at its columns and geometries."""

    time_type: pa.DataType | None  # of the column of times, as the schema declares it

    def understand(
        self, path: Path, schema: pa.Schema, declared: Declared, crs: Crs, *, points_only: bool
    ) -> None:
        """Find out what the columns mean, from their names and types."""
        trajectory, user, time = attributes(path, schema.names, declared, points_only=points_only)
        clock = declared.clock(time)
        check_attributes(path, schema, trajectory, user, time, clock, declared)
        self.layout = FeatureLayout(trajectory, user, time, crs, clock)
        self.has_places = trajectory is None
        self.time_type = None if time is None else schema.field(time).type

    @property
    def has_clock(self) -> bool:
        """Say whether the column of times has a type that can be a clock."""
        return self.time_type is not None and tells_time(self.time_type, self.layout.clock)

    @property
    def named_zone(self) -> str | None:
        """Name the time zone in the type of the column of times."""
        return None if self.time_type is None else named_zone(self.time_type)

    def of_columns(self, geometries: Geometries, columns: Mapping[str, pa.Array]) -> Features:
        """Put geometries and the columns beside them together."""
        layout = self.layout
        return Features(
            geometries=geometries,
            trajectory=rows.ids(columns[layout.trajectory]) if layout.trajectory else None,
            user=rows.ids(columns[layout.user]) if layout.user else None,
            times=times_of(layout.clock, columns[layout.time]) if layout.time else None,
        )
