"""Fit models, and generate from them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privtrace.cli.options import (
    FitOptions,
    InputPath,
    InputText,
    ModelPath,
    OutputOptions,
    OutputPath,
    PageNote,
    PageTitle,
)
from privtrace.cli.screen import Screen, check_apart, ending, screen_for, tell_dropped, tell_lost
from privtrace.cli.showing import show_model, tell_release
from privtrace.cli.spending import Spending, tell_unusable
from privtrace.cli.taking import takes

if TYPE_CHECKING:
    from privtrace.evaluation.comparison import Measuring
    from privtrace.io import Output
    from privtrace.io.source import ReadSource
    from privtrace.methods.model import Model
    from privtrace.methods.settings import Settings
    from privtrace.trajectories import Source

Count = Annotated[
    int | None, typer.Option(min=0, help="Number of trips to make; by default the model's own (noisy) number.")
]
Seed = Annotated[
    int | None, typer.Option(help="The same seed and model give the same trips; it never affects privacy.")
]


@takes(FitOptions, without=("names", "output_crs"))
def fit(trips: InputText, output: OutputPath, options: FitOptions) -> None:
    """Fit a model; this spends epsilon once. All settings: `help fit --method NAME`.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace fit demo/trips.parquet --region demo/region.geojson --epsilon 1 --output city.model \\
          --timezone Europe/Berlin
      privtrace fit demo/trips.parquet --region demo/region.geojson --epsilon 1 --output users.model \\
          --method adatrace --unit user --max-per-user 5 --budget-file city.ledger --limit 3
    """
    from privtrace.cli import engine
    from privtrace.storage.atomic import check_target

    screen = Screen(options.quiet, options.as_json)
    target = check_target(output, options.force)
    check_apart({"--output": output}, _files_of(trips, options))
    synthesizer = options.synthesizer()
    spending = Spending.of(synthesizer, options, str(output))
    with ending(spending.words), engine.opened(trips, options) as opened, synthesizer.reading(opened) as source:
        model, _ = _fitted(source, synthesizer, spending, options, screen)
        model.save(target)
        tell_release(model, screen, {"model": str(output)})
        show_model(model, screen)
        spending.tell(screen)
        screen.say(f"\nModel written to {output}. Next: privtrace generate {output} --output synthetic.parquet")
        tell_unusable(trips, options, spending, screen)


@takes(OutputOptions)
def generate(
    model: ModelPath, output: OutputPath, options: OutputOptions, count: Count = None, seed: Seed = None
) -> None:
    """Generate synthetic trips from a model. This costs no privacy, no matter how many.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace generate demo/city.model --output more.parquet
      privtrace generate demo/city.model --count 10000 --seed 7 --output many.csv.gz
    """
    from privtrace.io import check_output
    from privtrace.models import load

    screen = screen_for(output, options.quiet, options.as_json)
    made = check_output(output, options.force, names=options.names, crs=options.output_crs)
    check_apart({"--output": output}, {"the model": model})
    loaded = load(model)
    _write_synthetic(loaded, made, count, seed, options, screen)
    tell_release(loaded, screen, {"synthetic": str(output)})


@takes(FitOptions, without=("engine", "master", "persist"))
def synth(
    trips: InputPath,
    output: OutputPath,
    options: FitOptions,
    *,
    count: Count = None,
    seed: Seed = None,
    model: Annotated[Path | None, typer.Option(help="Also save the model, in this file.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write a page about the model, to publish with it.")
    ] = None,
    evaluation: Annotated[
        Path | None,
        typer.Option(
            help="Also write a page that compares with the real data; NOT-PRIVATE is added to its name."
        ),
    ] = None,
    title: PageTitle = None,
    note: PageNote = None,
) -> None:
    """Fit a model and generate trips in one step.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace synth demo/trips.parquet --region demo/region.geojson --epsilon 0.5 --output made.parquet \\
          --timezone Europe/Berlin --spacing 100 --model made.model --report made.html \\
          --evaluation compared.html
    """
    from privtrace.evaluation.reference import Reference
    from privtrace.evaluation.suite import evaluated
    from privtrace.io import check_output
    from privtrace.report.document import check_page, marked
    from privtrace.storage.atomic import check_target

    screen = screen_for(output, options.quiet, options.as_json)
    made = check_output(output, options.force, names=options.names, crs=options.output_crs)
    compared = None if evaluation is None else marked(evaluation)
    further = {"--model": model, "--report": report, "--evaluation": compared}
    check_apart({"--output": output, **further}, _files_of(trips, options))
    kept = None if model is None else check_target(model, options.force)
    release_page = None if report is None else check_page(report, options.force)
    evaluation_page = None if compared is None else check_page(compared, options.force)
    synthesizer = options.synthesizer()
    spending = Spending.of(synthesizer, options, str(output))
    with ExitStack() as stack:
        stack.enter_context(ending(spending.words))
        source = stack.enter_context(synthesizer.reading(stack.enter_context(options.source(trips))))
        made.check_holds(source.crs, has_times=bool(synthesizer.settled(source).times))
        fitted, met = _fitted(source, synthesizer, spending, options, screen)
        if kept is not None:  # first, since epsilon is spent by now
            fitted.save(kept)
            stack.enter_context(
                ending(lambda: f"the fitted model is saved in {model}; generating from it costs no privacy")
            )
        measuring = None if compared is None else _measuring(fitted, source.zone, output, options, screen)
        _write_synthetic(fitted, made, count, seed, options, screen, measuring)
        if release_page is not None:
            fitted.report(release_page, title=title, note=note)
        if evaluation_page is not None and measuring is not None:
            result = evaluated(Reference.measured(met, measuring.comparison), measuring.finish())
            result.report(evaluation_page, title=title)
        written = {"synthetic": output, "model": model, "report": report, "evaluation": compared}
        tell_release(
            fitted, screen, {name: None if path is None else str(path) for name, path in written.items()}
        )
        show_model(fitted, screen)
        spending.tell(screen)
        if report is not None:
            screen.say(f"Page written to {report}. You may publish it with the model.")
        if compared is not None:
            screen.say(f"Page written to {compared}. NOT PRIVATE: keep it with the data.")
        tell_unusable(trips, options, spending, screen)


def _files_of(trips: str | Path, options: FitOptions) -> dict[str, str | Path | None]:
    """List the files that a fit reads or keeps, by the words for them."""
    return {"the input": trips, "--region": options.region, "--budget-file": options.budget_file}


def _fitted(
    source: ReadSource, synthesizer: Settings, spending: Spending, options: FitOptions, screen: Screen
) -> tuple[Model, Source]:
    """Fit as the options say, with progress; return also what of the source counts."""
    from privtrace.backends.local import Threads, backend_for
    from privtrace.io import FileSource

    screen.say(_about_times(source, synthesizer))
    if isinstance(source, FileSource):  # of what is elsewhere, the first pass tells
        tell_dropped(source, screen)
    met = synthesizer.in_period(source)
    model = synthesizer.fit(
        met,
        noise=spending.noise,
        backend=backend_for(met, Threads(options.threads)),
        observer=screen,
        budget_file=spending.budget_file,
    )
    return model, met


def _about_times(source: ReadSource, synthesizer: Settings) -> str:
    """Say whether times are synthesized, and how to have it otherwise."""
    if synthesizer.settled(source).times:
        days = "" if synthesizer.period else "; without --period they fall in a typical week"
        return f"Trips get times, in the time zone {source.zone}{days}. To leave times out: --no-times."
    if not source.has_times:
        return "The data has no times, so synthetic trips have none."
    if not source.has_clock:
        return (
            "The times are numbers without a unit: they order the points, but synthetic trips get no "
            "times. Set the unit with --time-unit."
        )
    instead = " and ".join(synthesizer.against_times)
    cure = (
        f"To get times, pass --times and leave out {instead}." if instead else ("To get times, pass --times.")
    )
    return f"The times order the points, but synthetic trips get no times. {cure}"


def _measuring(model: Model, zone: str, output: Path, options: FitOptions, screen: Screen) -> Measuring:
    """Prepare to measure what is written while it is: nothing is read back. NOT PRIVATE."""
    from privtrace.backends.local import Threads
    from privtrace.evaluation.comparison import Comparison

    release, backend = model.release, Threads(options.threads)
    comparison = Comparison.of(
        release.region, release.crs, profile="all", zone=zone, figures=True, backend=backend, observer=screen
    )
    return comparison.measuring(path=output)


def _write_synthetic(
    model: Model,
    output: Output,
    count: int | None,
    seed: int | None,
    options: OutputOptions,
    screen: Screen,
    measuring: Measuring | None = None,
) -> None:
    """Generate block by block into the output, with progress; measure the blocks on their way, where wanted."""
    from collections.abc import Iterator

    from privtrace.backends.local import Threads
    from privtrace.methods.sampling import capped_walks, sample_parts
    from privtrace.trajectories import Trajectories

    count = model.n_trajectories if count is None else count
    lost: set[str] = set()
    n_capped = 0
    with screen.stage("Generating synthetic trips", count) as advance:

        def blocks() -> Iterator[Trajectories]:
            nonlocal n_capped
            for block, capped in sample_parts(model, count, seed, Threads(options.threads)):
                n_capped += capped
                lost.update(output.lost(block))
                yield block
                advance(len(block))

        made = blocks() if measuring is None else measuring.through(blocks())
        output.write(made)
    tell_lost(lost, output.target, screen)
    if n_capped:
        screen.warn(capped_walks(n_capped))
    screen.say(f"{count:,} synthetic trips written to {output.target}. {model.release.when}")
