"""Small good files of the formats that are not tables, and a plain look at what a reader makes of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from privtrace.io import FORMATS
from privtrace.io.beginning import Beginning
from privtrace.io.columns import Declared
from privtrace.io.files import FileVersion, Snapshot, files_in
from privtrace.io.source import Reader, Sizes
from privtrace.rows import join
from privtrace.rows.faults import Faults

#: What a file of each format may be called.
FILE_NAMES = {
    "parquet": "a.parquet",
    "csv": "a.csv",
    "tsv": "a.tsv.gz",
    "dat": "a.dat",
    "porto": "porto.csv",
    "geolife": "plt",
    "geoparquet": "a.geoparquet",
    "geoparquet-lines": "lines.parquet",
    "gpkg": "a.gpkg",
    "shp": "a.shp",
    "fgb": "a.fgb",
    "kml": "a.kml",
    "geojson": "a.geojson",
    "mfjson": "a.mfjson.gz",
    "gpx": "a.gpx",
}

DAT = """\
#0:
>0:11026.0,4693.0;11096.0,4669.2;11183.0,-4620.9;
#1:
>0:6024.0,17849.0;6183.1,17902.1;
"""

PORTO = """\
"TRIP_ID","CALL_TYPE","ORIGIN_CALL","ORIGIN_STAND","TAXI_ID","TIMESTAMP","DAY_TYPE","MISSING_DATA","POLYLINE"
"100","C","","","20","1372636858","A","False","[[-8.618643,41.141412],[-8.618499,41.141376]]"
"101","B","","7","21","1372637303","A","False","[[-8.639847,41.159826]]"
"102","A","23","","20","1372637400","A","False","[]"
"""

PLT_HEADER = """\
Geolife trajectory
WGS 84
Altitude is in Feet
Reserved 3
0,2,255,My Track,0,0,2,8421376
0
"""

PLT = {
    "Data/000/Trajectory/20081024020959.plt": """\
40.008304,116.319876,0,492,39745.0902662037,2008-10-24,02:09:59
40.008413,116.319962,0,491,39745.0903240741,2008-10-24,02:10:04
""",
    "Data/010/Trajectory/20080917101511.plt": """\
39.9,116.4,0,-777,39708.4271990741,2008-09-17,10:15:11
""",
}


def dat(folder: Path) -> Path:
    """Write two trajectories."""
    path = folder / "sample.dat"
    path.write_text(DAT)
    return path


def porto(folder: Path) -> Path:
    """Write three trips, one of them without points."""
    path = folder / "sample.csv"
    path.write_text(PORTO)
    return path


def geolife(folder: Path) -> Path:
    """Write a folder with two files of two users."""
    for name, lines in PLT.items():
        file = folder / "sample" / name
        file.parent.mkdir(parents=True)
        file.write_bytes((PLT_HEADER + lines).replace("\n", "\r\n").encode())
    return folder / "sample"


#: Makers of samples, by format.
SAMPLES = {"dat": dat, "porto": porto, "geolife": geolife}


def open_reader(name: str, path: Path, crs: Any = None) -> Reader:
    """Open a path as the format of this name."""
    files = files_in(path, (".plt",), (".",)) if name == "geolife" and path.is_dir() else [path]
    snapshot = Snapshot(path, tuple(FileVersion.at(file) for file in files))
    with Beginning(snapshot) as beginning:
        return FORMATS[name].read(beginning, Declared(crs=crs))


def rows_of(
    reader: Reader, block_bytes: int = 1 << 20
) -> tuple[list[dict[str, Any]], list[tuple[str, int, str]]]:
    """Read all rows as dictionaries, and all faults as (file, line, reason)."""
    faults = Faults(locating=True)
    rows = join(list(reader.batches(Sizes(block_bytes=block_bytes), faults=faults))).to_pylist()
    return rows, [(fault.path.name, fault.line, fault.reason) for fault in faults.take()]
