"""Show what a model promises and holds: on the screen, as a page, as tables and maps."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privtrace.cli.options import AsJson, Force, ModelPath, OutputPath, PageNote, PageTitle, Quiet, ThreadCount
from privtrace.cli.screen import Screen, check_apart, screen_for

if TYPE_CHECKING:
    from privtrace.methods.model import Model


def inspect(model: ModelPath, as_json: AsJson = False) -> None:
    """Show what a model promises and holds.

    That is its privacy statement, ledger, sizes and settings.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace inspect demo/city.model
      privtrace inspect demo/city.model --json
    """
    from privtrace.methods.model import settings_in_words
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
        screen.say(f"  {name:32}{size:>12,}")
    screen.say("\nSettings", style="bold")
    for name, setting in settings_in_words(loaded.release).items():
        screen.say(f"  {name:20}{setting:>24}")
    _show_usability(loaded, screen)


def report(
    model: ModelPath,
    output: OutputPath,
    title: PageTitle = None,
    note: PageNote = None,
    force: Force = False,
    threads: ThreadCount = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write a page about a model, to publish with it.

    It is made from the model file alone, so it may be published wherever the model may.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace report demo/city.model --output release.html --title "Trips in an invented city" \\
          --note "Published by the town hall; questions to the data office."
    """
    from privtrace.models import load
    from privtrace.report.document import check_page

    screen = Screen(quiet, as_json)
    check_apart({"--output": output}, {"the model": model})
    page = check_page(output, force)
    loaded = load(model)
    with screen.stage("Drawing the page"):
        loaded.report(page, title=title, note=note)
    tell_release(loaded, screen, {"report": str(output)})
    screen.say(f"Page written to {output}. Open it in a browser.")


class ProductName(StrEnum):
    """Name what can be exported."""

    od = "od"
    density = "density"
    transitions = "transitions"
    grid = "grid"
    departures = "departures"
    speeds = "speeds"
    sumo = "sumo"
    matsim = "matsim"
    hourly_od = "hourly-od"  # until version 0.3
    hourly_density = "hourly-density"


class HoursName(StrEnum):
    """Name the hours by which trips can be counted."""

    hour = "hour"
    part = "part"
    weekday = "weekday"


def export(
    model: ModelPath,
    output: OutputPath,
    what: Annotated[
        ProductName | None,
        typer.Option(
            metavar="NAME",
            help="Trips between places (od); trips that pass, begin and end in places (density); moves between "
            "cells (transitions); the cells (grid); departures; speeds; or synthetic trips for the simulators "
            "SUMO (sumo) and MATSim (matsim).",
            show_default="density for .tif; otherwise required",
        ),
    ] = None,
    *,
    zones: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|h3:N|geohash:N",
            help="Count in your own public polygons, or in H3 or geohash cells, instead of the model's cells: "
            "od, density, sumo.",
        ),
    ] = None,
    zone_id: Annotated[
        str | None, typer.Option(metavar="NAME", help="The attribute of the file with the ids of zones.")
    ] = None,
    by: Annotated[
        HoursName | None,
        typer.Option(help="Also by hour of the day, part of the day or weekday of departure: od, density."),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(min=0, help="How many trips for a simulator; by default the model's own number."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of trips for a simulator: the same seed gives the same trips.")
    ] = None,
    output_crs: Annotated[
        str | None,
        typer.Option(metavar="EPSG:CODE", help="Write trips for a simulator in this coordinate system."),
    ] = None,
    force: Force = False,
    threads: ThreadCount = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Export tables, maps and trips for simulators. It costs no privacy.

    Numbers are counted on synthetic trips of the model. Each has a low and a high bound: nine in ten true
    numbers are expected between them. docs/export.md explains every column.

    The file extension sets the format. Tables: .csv, .parquet, .xlsx. Maps: .geojson, .gpkg; .tif (GeoTIFF) for
    density and speeds. Matrices of od: .omx, .xlsx. Simulators: .xml. The output - is standard output.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace export demo/city.model --what od --output od.csv
      privtrace export demo/city.model --what od --zones geohash:6 --output od.xlsx
      privtrace export demo/city.model --what density --by hour --zones geohash:6 --output hours.xlsx
      privtrace export demo/city.model --what density --output density.geojson
      privtrace export demo/city.model --what sumo --count 1000 --seed 7 --output trips.xml.gz
    """
    from privtrace.export import about_zones, check_export
    from privtrace.models import load

    screen = screen_for(output, quiet, as_json)
    wanted = check_export(
        what,
        output,
        force=force,
        by=by,
        zones=zones,
        zone_id=zone_id,
        count=count,
        seed=seed,
        output_crs=output_crs,
    )
    check_apart({"--output": output}, {"the model": model, "--zones": zones})
    loaded = load(model)
    asked = wanted.asked(loaded)
    with screen.stage(f"Exporting {asked.what}"):
        wanted.write(loaded, asked)
    words = wanted.words(loaded, asked)
    screen.say(f"{words[:1].upper()}{words[1:]}, written to {wanted.target}. No further epsilon is spent.")
    if asked.zones is not None:
        screen.say(f"Counted in {about_zones(asked.zones)}.")
    renamed = {} if wanted.renamed is None else {str(what): wanted.renamed}
    for old, new in renamed.items():
        screen.warn(f"{old} was {new}")
    tell_release(loaded, screen, {asked.what: str(output)}, **({"deprecated": renamed} if renamed else {}))


def tell_release(model: Model, screen: Screen, files: dict[str, str | None], **more: Any) -> None:
    """Say what came out, and what it promises."""
    screen.data({"files": files, **more, **_described(model)})
    screen.say(model.release.verdict, style="bold" if model.release.private else "bold red")
    if not model.release.private:
        screen.warn(model.release.verdict)


def show_model(model: Model, screen: Screen) -> None:
    """Show what was spent, the sizes of a model, and what may be read from it."""
    from privtrace.methods.model import in_words

    _show_ledger(model, screen)
    screen.say(f"The model: {in_words(model.summary())}")
    _show_usability(model, screen)


def _show_usability(model: Model, screen: Screen) -> None:
    """Say what may be read from a model; that it is noise, even with --quiet."""
    usability = model.usability()
    if usability.is_noise:
        screen.warn(usability.warning)
    else:
        screen.say(f"\n{usability.verdict}", style="bold")
    for level in usability.levels:
        screen.say(f"  {level.sentence}")


def _show_ledger(model: Model, screen: Screen) -> None:
    from privtrace.privacy.epsilon import decimal

    charges = model.release.charges
    width = max((len(decimal(charge.epsilon)) for charge in charges), default=0)
    for charge in charges:
        noise = f"noise scale {charge.scale_in_trajectories:9.3f}"
        screen.say(f"  {charge.stage:14} epsilon {decimal(charge.epsilon):{width}} {noise}")
    screen.say(f"  {'spent':14} epsilon {decimal(model.release.spent)} of {decimal(model.release.epsilon)}")


def _described(model: Model) -> dict[str, Any]:
    """Describe a model for a program: the header of its file, the statement, sizes, and what may be read."""
    from privtrace.models import public_facts

    return {
        **public_facts(model.release),
        "private": model.release.private,
        "verdict": model.release.verdict,
        "statement": dict(model.release.statement()),
        "summary": model.summary(),
        "usability": model.usability().facts(),
    }
