"""Convert files of trajectories, and tell what is wrong with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privtrace.cli.options import (
    AsJson,
    ConvertOptions,
    FormatName,
    InputOptions,
    InputPath,
    ThreadCount,
)
from privtrace.cli.screen import Screen, counted, screen_for, tell_dropped, tell_lost
from privtrace.cli.taking import takes

if TYPE_CHECKING:
    from privtrace.io import FileSource
    from privtrace.io.check import Remarks
    from privtrace.space.region import Region
    from privtrace.trajectories import Trajectories


#: Faults that `check` lists for each reason, unless asked for all.
SHOWN = 20


@takes(ConvertOptions)
def convert(
    trips: InputPath,
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="Where to write; the file extension sets the format.")
    ],
    options: ConvertOptions,
    to: Annotated[
        FormatName | None, typer.Option(help="The output format, if the file extension does not tell.")
    ] = None,
    sort: Annotated[bool, typer.Option("--sort", help="Sort trips by user and id.")] = False,
) -> None:
    """Convert trajectories from one format to another.

    Users, times and ids are kept if the format can hold them. Converting makes nothing private: the output is
    as private as the input.

    \b
    Formats:
      parquet     .parquet .pq     a table with one row per point
      csv         .csv             the same as text, with any common delimiter; also .txt
      tsv         .tsv .tab        the same with tabs
      geoparquet  .geoparquet      the same with geometries; --to geoparquet-lines: one row per trip
      gpkg        .gpkg            GeoPackage, one row per trip; needs privtrace[geo]
      geojson     .geojson         one feature per trip; points can be read too
      shp, fgb    .shp, .fgb       Shapefile (points), FlatGeobuf (lines); need the same package
      kml         .kml             one placemark per trip; needs the same package
      mfjson      .mfjson          OGC Moving Features; needs times
      gpx         .gpx             one track per trip
      dat         .dat             the text format of AdaTrace and PrivTrace: #0: and >0:x,y;x,y;
      porto       --to porto       the taxi trips of the ECML-PKDD 2015 competition, with POLYLINE
      geolife     --to geolife     a folder of Geolife's PLT files; --gap cuts logs into trips
    Text files may be compressed (.csv.gz), and a table may be a folder of files. Times are ISO 8601; for
    others use --time-format or --time-unit, and --timezone for local times.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace convert demo/trips.parquet trips.csv.gz --timezone Europe/Berlin
      privtrace convert trips.csv.gz sorted.parquet --sort
      privtrace convert demo/trips.parquet trips.gpkg --timezone Europe/Berlin
      privtrace convert trips.gpkg trips.geojson
      privtrace convert trips.geojson skmob.csv --names scikit-mobility --timezone Europe/Berlin
      privtrace convert demo/trips.parquet plt --to geolife
      privtrace convert plt trips.dat --gap 30
      privtrace convert skmob.csv cut.parquet --gap 30 --timezone Europe/Berlin \\
          --time-format '%Y-%m-%d %H:%M:%S.%f'
    """
    from privtrace.io import check_output
    from privtrace.io.sorting import by_user_and_id

    screen = screen_for(output, options.quiet, options.as_json)
    format = check_output(output, options.force, to, options.names, options.output_crs)
    written: Counter[str] = Counter()
    lost: set[str] = set()
    with options.source(trips) as source:
        tell_dropped(source, screen)
        with screen.stage(f"Writing {format.name}", source.n_points) as advance:

            def parts() -> Iterator[Trajectories]:
                for part in by_user_and_id(source) if sort else source.parts():
                    written.update(trajectories=len(part), points=part.n_points)
                    lost.update(format.lost(part))
                    yield part
                    advance(part.n_points)

            format.write(parts())
    tell_lost(lost, format.target, screen)
    screen.data(
        {"not_private": True, "output": str(output), "format": format.name, **written, "lost": sorted(lost)}
    )
    screen.say(
        f"NOT PRIVATE unless the input is: {counted(written['trajectories'], 'trajectory')} with "
        f"{counted(written['points'], 'point')} in all written to {format.target} ({format.name})"
    )


@takes(InputOptions)
def check(
    trips: InputPath,
    options: InputOptions,
    region: Annotated[
        str | None, typer.Option(metavar="W,S,E,N|FILE", help="Also report how much lies in this region.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help=f"List every fault, not only the first {SHOWN} for each reason.")
    ] = False,
    threads: ThreadCount = None,
    as_json: AsJson = False,
) -> None:
    """Check a file of trips and list what is wrong with it. NOT PRIVATE.

    Prints one line per fault (file, line and reason, never a value), then the totals.

    If a format has no lines, the number is the row. Exits with 1 if anything was dropped, with 0 if everything
    is usable. The numbers are exact, so they are for the curator only.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace check demo/trips.parquet
      privtrace check demo/trips.parquet --region demo/region.geojson --json
    """
    from privtrace.io.check import remarks
    from privtrace.space.region import Region

    screen = Screen(as_json=as_json, candid=True)
    with options.source(trips) as source:
        area = None if region is None else Region.parse(region).for_data(source.crs)
        screen.say(f"NOT PRIVATE: exact numbers about {source.path}, for the curator only", style="bold")
        listed: list[dict[str, Any]] = []
        reasons: Counter[str] = Counter()
        for fault in source.faults():
            reasons[fault.reason] += 1
            if not everything and reasons[fault.reason] > SHOWN:
                continue
            screen.say(str(fault))
            if as_json:
                listed.append({"file": str(fault.path), "line": fault.line, "reason": fault.reason})
        for reason, count in reasons.items():
            if not everything and count > SHOWN:
                screen.say(f"... and {counted(count - SHOWN, 'more row')}: {reason} (--all lists them)")
        found = remarks(source)
        source.tell(screen)
        if area is not None:
            _tell_region(source, area, screen)
    screen.data({"not_private": True, "faults": listed, "reasons": dict(reasons), **asdict(found)})
    _show(found, reasons, screen)
    raise typer.Exit(1 if reasons else 0)


def _tell_region(source: FileSource, region: Region, screen: Screen) -> None:
    """Tell how much of a source lies in a region, and whether its axes look swapped."""
    from privtrace.backends.local import Threads
    from privtrace.backends.passes import Passes
    from privtrace.space.area import added
    from privtrace.space.inside import tell_inside

    passes = Passes(source, Threads(), screen)
    tell_inside(added(passes.map(region.tally, "Counting trips in the region")), screen)


def _show(found: Remarks, reasons: Counter[str], screen: Screen) -> None:
    """Show the numbers of a source, what was dropped, and what is odd but usable."""
    numbers = [counted(found.n_rows, "row"), counted(found.n_trajectories, "trajectory")]
    numbers += [] if found.n_users is None else [counted(found.n_users, "user")]
    screen.say(", ".join([*numbers, counted(found.n_points, "usable point")]))
    for reason, count in reasons.most_common():
        screen.say(f"  {count:>12,}  {reason}")
    if found.n_rows == 0:
        screen.say("  there are no rows; check that the file is complete")
    elif not reasons:
        screen.say("  all rows are usable")
    for count, words in _odd(found):
        if count:
            screen.say(f"  {count:>12,}  {words}")
    if found.n_swapped:
        screen.warn(
            f"{counted(found.n_swapped, 'point')} can only be on Earth if longitude and latitude are "
            "swapped. If they are, swap the column names: --columns lon=NAME,lat=NAME"
        )


def _odd(found: Remarks) -> list[tuple[int, str]]:
    return [
        (found.n_scattered, "trips with scattered rows: the rows are joined"),
        (found.n_out_of_order, "trips with times out of order: the points are sorted"),
        (found.n_single, "trips with a single point: they count"),
        (found.n_repeated, "points at the same place as the previous point: they are kept"),
    ]
