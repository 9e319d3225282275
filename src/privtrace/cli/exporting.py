"""Export what a model says as tables and maps."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from privtrace.cli.modeling import OutputPath, tell_release
from privtrace.cli.options import AsJson, Force, ModelPath, Quiet
from privtrace.cli.screen import Screen, check_apart


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
    """Export tables and maps of a model. It costs no privacy.

    They show trips, density, moves or the cells; docs/export.md says what each column means. The suffix of the
    output is the format: .csv, .parquet or .geojson; .tif (GeoTIFF) holds density alone.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace export demo/city.model --what od --output od.csv
      privtrace export demo/city.model --what density --output density.geojson
      privtrace export demo/city.model --what transitions --output moves.parquet
    """
    from privtrace.export import PRODUCTS, check_export
    from privtrace.export import export as write
    from privtrace.models import load

    screen = Screen(quiet, as_json)
    product, format = check_export(what, output, force=force)
    check_apart({"--output": output}, {"the model": model})
    loaded = load(model)
    with screen.stage(f"Exporting {product}"):
        write(loaded, product, output, force=force)
    words = PRODUCTS[product] if len(format.products) > 1 else "noisy visits per area of the cells"
    screen.say(f"{words[:1].upper()}{words[1:]}, written to {output}.")
    tell_release(loaded, screen, {product: str(output)})
