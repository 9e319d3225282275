"""Show the whole way once, on data that it makes itself."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer

from privtrace.cli.options import Force, Quiet
from privtrace.cli.screen import Screen

N_TRIPS = 20_000


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder for the demo's files.")] = Path(
        "demo"
    ),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Show the whole way once, on data that it makes.

    Make a city and 20,000 trips in it, fit at epsilon 1, generate, and draw real beside synthetic.

    \b
    Example:
      privtrace demo --output demo --force
    """
    from privtrace.datasets import city_trips
    from privtrace.io import read, write
    from privtrace.io.atomic import check_target, replacing
    from privtrace.models import load
    from privtrace.report.page import write_comparison
    from privtrace.space.region import Region
    from privtrace.synthesizers.privtrace import PrivTrace

    screen = Screen(quiet)
    files = {
        "trips": output / "trips.parquet",
        "region": output / "region.geojson",
        "model": output / "city.model",
        "synthetic": output / "synthetic.parquet",
        "page": output / "real-beside-synthetic-NOT-PRIVATE.html",
    }
    output.mkdir(parents=True, exist_ok=True)
    for path in files.values():
        check_target(path, force)

    with screen.stage(f"Making a city and {N_TRIPS:,} trips in it"):
        made = city_trips(N_TRIPS, seed=1)
        write(made.trajectories, files["trips"], force=force)
        with replacing(files["region"], force) as temporary:
            temporary.write_text(json.dumps({"type": "Polygon", "coordinates": [made.limits.tolist()]}))
    trips = read(files["trips"])
    synthesizer = PrivTrace(epsilon=1, region=Region.parse(str(files["region"])))
    synthesizer.fit(trips, observer=screen).save(files["model"], force=force)
    model = load(files["model"])
    with screen.stage("Generating synthetic trajectories"), warnings.catch_warnings(record=True) as caught:
        synthetic = model.sample(seed=7)
        write(synthetic, files["synthetic"], force=force)
    with screen.stage("Drawing real beside synthetic"):
        write_comparison(
            made.trajectories,
            synthetic,
            model,
            files["page"],
            note="The real data of this demo was invented: trips in a city that does not exist.",
            force=force,
        )

    for warning in caught:
        screen.warn(str(warning.message))
    screen.say(model.release.verdict, style="bold")
    for name, path in files.items():
        screen.say(f"  {name:10} {path}")
    screen.say(f"Open {files['page']} in a browser.", style="bold")
    screen.say(
        f"In numbers: privtrace evaluate {files['trips']} {files['synthetic']} --region {files['region']}"
    )
