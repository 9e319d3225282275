"""Define the commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privtrace.cli.options import FitOptions, InputPath, ModelPath, OutputOptions, takes
from privtrace.cli.screen import Screen, guarded

if TYPE_CHECKING:
    from privtrace.synthesizers.base import Model

# The library loads a compiler; commands import it when they run, so that --help answers at once.

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the boxes of rich cut long option names
    help="Publish movement data safely: synthetic trajectories under pure epsilon-differential privacy.",
)

OutputPath = Annotated[Path, typer.Option("--output", "-o", help="Where to write; used as it is given.")]
Count = Annotated[
    int | None, typer.Option(min=0, help="Trajectories to make; the model's own (noisy) number by default.")
]
Seed = Annotated[
    int | None, typer.Option(help="Repeat the same trajectories from the same model; never affects privacy.")
]


@app.command()
@guarded
@takes(FitOptions)
def fit(trips: InputPath, output: OutputPath, options: FitOptions) -> None:
    """Fit a model to trajectories, spending epsilon once. The model is safe to publish.

    Example: privtrace fit trips.parquet --region=-8.70,41.10,-8.54,41.22 --epsilon 1 --output porto.model
    """
    from privtrace.io.atomic import check_target

    screen = Screen(options.quiet, options.as_json)
    check_target(output, options.force)
    model = _fitted(trips, options, screen)
    model.save(output, force=options.force)
    _report(model, screen, {"model": str(output)})
    _show_model(model, screen)
    screen.say(f"Model written to {output}. Next: privtrace generate {output} --output synthetic.parquet")


@app.command()
@guarded
@takes(OutputOptions)
def generate(
    model: ModelPath, output: OutputPath, options: OutputOptions, count: Count = None, seed: Seed = None
) -> None:
    """Generate synthetic trajectories from a model. It costs no privacy, however many.

    Example: privtrace generate porto.model --count 100000 --seed 7 --output synthetic.parquet
    """
    from privtrace.io import check_output
    from privtrace.models import load

    screen = Screen(options.quiet, options.as_json)
    check_output(output, options.force)
    loaded = load(model)
    _write_synthetic(loaded, output, count, seed, options, screen)
    _report(loaded, screen, {"synthetic": str(output)})


@app.command()
@guarded
@takes(FitOptions)
def synth(
    trips: InputPath,
    output: OutputPath,
    options: FitOptions,
    count: Count = None,
    seed: Seed = None,
    model: Annotated[Path | None, typer.Option(help="Keep the model too, in this file.")] = None,
) -> None:
    """Fit and generate in one go.

    Example: privtrace synth trips.parquet --region=-8.70,41.10,-8.54,41.22 --epsilon 1 --output made.parquet
    """
    from privtrace.errors import OutputError
    from privtrace.io import check_output
    from privtrace.io.atomic import check_target

    screen = Screen(options.quiet, options.as_json)
    check_output(output, options.force)
    if model is not None:
        check_target(model, options.force)
        if model.resolve() == output.resolve():
            raise OutputError(f"{model}: --model and --output are the same file; give two")
    fitted = _fitted(trips, options, screen)
    if model is not None:  # first, since epsilon is spent by now
        fitted.save(model, force=options.force)
    _write_synthetic(fitted, output, count, seed, options, screen)
    _report(fitted, screen, {"model": str(model) if model else None, "synthetic": str(output)})
    _show_model(fitted, screen)


@app.command()
@guarded
def inspect(
    model: ModelPath, as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False
) -> None:
    """Show what a model promises and holds: privacy statement, ledger, grid, sizes."""
    from privtrace.models import load

    loaded = load(model)
    screen = Screen(as_json=as_json)
    screen.data(_described(loaded))
    for question, answer in loaded.release.statement():
        screen.say(question, style="bold")
        screen.say(f"{answer}\n", style="red" if "NOT PRIVATE" in answer else None)
    screen.say("Ledger", style="bold")
    _show_ledger(loaded, screen)
    screen.say("\nSizes", style="bold")
    for name, size in loaded.summary().items():
        screen.say(f"  {name:24}{size:>12,}")
    screen.say("\nSettings", style="bold")
    for name, setting in loaded.release.settings.items():
        screen.say(f"  {name:24}{'by rule' if setting is None else str(setting):>12}")


@app.command()
@guarded
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder for the demo's files.")] = Path(
        "demo"
    ),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an earlier demo.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> None:
    """Make a city and 20,000 trips in it, fit at epsilon 1, generate, and draw real beside synthetic."""
    from privtrace.cli.demo import run_demo

    run_demo(output, force, Screen(quiet))


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", is_eager=True, help="Show the version.")] = False,
) -> None:
    """Show the version."""
    if show:
        from importlib.metadata import version as installed

        typer.echo(f"privtrace {installed('privtrace')}")
        raise typer.Exit


def _fitted(trips: Path, options: FitOptions, screen: Screen) -> Model:
    """Fit as the options say, with progress."""
    from privtrace.backends.local import Threads
    from privtrace.io import read
    from privtrace.privacy.noise import SeededNoise

    synthesizer = options.synthesizer()
    noise = None if options.noise_seed is None else SeededNoise(options.noise_seed)
    with read(trips, crs=options.crs.value if options.crs else None) as source:
        if source.has_times:
            screen.say("The input's times set the order of points; they are not synthesized.")
        with screen.stage("Opening and grouping the input"):
            dropped = source.dropped_rows
        if dropped:
            screen.note(f"{dropped:,} rows belong to no trajectory or cannot be read, and were dropped")
        return synthesizer.fit(source, noise=noise, backend=Threads(options.threads), observer=screen)


def _write_synthetic(
    model: Model, output: Path, count: int | None, seed: int | None, options: OutputOptions, screen: Screen
) -> None:
    """Generate block by block into the output, with progress."""
    from collections.abc import Iterator

    from privtrace.backends.local import Threads
    from privtrace.io import write
    from privtrace.synthesizers.base import capped_walks, sample_parts
    from privtrace.trajectories import Trajectories

    count = model.n_trajectories if count is None else count
    n_capped = 0
    with screen.stage("Generating synthetic trajectories", count) as advance:

        def blocks() -> Iterator[Trajectories]:
            nonlocal n_capped
            for block, capped in sample_parts(model, count, seed, Threads(options.threads)):
                n_capped += capped
                yield block
                advance(len(block))

        write(blocks(), output, force=options.force)
    if n_capped:
        screen.warn(capped_walks(n_capped, model.release))
    screen.say(f"{count:,} synthetic trajectories written to {output}. Times are not synthesized.")


def _report(model: Model, screen: Screen, files: dict[str, str | None]) -> None:
    """Say what came out."""
    screen.data({"files": files, **_described(model)})
    screen.say(model.release.verdict, style="bold" if model.release.private else "bold red")
    if not model.release.private:
        screen.warn(model.release.verdict)


def _show_model(model: Model, screen: Screen) -> None:
    _show_ledger(model, screen)
    screen.say("The model: " + ", ".join(f"{name} {size:,}" for name, size in model.summary().items()))


def _show_ledger(model: Model, screen: Screen) -> None:
    from privtrace.privacy.ledger import decimal

    for charge in model.release.charges:
        noise = f"noise scale {charge.scale_in_trajectories:9.3f}"
        screen.say(f"  {charge.stage:14} epsilon {decimal(charge.epsilon):8} {noise}")
    screen.say(f"  {'spent':14} epsilon {decimal(model.release.spent)} of {decimal(model.release.epsilon)}")


def _described(model: Model) -> dict[str, Any]:
    """Describe a model for a program: the header of its file, the statement and the sizes."""
    from privtrace.models import public_facts

    return {
        **public_facts(model.release),
        "private": model.release.private,
        "verdict": model.release.verdict,
        "statement": dict(model.release.statement()),
        "summary": model.summary(),
    }
