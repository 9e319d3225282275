"""Export what a model says as tables and maps."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from privtrace.cli.modeling import OutputPath, check_apart, report
from privtrace.cli.options import AsJson, Force, ModelPath, Quiet
from privtrace.cli.screen import Screen


class ProductName(StrEnum):
    """Name what can be exported."""

    od = "od"
    density = "density"
    transitions = "transitions"
    grid = "grid"


def export(
    model: ModelPath,
    output: OutputPath,
    what: Annotated[
        ProductName | None,
        typer.Option(
            help="Trips from cell to cell; visits, starts and ends of cells; moves; or the cells.",
            show_default="density for .tif, else required",
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Export trips, density, moves or cells of a model as a table or map. It costs no privacy.

    The suffix of the output is the format: .csv, .parquet or .geojson; .tif (GeoTIFF) holds density alone.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace export demo/city.model --what od --output od.csv
      privtrace export demo/city.model --what density --output density.geojson
      privtrace export demo/city.model --what transitions --output moves.parquet
      privtrace export demo/city.model --what grid --output cells.csv.gz
    """
    from privtrace.export import check_export
    from privtrace.export import export as write
    from privtrace.models import load

    screen = Screen(quiet, as_json)
    product, _ = check_export(what, output, force=force)
    check_apart({"--output": output}, {"the model": model})
    loaded = load(model)
    with screen.stage(f"Exporting {product}"):
        write(loaded, product, output, force=force)
    screen.say(f"{product[:1].upper()}{product[1:]} written to {output}.")
    report(loaded, screen, {product: str(output)})
