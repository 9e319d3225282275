"""Declare the options that `fit` and `synth` share, once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from privtrace.synthesizers.privtrace import PrivTrace


class CrsName(StrEnum):
    """Name the coordinate systems."""

    lonlat = "lonlat"
    planar = "planar"


class MethodName(StrEnum):
    """Name the methods."""

    privtrace = "privtrace"


class OrderName(StrEnum):
    """Name the orders of the Markov model."""

    adaptive = "adaptive"
    first = "1"
    second = "2"


@dataclass(frozen=True)
class OutputOptions:
    """Say how a command speaks and whether it overwrites."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors and warnings.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing output.")] = False
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads to work on; all cores by default. Changes no result.")
    ] = None


@dataclass(frozen=True)
class FitOptions(OutputOptions):
    """Say what to fit, for how much epsilon, and how."""

    region: Annotated[
        str | None,
        typer.Option(metavar="W,S,E,N", help="The public area, chosen without the data. Required."),
    ] = None
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The whole privacy budget, such as 1 or 0.5. Required.")
    ] = None
    method: Annotated[MethodName, typer.Option(help="How to synthesize.")] = MethodName.privtrace
    crs: Annotated[
        CrsName | None, typer.Option(help="Read coordinates as these, whatever the columns are called.")
    ] = None
    public_count: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="The number of trajectories, if it is public; else measured."),
    ] = None
    noise_seed: Annotated[
        int | None,
        typer.Option(metavar="SEED", help="Repeatable noise, for benchmarks only: stamps NOT PRIVATE."),
    ] = None
    order: Annotated[
        OrderName,
        typer.Option(help="Order of the Markov model, chosen by state or fixed."),
    ] = OrderName.adaptive
    second_layer: Annotated[bool, typer.Option(help="Divide dense coarse cells.")] = True
    trip_estimation: Annotated[bool, typer.Option(help="Correct starts for trip length.")] = True
    K: Annotated[int | None, typer.Option("--K", help="Coarse cells per side.")] = None
    c: Annotated[float | None, typer.Option("--c", help="The paper's K = sqrt(count / c).")] = None
    max_states: Annotated[int, typer.Option(help="States at most.")] = 3000
    states_factor: Annotated[
        float,
        typer.Option(help="Scale the number of states; 1 balances noise and data."),
    ] = 1.5
    states_per_coarse_cell: Annotated[float, typer.Option(help="States per coarse cell, on average.")] = 6.0
    density_per_cell: Annotated[float | None, typer.Option(help="Visits that a fine cell should hold.")] = None
    population: Annotated[float | None, typer.Option(help="The paper's rule for the second layer.")] = None
    theta1: Annotated[
        float | None,
        typer.Option(help="First order for states with fewer moves than this."),
    ] = None
    theta2: Annotated[
        float,
        typer.Option(help="First order if the top successor is so many times the next."),
    ] = 5.0
    count_share: Annotated[str, typer.Option(help="Epsilon's share for the count.")] = "0.02"
    grid_share: Annotated[str, typer.Option(help="Epsilon's share for count and grid.")] = "0.2"
    first_order_share: Annotated[str, typer.Option(help="Epsilon's share for first order.")] = "0.4"
    second_order_share: Annotated[
        str,
        typer.Option(help="Epsilon's share for second order; with --order 1 first order gets it."),
    ] = "0.4"
    max_steps: Annotated[int, typer.Option(help="States of a walk at most.")] = 1000

    def synthesizer(self) -> PrivTrace:
        """Make the synthesizer that the options describe."""
        from privtrace.errors import SettingsError
        from privtrace.space.region import Region
        from privtrace.synthesizers.privtrace import PrivTrace

        region = Region.parse(self.region)
        if self.epsilon is None:
            raise SettingsError("an epsilon is needed: the whole privacy budget, such as --epsilon 1")
        names = {field.name for field in fields(PrivTrace)} - {"region", "order", "unit", "max_per_user"}
        settings = {name: getattr(self, name) for name in names}
        order: Any = "adaptive" if self.order is OrderName.adaptive else int(self.order.value)
        return PrivTrace(region=region, order=order, **settings)


InputPath = Annotated[Path, typer.Argument(metavar="TRIPS", help="A table of points: Parquet or CSV.")]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")]


def takes(options: type[OutputOptions]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command all fields of an options class as options; it receives them as one object, `options`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(options, include_extras=True)
        own = [p for p in inspect.signature(command).parameters.values() if p.name != "options"]
        own_hints = get_type_hints(command, include_extras=True)
        parameters = [p.replace(annotation=own_hints[p.name]) for p in own] + [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=hints[field.name],
            )
            for field in fields(options)
        ]

        @wraps(command)
        def run(**values: Any) -> None:
            chosen = {field.name: values.pop(field.name) for field in fields(options)}
            command(**values, options=options(**chosen))

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate
