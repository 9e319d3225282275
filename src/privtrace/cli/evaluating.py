"""Compare synthetic data with real data, and say where the error comes from. NOT PRIVATE."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from privtrace.cli.options import (
    ComparingOptions,
    EvaluationSeed,
    ExplainOptions,
    Force,
    InputPath,
    PageTitle,
    ProfileName,
    ProfileOption,
    RegionText,
)
from privtrace.cli.screen import Screen, check_apart, tell_dropped
from privtrace.cli.taking import takes


@takes(ComparingOptions)
def evaluate(
    real: Annotated[Path, typer.Argument(metavar="REAL", help="The real trips: a file or folder.")],
    synthetic: Annotated[
        Path, typer.Argument(metavar="SYNTHETIC", help="The synthetic trips, made by any tool.")
    ],
    options: ComparingOptions,
    *,
    region: RegionText = None,
    profile: ProfileOption = ProfileName.paper,
    seed: EvaluationSeed = 1,
    bootstrap: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Number of bootstrap samples for 95 % intervals: 0 for none, or at least 2.",
        ),
    ] = 0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Also write an HTML page; NOT-PRIVATE is added to its name."),
    ] = None,
    title: PageTitle = None,
    period: Annotated[
        str | None,
        typer.Option(
            metavar="DAY/DAY",
            help="Use only real trips that begin on these days (last day excluded), like --period of fit.",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Compare synthetic trips with real ones. NOT PRIVATE.

    Each metric comes with two marks: its limit (one random half of the real data against the other) and its
    random baseline (a uniform random walk over the region). Both files are clipped to the region alike.

    \b
    Profiles:
      paper     length, diameter, density, pattern, and how well short and long trips are reproduced
      adatrace  the metrics of AdaTrace
      mobility  origins and destinations, visits, gyration, turns, prediction
      time      departures, durations, speeds, how points are spaced; most need times in both files
      all       all of them

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace evaluate demo/trips.parquet demo/synthetic.parquet --region demo/region.geojson \\
          --timezone Europe/Berlin
      privtrace evaluate demo/trips.parquet demo/synthetic.parquet --region demo/region.geojson \\
          --timezone Europe/Berlin --output evaluation.html
      privtrace evaluate demo/trips.parquet demo/synthetic.parquet --region demo/region.geojson \\
          --timezone Europe/Berlin --profile all --bootstrap 20 --json
    """
    from privtrace.backends.local import Threads
    from privtrace.evaluation.comparison import looks_at_times
    from privtrace.evaluation.suite import evaluate as compare
    from privtrace.methods.declaring import days
    from privtrace.report.document import check_page, marked
    from privtrace.space.region import Region
    from privtrace.trajectories import on_the_calendar
    from privtrace.within import NO_PERIOD

    page = None if output is None else marked(output)
    target = None
    if page is not None:
        check_apart({"--output": page}, {"REAL": real, "SYNTHETIC": synthetic, "--region": region})
        target = check_page(page, force)
    area, period = Region.parse(region), days(period)
    screen = Screen(options.quiet, options.as_json)
    needs_clock = looks_at_times(profile.value, figures=page is not None)
    with ExitStack() as stack:
        truth = stack.enter_context(options.source(real))
        made = stack.enter_context(options.synthetic_source(synthetic))
        if period is not None:
            truth = stack.enter_context(on_the_calendar(truth, *NO_PERIOD))
        if needs_clock:  # once, before the first pass
            truth, made = (
                stack.enter_context(on_the_calendar(one)) if one.has_clock else one for one in (truth, made)
            )
        for source in (truth, made):
            tell_dropped(source, screen)
        result = compare(
            truth,
            made,
            region=area,
            profile=profile.value,
            seed=seed,
            bootstrap=bootstrap,
            period=period,
            figures=page is not None,
            backend=Threads(options.threads),
            observer=screen,
        )
    if target is not None:
        result.report(target, title=title)
    screen.data({**result.to_dict(), **({} if page is None else {"page": str(page)})})
    screen.say(str(result))
    if page is not None:
        screen.say(f"\nPage written to {page}. NOT PRIVATE: keep it with the data.", style="bold")


@takes(ExplainOptions, without=("epsilon",))
def explain(
    trips: InputPath,
    options: ExplainOptions,
    epsilons: Annotated[
        str, typer.Option(metavar="NUMBER,...", help="The budgets to explain, separated by commas.")
    ] = "0.2,1,2",
    runs: Annotated[int, typer.Option(min=1, help="Number of runs to average.")] = 5,
    profile: ProfileOption = ProfileName.paper,
    seed: EvaluationSeed = 1,
) -> None:
    """Show where a method's error comes from. NOT PRIVATE: for public data and test data.

    Splits the error of each metric into parts: placing new points on the real lines, converting real paths to
    cells, the model without noise, and the noise at each epsilon. This shows what more data or a larger epsilon
    would gain. The command fits the data many times and publishes nothing.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace explain demo/trips.parquet --region demo/region.geojson --epsilons 0.2,1 --runs 2 \\
          --timezone Europe/Berlin
    """
    from privtrace.backends.local import Threads
    from privtrace.evaluation.decomposition import explain as decompose

    synthesizer = options.synthesizer(epsilon="1")  # another is put in for each
    screen = Screen(options.quiet, options.as_json)
    with options.source(trips) as opened, synthesizer.reading(opened) as source:
        tell_dropped(source, screen)
        result = decompose(
            source,
            synthesizer,
            epsilons=epsilons,
            runs=runs,
            profile=profile.value,
            seed=seed,
            backend=Threads(options.threads),
            observer=screen,
        )
    screen.data(result.to_dict())
    screen.say(str(result))
