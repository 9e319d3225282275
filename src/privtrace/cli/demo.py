"""Show the whole way once, on data that it makes itself."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer

from privtrace.cli.options import Force, Quiet, ThreadCount
from privtrace.cli.screen import Screen

N_TRIPS = 20_000


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder for the demo's files.")] = Path(
        "demo"
    ),
    force: Force = False,
    threads: ThreadCount = None,
    quiet: Quiet = False,
) -> None:
    """Show everything once, on invented data.

    Invents a city with 20,000 trips in four weeks, fits a model at epsilon 1, generates trips with times, and
    writes two pages: one about the model, to publish, and one that compares with the real data, to keep.

    \b
    Example:
      privtrace demo --output demo --force
    """
    from privtrace.datasets import city_trips
    from privtrace.evaluation.suite import evaluate
    from privtrace.io import read, write
    from privtrace.methods.bridgetrace.settings import BridgeTrace
    from privtrace.models import load
    from privtrace.space.region import Region
    from privtrace.storage.atomic import check_target, replacing

    screen = Screen(quiet)
    files = {
        "trips": output / "trips.parquet",
        "region": output / "region.geojson",
        "model": output / "city.model",
        "synthetic": output / "synthetic.parquet",
        "report": output / "release.html",
        "evaluation": output / "evaluation-NOT-PRIVATE.html",
    }
    output.mkdir(parents=True, exist_ok=True)
    targets = {name: check_target(path, force) for name, path in files.items()}

    with screen.stage(f"Making a city and {N_TRIPS:,} trips in it"):
        made = city_trips(N_TRIPS, seed=1)
        write(made.trajectories, targets["trips"])
        with replacing(targets["region"]) as temporary:
            temporary.write_text(json.dumps({"type": "Polygon", "coordinates": [made.limits.tolist()]}))
    trips = read(files["trips"], timezone=made.zone)
    synthesizer = BridgeTrace(epsilon=1, region=Region.parse(str(files["region"])), period=str(made.period))
    synthesizer.fit(trips, observer=screen).save(targets["model"])
    model = load(files["model"])
    with screen.stage("Generating synthetic trajectories"), warnings.catch_warnings(record=True) as caught:
        synthetic = model.sample(seed=7)
        write(synthetic, targets["synthetic"])
    compared = read(files["synthetic"], timezone=made.zone)
    result = evaluate(trips, compared, region=model.release.region, profile="all", observer=screen)
    with screen.stage("Drawing the pages"):
        model.report(targets["report"], title="Trips in an invented city")
        result.report(targets["evaluation"], title="trips in an invented city")

    for warning in caught:
        screen.warn(str(warning.message))
    screen.say(model.release.verdict, style="bold")
    screen.say(model.usability().verdict)
    for name, path in files.items():
        screen.say(f"  {name:10} {path}")
    screen.say("Open in a browser:", style="bold")
    screen.say(f"  {files['report']}   the model and its privacy promise; may be published", style="bold")
    screen.say(
        f"  {files['evaluation']}   real and synthetic trips side by side; for the curator only", style="bold"
    )
