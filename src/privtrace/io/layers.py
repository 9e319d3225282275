"""Read features whose schema says once which attribute is what, and of which type."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from privtrace.io import rows
from privtrace.io.columns import Declared, attributes, check_types
from privtrace.io.features import FeatureReader, Features, times_of
from privtrace.io.geometries import Geometries
from privtrace.trajectories import Crs


class LayerReader(FeatureReader):
    """Read features with a schema; a format says how it gets at its columns and geometries."""

    def understand(
        self, path: Path, schema: pa.Schema, declared: Declared, crs: Crs, *, points_only: bool
    ) -> None:
        """Find out what the columns mean, from their names and types."""
        layout = attributes(path, schema.names, declared, crs, points_only=points_only)
        self.lay_out(layout, check_types(path, layout, schema, declared))
        self.has_places = layout.trajectory is None

    def of_columns(self, geometries: Geometries, columns: Mapping[str, pa.Array]) -> Features:
        """Put geometries and the columns beside them together."""
        layout = self.layout
        return Features(
            geometries=geometries,
            trajectory=rows.ids(columns[layout.trajectory]) if layout.trajectory else None,
            user=rows.ids(columns[layout.user]) if layout.user else None,
            times=times_of(layout.clock, columns[layout.time]) if layout.time else None,
        )
