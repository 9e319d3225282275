"""Write what is laid out in each format: tables as text and workbooks, matrices, layers of maps, and demand."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from privtrace.errors import CappedWalks, OutputError
from privtrace.export import gpkg, omx, simulators, xlsx
from privtrace.export.columns import EXACT, FLOWS, Asked, slot_name, words
from privtrace.export.tables import Matrix, Rows, n_rows, product, products, trip_places, without_centers
from privtrace.methods.model import Model
from privtrace.methods.sampling import capped_walks, sample_parts
from privtrace.trajectories import Floats, Integers, Trajectories
from privtrace.zones import Zones

#: Zones of an Open Matrix file at most: a matrix of them takes 200 MB of memory, and is held whole.
MOST_OMX_ZONES = 5_000

#: Cells of all matrix sheets of a workbook at most: larger ones open slowly, and nobody reads them.
MOST_MATRIX_CELLS = 1_000_000


# --- tables ---


def write_csv(model: Model, asked: Asked, sink: BinaryIO) -> None:
    """Write a table; text has no place for words about it."""
    laid_out = product(model, asked)
    # Arrow would quote names of columns too; ours need none. All other text it quotes, since ids may need it.
    sink.write((",".join(laid_out.schema.names) + "\n").encode())
    options = pa.csv.WriteOptions(include_header=False, quoting_style="needed")
    with pa.csv.CSVWriter(sink, laid_out.schema, write_options=options) as writer:
        for rows in laid_out.rows:
            writer.write_table(rows.table)


def write_parquet(model: Model, asked: Asked, sink: BinaryIO) -> None:
    """Write a table, with the words about it in the footer."""
    laid_out = product(model, asked)
    with pq.ParquetWriter(sink, laid_out.schema, compression="zstd") as writer:
        for rows in laid_out.rows:
            writer.write_table(rows.table)


def check_xlsx(model: Model, asked: Asked) -> None:
    """Refuse a table that is longer than Excel allows, where that is known before the work."""
    n = n_rows(model, asked)
    if n is not None and n >= xlsx.MOST_ROWS:
        raise OutputError(
            f"the table of {asked.what} has {n:,} rows below its header, and Excel allows at most "
            f"{xlsx.MOST_ROWS - 1:,}; write .csv or .parquet instead"
        )


def write_xlsx(model: Model, asked: Asked, sink: BinaryIO) -> None:
    """Write a table as a sheet, trips also as a matrix where it fits, and the words about them."""
    laid_out = product(model, asked)
    about = {key.decode(): value.decode() for key, value in laid_out.schema.metadata.items()}
    tables, short = (rows.table for rows in laid_out.rows), frozenset(laid_out.schema.names) - EXACT
    sheets = [xlsx.Sheet(asked.what, laid_out.schema, tables, shown_short=short)]
    if laid_out.matrix is not None:
        fitting, why = _matrix_sheets(laid_out.matrix)
        sheets += fitting
        about["privtrace.matrix"] = why
    xlsx.write_workbook(sink, sheets, about)


def _matrix_sheets(matrix: Matrix) -> tuple[list[xlsx.Sheet], str]:
    """Lay trips out as matrices, a sheet per slot, or say why not."""
    n = len(matrix.names)
    if n + 1 > xlsx.MOST_COLUMNS or matrix.n_slots * n * n > MOST_MATRIX_CELLS:
        return [], (
            f"left out, since it would have {matrix.n_slots * n * n:,} cells, more than the limit of "
            f"{MOST_MATRIX_CELLS:,}; the table has all trips, or write .omx"
        )
    sheets = [
        xlsx.matrix_sheet(
            f"matrix {slot_name(matrix.by, slot)}".strip(), matrix.names, matrix.of_slot(slot)["trips"]
        )
        for slot in range(matrix.n_slots)
    ]
    return sheets, "trips, with a row per origin and a column per destination; their bounds are in the table"


# --- matrices ---


class _Matrices(Mapping[str, npt.NDArray[np.float64]]):
    """Lay matrices out one at a time, when they are written."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        slots = range(matrix.n_slots)
        self._places = {
            f"{name}{_suffix(matrix.by, slot)}": (name, slot)
            for slot in slots
            for name in ("trips", "low", "high")
        }

    def __getitem__(self, key: str) -> Floats:
        name, slot = self._places[key]
        return self._matrix.of_slot(slot)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _suffix(by: str | None, slot: int) -> str:
    """Name a slot so that names sort by time: _08_12h, _Monday."""
    name = slot_name(by, slot)
    if by in ("hour", "part"):
        first, last = (int(part) for part in name.removesuffix(" h").split(" to "))
        return f"_{first:02}_{last:02}h"
    return f"_{name}" if name else ""


def check_omx(model: Model, asked: Asked) -> None:
    """Refuse more zones than matrices can be held of."""
    n = trip_places(model, asked)
    if n > MOST_OMX_ZONES:
        raise OutputError(
            f"there are {n:,} zones, and a matrix of more than {MOST_OMX_ZONES:,} takes too much memory; write "
            ".csv or .parquet instead, which only list trips that occur"
        )


def write_omx(model: Model, asked: Asked, sink: BinaryIO) -> None:
    """Write trips and their bounds as matrices, slot by slot."""
    matrix = product(model, asked).matrix
    assert matrix is not None  # otherwise the format cannot hold it
    omx.write_omx(sink, _Matrices(matrix), matrix.names, words(model, asked))


# --- layers of maps ---


def write_gpkg(model: Model, asked: Asked, path: Path) -> None:
    """Write places as a layer of polygons; trips as one of lines, beside the places that they go between."""
    release = model.release
    if asked.what == "od":
        flows, places = products(model, asked, Asked("density", zones=asked.zones))
        view = model.view()
        among = {"zones", view.layers[view.zones].name}
        layers = [*_layers(flows.rows, lambda layer: "od")]
        layers += _layers((one for one in places.rows if one.layer in among), str)
    else:
        is_flow = asked.what in FLOWS
        name = (lambda layer: f"{asked.what} {layer}") if is_flow else str
        layers = [*_layers(product(model, asked).rows, name)]
    gpkg.write_layers(path, layers, words(model, asked), release.crs)


def _layers(found: Iterator[Rows], named: Callable[[str], str]) -> Iterator[gpkg.Layer]:
    """Put rows of the same layer of cells, or of zones, together; layers of a model lie over each other."""
    held: dict[str, list[Rows]] = {}
    for rows in found:
        held.setdefault(rows.layer, []).append(rows)
    for name, some in held.items():
        table = without_centers(pa.concat_tables([rows.table for rows in some]))
        drawn = [rows.shapes(np.arange(rows.table.num_rows)) for rows in some if rows.shapes is not None]
        yield gpkg.Layer(named(name), np.concatenate(drawn), table)


# --- demand ---


def check_demand(model: Model, asked: Asked) -> None:
    """Refuse coordinates that a simulator cannot use."""
    if asked.what == "matsim":
        simulators.check_matsim(model.release.crs if asked.crs is None else asked.crs)


def write_demand(model: Model, asked: Asked, sink: BinaryIO) -> None:
    """Write synthetic trips for a simulator, and warn of those that were cut short."""
    calendar, n_capped = model.release.times, 0
    assert calendar is not None  # otherwise it was refused
    begin = np.datetime64(calendar.days[0], "D")
    count = model.n_trajectories if asked.count is None else asked.count

    def parts() -> Iterator[Trajectories]:
        nonlocal n_capped
        for part, capped in sample_parts(model, count, asked.seed):
            n_capped += capped
            yield part

    if asked.what == "sumo":
        simulators.write_sumo(sink, parts(), begin, _named(asked.zones), words(model, asked), asked.crs)
    else:
        simulators.write_matsim(sink, parts(), begin, words(model, asked), crs=asked.crs)
    if n_capped:
        warnings.warn(capped_walks(n_capped), CappedWalks, stacklevel=2)


def _named(zones: Zones | None) -> simulators.NamedZones | None:
    """Look points up in zones; where zones overlap, the first of them counts."""
    if zones is None:
        return None

    def of_points(points: Floats) -> Integers:
        first = np.full(len(points), -1)
        found, numbers = zones.of_points(points)
        first[found[::-1]] = numbers[::-1]  # the last that is written is the first that was found
        return first

    return simulators.NamedZones(zones.names, of_points)
