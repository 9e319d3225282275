"""Read and write the text that AdaTrace and PrivTrace use, a trajectory in two lines:

    #7:
    >0:11026.0,4693.0;11096.0,4669.2;

It cannot hold users and times, and does not say whether points are planar. There is no header, and the
first line is a trajectory's as any other: what the file is, its name tells. A list belongs to the name right
above it, blank lines apart: one without a name adds to nobody's trajectory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace import rows
from privtrace.datasets.importing import Importer
from privtrace.datasets.pieces import first_bytes, last_bytes, lines_of, pairs
from privtrace.io import printing
from privtrace.io.streams import TOO_LONG, TRAJECTORY_BYTES, Block, blocks, opened
from privtrace.parsing.text import ByteSlices
from privtrace.rows.faults import Faults, Place
from privtrace.trajectories import Integers, Trajectories

_MARK = b"\xef\xbb\xbf"  # some editors start a text with it
_NO_ID = pa.nulls(1, pa.large_binary())


class DatReader(Importer):
    """Read trajectories of two lines each; points are planar unless declared otherwise."""

    defines_times = False
    has_users = False
    has_times = has_clock = False
    possible = ("planar", "lonlat")

    def _found(self, block_bytes: int, faults: Faults | None) -> Iterator[tuple[pa.RecordBatch, int]]:
        current = _NO_ID  # the name right above, if the line above is one
        for block in chain([Block(1, b"", 0, False)], self._blocks(block_bytes)):
            batch, n_found, current = self._parsed(block, current, faults)
            yield batch, n_found

    def _blocks(self, block_bytes: int) -> Iterator[Block]:
        path = self.snapshot.path
        # Packed or not by its name: the first bytes are somebody's id.
        with opened(path, packed=path.suffix.lower() == ".gz") as file:
            file.seek(len(_MARK) if file.read(len(_MARK)) == _MARK else 0)
            yield from blocks(file, block_bytes, line_bytes=TRAJECTORY_BYTES)

    def _parsed(
        self, block: Block, current: pa.Array, faults: Faults | None
    ) -> tuple[pa.RecordBatch, int, pa.Array]:
        """Turn lines into rows; also count points and wrong lines, and give the name that the next may have."""
        lines = lines_of(block.lines)
        filled = lines.lengths > 0
        named = (first_bytes(lines) == ord("#")) & (last_bytes(lines) == ord(":"))
        colons = _first(lines, ":")
        listed = (first_bytes(lines) == ord(">")) & (colons < lines.stops)
        wrong = filled & ~named & ~listed

        # The id of every line that is a name, and none of any other: a list has that of the line above it.
        turns = np.flatnonzero(filled)
        names = ByteSlices(lines.text, lines.starts + 1, np.where(named, lines.stops - 1, lines.starts + 1))
        ids = pa.concat_arrays([current, rows.ids(names[turns].texts())])
        lists = np.flatnonzero(listed)
        x, y, counts = pairs(ByteSlices(lines.text, colons[lists] + 1, lines.stops[lists]), bracketed=False)
        at = np.repeat(lists, counts)  # the line of each point
        batch = rows.rows(
            trajectory=ids.take(pa.array(np.repeat(np.searchsorted(turns, lists), counts))),
            user=None,
            x=pa.array(x.numbers()),
            y=pa.array(y.numbers()),
        )
        path = self.snapshot.path
        if faults is not None:
            place = Place.following(path, block.first_line - 1)
            faults.add("neither '#id:' nor '>0:x,y;x,y;'", np.flatnonzero(wrong), place)
            faults.add(TOO_LONG, block.left_out, place)
        place = Place(path, lambda row: block.first_line + at[row])
        n_found = len(at) + int(wrong.sum()) + block.last_too_long
        current = _NO_ID if block.last_too_long else ids[-1:]
        return rows.usable(batch, self.crs, faults, place), n_found, current


def _first(lines: ByteSlices, sign: str) -> Integers:
    """Find the first such sign from the start of each line on; the end of the text where there is none."""
    places = np.append(np.flatnonzero(lines.text == ord(sign)), len(lines.text))
    return places[np.searchsorted(places[:-1], lines.starts)]


def lost(part: Trajectories) -> list[str]:
    """Say in words what of a part this format cannot hold."""
    crs = ["longitude and latitude by name (read it with --crs lonlat)"] if part.crs == "lonlat" else []
    times = [] if part.times is None else ["times"]
    users = [] if part.users is None else ["users (they start the ids)"]
    return [*crs, *times, *users]


def write(parts: Iterable[Trajectories], file: BinaryIO) -> None:
    """Write two lines a trajectory; where there are users, an id is user/id, so that no two become one."""
    for part in printing.named(parts):
        x, y = (printing.shortest(part.points[:, axis], "nan") for axis in (0, 1))
        points = printing.joined(printing.chained(x, ",", y), part.offsets, ";")
        file.write(printing.content(printing.chained("#", _ids(part), ":\n>0:", points, ";\n")))


def _ids(part: Trajectories) -> pa.Array:
    assert part.ids is not None
    ids = printing.labels(part.ids).fill_null("")
    if part.users is None:
        return ids
    users = printing.labels(part.users).fill_null("")
    for sign, code in (("%", "%25"), ("/", "%2F")):
        users = pc.replace_substring(users, sign, code)
    return printing.chained(users, "/", ids)
