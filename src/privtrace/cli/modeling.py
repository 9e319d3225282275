"""Fit models, and generate from them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privtrace.cli.options import (
    FitOptions,
    InputPath,
    ModelPath,
    OutputOptions,
    OutputPath,
    PageNote,
    PageTitle,
    takes,
)
from privtrace.cli.screen import Screen, check_apart, ending, tell_dropped, tell_lost
from privtrace.cli.showing import show_model, tell_release
from privtrace.cli.spending import Spending, tell_unusable

if TYPE_CHECKING:
    from privtrace.io import Output
    from privtrace.methods.model import Model
    from privtrace.methods.settings import Settings

Count = Annotated[
    int | None, typer.Option(min=0, help="Trajectories to make; the model's own (noisy) number by default.")
]
Seed = Annotated[
    int | None, typer.Option(help="Repeat the same trajectories from the same model; never affects privacy.")
]


@takes(FitOptions, but=("names",))
def fit(trips: InputPath, output: OutputPath, options: FitOptions) -> None:
    """Fit a model to trajectories, spending epsilon once. The model may be published.

    The first example makes the trips that the others use.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace fit demo/trips.parquet --region demo/region.geojson --epsilon 1 --output city.model
      privtrace fit demo/trips.parquet --region demo/region.geojson --epsilon 1 --output users.model \\
          --unit user --max-per-user 5 --budget-file city.ledger --limit 3
      privtrace fit demo/trips.parquet --region demo/region.geojson --epsilon 1 --output trips.model \\
          --method adatrace --N 8
    """
    from privtrace.io.atomic import check_target

    screen = Screen(options.quiet, options.as_json)
    check_target(output, options.force)
    check_apart({"--output": output}, _files_of(trips, options))
    synthesizer, spending = options.synthesizer(), Spending.of(options, str(output))
    with ending(spending.words):
        model = _fitted(trips, synthesizer, spending, options, screen)
        model.save(output, force=options.force)
        tell_release(model, screen, {"model": str(output)})
        show_model(model, screen)
        spending.tell(screen)
        screen.say(f"Model written to {output}. Next: privtrace generate {output} --output synthetic.parquet")
        tell_unusable(trips, options, spending, screen)


@takes(OutputOptions)
def generate(
    model: ModelPath, output: OutputPath, options: OutputOptions, count: Count = None, seed: Seed = None
) -> None:
    """Generate synthetic trajectories from a model. It costs no privacy, however many.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace generate demo/city.model --output more.parquet
      privtrace generate demo/city.model --count 10000 --seed 7 --output many.csv.gz
    """
    from privtrace.io import check_output
    from privtrace.models import load

    screen = Screen(options.quiet, options.as_json)
    check_output(output, options.force, names=options.names)
    check_apart({"--output": output}, {"the model": model})
    loaded = load(model)
    _write_synthetic(loaded, output, count, seed, options, screen)
    tell_release(loaded, screen, {"synthetic": str(output)})


@takes(FitOptions)
def synth(
    trips: InputPath,
    output: OutputPath,
    options: FitOptions,
    count: Count = None,
    seed: Seed = None,
    model: Annotated[Path | None, typer.Option(help="Keep the model too, in this file.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page about the model too; it may be published with it.")
    ] = None,
    evaluation: Annotated[
        Path | None,
        typer.Option(help="Write a page that compares with the real data: its name gets NOT-PRIVATE added."),
    ] = None,
    title: PageTitle = None,
    note: PageNote = None,
) -> None:
    """Fit and generate in one go.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace synth demo/trips.parquet --region demo/region.geojson --epsilon 0.5 --output made.parquet \\
          --spacing 100 --model made.model --report made.html --evaluation compared.html
    """
    from privtrace.io import check_output
    from privtrace.io.atomic import check_target
    from privtrace.report.document import check_page
    from privtrace.report.evaluation_page import marked

    screen = Screen(options.quiet, options.as_json)
    format = check_output(output, options.force, names=options.names)
    compared = None if evaluation is None else marked(evaluation)
    further = {"--model": model, "--report": report, "--evaluation": compared}
    check_apart({"--output": output, **further}, _files_of(trips, options))
    for option, path in further.items():
        if path is not None:
            (check_target if option == "--model" else check_page)(path, options.force)
    synthesizer, spending = options.synthesizer(), Spending.of(options, str(output))
    with ExitStack() as stack:
        stack.enter_context(ending(spending.words))
        fitted = _fitted(trips, synthesizer, spending, options, screen, (format, output))
        if model is not None:  # first, since epsilon is spent by now
            fitted.save(model, force=options.force)
            stack.enter_context(ending(lambda: f"the fit is in {model}, and generating from it costs nothing"))
        _write_synthetic(fitted, output, count, seed, options, screen)
        if report is not None:
            fitted.report(report, title=title, note=note, force=options.force)
        if compared is not None:
            _write_evaluation(fitted, trips, output, compared, title, options, screen)
        written = {"synthetic": output, "model": model, "report": report, "evaluation": compared}
        tell_release(
            fitted, screen, {name: None if path is None else str(path) for name, path in written.items()}
        )
        show_model(fitted, screen)
        spending.tell(screen)
        if report is not None:
            screen.say(f"Page written to {report}; publish it with the model, if you like.")
        if compared is not None:
            screen.say(f"Page written to {compared}: NOT PRIVATE, keep it where the data is kept.")
        tell_unusable(trips, options, spending, screen)


def _files_of(trips: Path, options: FitOptions) -> dict[str, str | Path | None]:
    """List the files that a fit reads or keeps, by the words for them."""
    return {"the input": trips, "--region": options.region, "--budget-file": options.budget_file}


def _fitted(
    trips: Path,
    synthesizer: Settings,
    spending: Spending,
    options: FitOptions,
    screen: Screen,
    made: tuple[Output, Path] | None = None,
) -> Model:
    """Fit as the options say, with progress; refuse first a format that has no room for what will be made."""
    from privtrace.backends.local import Threads

    with options.source(trips) as source:
        if made is not None:
            made[0].check_holds(source.crs, has_times=False)
        if source.has_times:
            screen.say("Times that can be read set the order of points; they are not synthesized.")
        tell_dropped(source, screen)
        return synthesizer.fit(
            source,
            noise=spending.noise,
            backend=Threads(options.threads),
            observer=screen,
            budget_file=spending.budget_file,
        )


def _write_synthetic(
    model: Model, output: Path, count: int | None, seed: int | None, options: OutputOptions, screen: Screen
) -> None:
    """Generate block by block into the output, with progress."""
    from collections.abc import Iterator

    from privtrace.backends.local import Threads
    from privtrace.io import check_output, write
    from privtrace.methods.sampling import capped_walks, sample_parts
    from privtrace.trajectories import Trajectories

    count = model.n_trajectories if count is None else count
    format = check_output(output, options.force, names=options.names)
    lost: set[str] = set()
    n_capped = 0
    with screen.stage("Generating synthetic trajectories", count) as advance:

        def blocks() -> Iterator[Trajectories]:
            nonlocal n_capped
            for block, capped in sample_parts(model, count, seed, Threads(options.threads)):
                n_capped += capped
                lost.update(format.lost(block))
                yield block
                advance(len(block))

        write(blocks(), output, names=options.names, force=options.force)
    tell_lost(lost, output, screen)
    if n_capped:
        screen.warn(capped_walks(n_capped))
    screen.say(f"{count:,} synthetic trajectories written to {output}. Times are not synthesized.")


def _write_evaluation(
    model: Model, trips: Path, output: Path, page: Path, title: str | None, options: FitOptions, screen: Screen
) -> None:
    """Compare what was written with the real data, and write the page. NOT PRIVATE."""
    from privtrace.backends.local import Threads
    from privtrace.evaluation.suite import evaluate
    from privtrace.io import read

    release = model.release
    with options.source(trips) as real, read(output, crs=release.crs) as made:
        result = evaluate(
            real,
            made,
            region=release.region,
            profile="all",
            backend=Threads(options.threads),
            observer=screen,
        )
    result.report(page, title=title, force=options.force)
