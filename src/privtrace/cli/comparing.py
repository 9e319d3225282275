"""Compare methods on one data set. NOT PRIVATE."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from privtrace.cli.options import (
    CompetingOptions,
    EvaluationSeed,
    Force,
    InputPath,
    PageTitle,
    ProfileName,
    ProfileOption,
    RegionText,
)
from privtrace.cli.screen import Screen, check_apart, tell_dropped
from privtrace.cli.taking import takes
from privtrace.errors import PrivTraceError


@takes(CompetingOptions)
def compare(
    trips: InputPath,
    options: CompetingOptions,
    *,
    region: RegionText = None,
    methods: Annotated[
        str, typer.Option(metavar="NAME,...", help="Methods, or classes from outside as module:Class.")
    ] = "bridgetrace,privtrace,adatrace,dpt",
    file: Annotated[
        list[str] | None,
        typer.Option(
            "--file",
            metavar="NAME=PATH",
            help="Finished synthetic trips of any tool; NAME@EPSILON=PATH for one epsilon. Can be repeated.",
        ),
    ] = None,
    epsilons: Annotated[
        str, typer.Option(metavar="NUMBER,...", help="The budgets to compare at, separated by commas.")
    ] = "0.5,1,2",
    runs: Annotated[int, typer.Option(metavar="INTEGER", help="Number of runs, at least 2.")] = 10,
    profile: ProfileOption = ProfileName.paper,
    seed: EvaluationSeed = 1,
    period: Annotated[
        str | None,
        typer.Option(metavar="DAY/DAY", help="Use only trips that begin on these days (last day excluded)."),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The HTML page; NOT-PRIVATE is added to its name.")
    ] = Path("comparison.html"),
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.parquet",
            help="Where results are kept, to go on after a kill; beside the page by default.",
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Also write each figure as PNG, SVG and CSV into a folder."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="INTEGER", help="Number of processes; all cores by default.")
    ] = None,
    title: PageTitle = None,
    force: Force = False,
) -> None:
    """Compare methods on your data. NOT PRIVATE.

    Fits each method with seeded noise, at several epsilons in several runs, and publishes no model. The page
    shows errors against epsilon with the limit and the random baseline, who is better than whom and how surely,
    maps, time and memory. Results are kept as they come: after a kill, the same command goes on, and with more
    methods, epsilons or runs it adds what is new.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace compare demo/trips.parquet --region demo/region.geojson --timezone Europe/Berlin \\
          --epsilons 0.2,1 --runs 3 --output comparison.html
      privtrace compare demo/trips.parquet --region demo/region.geojson --timezone Europe/Berlin \\
          --methods bridgetrace,privtrace --file theirs=demo/synthetic.parquet --runs 2 --force \\
          --output comparison.html --figures figures
    """
    from privtrace.methods.declaring import days
    from privtrace.report.document import check_page, marked
    from privtrace.space.region import Region
    from privtrace.storage.atomic import check_target
    from privtrace.study.comparing import compare as compared
    from privtrace.study.competitors import of_files

    page, folder = Path(marked(output)), None if figures is None else Path(marked(figures))
    kept = Path(marked(output.with_suffix(".parquet"))) if results is None else results
    outputs = {"--output": page, "--results": kept, "--figures": folder}
    check_apart(outputs, {"TRIPS": trips, "--region": region})
    target = check_page(page, force)
    if folder is not None:
        check_target(folder, force, folder_of=(".svg", ".png", ".csv"))
    if ":" in methods:
        sys.path.append(os.getcwd())  # a class may be in a file here
    area, days_named = Region.parse(region), days(period)
    screen = Screen(options.quiet, options.as_json)
    with ExitStack() as stack:
        real = stack.enter_context(options.source(trips))
        files = _opened(of_files(file or ()), options, stack)
        tell_dropped(real, screen)
        with _going_on(kept):
            study = compared(
                real,
                region=area,
                methods=[name.strip() for name in methods.split(",") if name.strip()],
                files=files,
                epsilons=epsilons,
                runs=runs,
                profile=profile.value,
                settings=options.settings,
                seed=seed,
                period=days_named,
                results=kept,
                workers=workers,
                observer=screen,
            )
    study.report(target, title=title)
    if folder is not None:
        study.figures(folder, force=force)
    written = {"page": str(page), "results": str(kept), **({} if folder is None else {"figures": str(folder)})}
    screen.data({**study.to_dict(), **written})
    screen.say(str(study))
    screen.say(f"\nPage written to {page}. NOT PRIVATE: keep it with the data.", style="bold")


@contextmanager
def _going_on(kept: Path) -> Iterator[None]:
    """Let an interrupt say where results are; other errors say themselves what is kept."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, PrivTraceError) and kept.exists():
            error.add_note(f"results so far are kept in {kept}; the same command goes on from there")
        raise


def _opened(
    files: Mapping[str, Mapping[str, Sequence[str]]], options: CompetingOptions, stack: ExitStack
) -> dict[str, dict[str, list[Any]]]:
    """Open finished files as the options say."""
    return {
        name: {
            epsilon: [stack.enter_context(options.synthetic_source(Path(path))) for path in paths]
            for epsilon, paths in by_epsilon.items()
        }
        for name, by_epsilon in files.items()
    }
