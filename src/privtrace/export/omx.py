"""Write matrices of trips between zones as Open Matrix (OMX 0.2): HDF5, which demand models read.

The group `data` has a matrix per name, a row per origin; the group `lookup` has the names of the zones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from privtrace.io.extras import require

#: Numbers of a chunk, which is packed by itself: a megabyte.
_CHUNK_NUMBERS = 1 << 17

#: Bytes by which the file grows in memory.
_GROWTH_BYTES = 1 << 22


def write_omx(
    sink: BinaryIO,
    matrices: Mapping[str, npt.NDArray[np.float64]],
    zones: Sequence[str],
    about: Mapping[str, str],
) -> None:
    """Write matrices over the same zones, with the words about them as attributes."""
    h5py = require("h5py", "OMX", "zones")
    # In memory, as the sink may be a pipe; of versions that old readers know.
    driver = {"driver": "core", "backing_store": False, "block_size": _GROWTH_BYTES}
    with h5py.File("matrices.omx", "w", libver=("earliest", "v108"), **driver) as file:
        file.attrs["OMX_VERSION"] = np.bytes_("0.2")
        file.attrs["SHAPE"] = np.full(2, len(zones), np.int32)
        for name, text in about.items():
            file.attrs[name] = _text(h5py, [text])[0]
        _write_data(file.create_group("data"), matrices, len(zones))
        _write_lookup(h5py, file.create_group("lookup"), zones)
        file.flush()
        sink.write(file.id.get_file_image())


def _write_data(group: Any, matrices: Mapping[str, npt.NDArray[np.float64]], n: int) -> None:
    """Write matrices in chunks of whole rows, packed so that every reader can unpack them; without dates."""
    chunks = (min(max(1, _CHUNK_NUMBERS // max(n, 1)), n), n)
    for name, matrix in matrices.items():
        options = {"compression": "gzip", "compression_opts": 4, "shuffle": True, "track_times": False}
        group.create_dataset(name, data=matrix, chunks=chunks, **options)


def _write_lookup(h5py: Any, group: Any, zones: Sequence[str]) -> None:
    """Write the names of zones, and their numbers where all names are different numbers."""
    group.create_dataset("zone", data=_text(h5py, zones), track_times=False)
    if not all(re.fullmatch(r"-?[0-9]{1,10}", zone) for zone in zones):
        return
    numbers = np.array([int(zone) for zone in zones], np.int64)
    fits = np.array_equal(numbers, numbers.astype(np.int32))
    if fits and len(np.unique(numbers)) == len(numbers):
        group.create_dataset("zone_number", data=numbers.astype(np.int32), track_times=False)


def _text(h5py: Any, texts: Sequence[str]) -> npt.NDArray[np.bytes_]:
    """Encode text at a fixed length: of HDF5's two kinds of text all readers know this one."""
    encoded = [text.encode() for text in texts]
    longest = max([1, *map(len, encoded)])
    return np.array(encoded, h5py.string_dtype("utf-8", longest))
