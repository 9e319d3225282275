"""Declare the options that commands share, once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from privtrace.io import FileSource
    from privtrace.privacy.budget_file import BudgetFile
    from privtrace.synthesizers.privtrace import PrivTrace


class CrsName(StrEnum):
    """Name the coordinate systems."""

    lonlat = "lonlat"
    planar = "planar"


class MethodName(StrEnum):
    """Name the methods."""

    privtrace = "privtrace"


class UnitName(StrEnum):
    """Name the protected units."""

    trajectory = "trajectory"
    user = "user"


class OrderName(StrEnum):
    """Name the orders of the Markov model."""

    adaptive = "adaptive"
    first = "1"
    second = "2"


class FormatName(StrEnum):
    """Name the formats."""

    parquet = "parquet"
    csv = "csv"
    tsv = "tsv"
    dat = "dat"
    porto = "porto"
    geolife = "geolife"


class ProfileName(StrEnum):
    """Name the profiles of metrics."""

    paper = "paper"
    adatrace = "adatrace"
    mobility = "mobility"
    all = "all"


AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing output.")]
InputPath = Annotated[
    Path, typer.Argument(metavar="TRIPS", help="A file or folder; `privtrace help convert` lists formats.")
]
RegionText = Annotated[
    str | None,
    typer.Option(metavar="W,S,E,N|FILE", help="The area: a box, or a GeoJSON file with a polygon. Required."),
]
ProfileOption = Annotated[ProfileName, typer.Option("--profile", help="Which metrics.")]
EvaluationSeed = Annotated[
    int, typer.Option("--seed", min=0, help="Draw circles, halves and walks from this: same seed, same table.")
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors and warnings.")]


@dataclass(frozen=True)
class SpeakingOptions:
    """Say how a command speaks."""

    quiet: Quiet = False
    as_json: AsJson = False


@dataclass(frozen=True)
class WorkingOptions(SpeakingOptions):
    """Say also on how many threads to work."""

    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads to work on; all cores by default. Changes no result.")
    ] = None


@dataclass(frozen=True)
class OutputOptions(WorkingOptions):
    """Say also whether to overwrite."""

    force: Force = False


@dataclass(frozen=True)
class InputOptions:
    """Say how to read the input."""

    columns: Annotated[
        str | None,
        typer.Option(
            metavar="ROLE=NAME,...",
            help="What columns are called: lon=X,lat=Y,traj_id=Z; also user_id, t, x and y.",
        ),
    ] = None
    crs: Annotated[
        CrsName | None, typer.Option(help="Read coordinates as these, whatever the columns are called.")
    ] = None
    gap: Annotated[
        float | None,
        typer.Option(metavar="MINUTES", help="Cut logs into trips where no point was recorded for longer."),
    ] = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first bad row instead of dropping it.")
    ] = False

    def source(self, path: Path) -> FileSource:
        """Open the input as the options say."""
        from privtrace.errors import DataError
        from privtrace.io import read
        from privtrace.io.columns import parse_columns

        source = read(
            path,
            crs=self.crs.value if self.crs else None,
            columns=parse_columns(self.columns) if self.columns else None,
            gap_minutes=self.gap,
        )
        if self.strict and (fault := next(source.faults(), None)) is not None:
            raise DataError(
                f"{fault} (for the curator only, NOT PRIVATE); mend the row, or leave out --strict to drop "
                "what is bad (privtrace check lists all)"
            )
        return source


@dataclass(frozen=True)
class MethodOptions:
    """Say for which area, unit and epsilon to synthesize, and how."""

    region: Annotated[
        str | None,
        typer.Option(
            metavar="W,S,E,N|FILE",
            help="The public area, chosen without the data: a box, or a GeoJSON file with a polygon. Required.",
        ),
    ] = None
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The whole privacy budget, such as 1 or 0.5. Required.")
    ] = None
    method: Annotated[MethodName, typer.Option(help="How to synthesize.")] = MethodName.privtrace
    unit: Annotated[UnitName, typer.Option(help="What is protected: one trajectory, or all of one user's.")] = (
        UnitName.trajectory
    )
    max_per_user: Annotated[
        int | None,
        typer.Option(metavar="K", help="With --unit user: trajectories of a user that count, at most."),
    ] = None
    public_count: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="The number of trajectories, if it is public; else measured."),
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
        names = {field.name for field in fields(PrivTrace)} - {"region", "order", "unit"}
        settings = {name: getattr(self, name) for name in names}
        order: Any = "adaptive" if self.order is OrderName.adaptive else int(self.order.value)
        return PrivTrace(region=region, order=order, unit=self.unit.value, **settings)


@dataclass(frozen=True)
class FitOptions(OutputOptions, InputOptions, MethodOptions):
    """Say what to fit, how, and whose budget it spends."""

    budget_file: Annotated[
        Path | None,
        typer.Option(
            metavar="NAME.ledger",
            help="Charge this data set's own ledger, and stop where its limit would be passed.",
        ),
    ] = None
    limit: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="All the epsilon that a new budget file may ever spend."),
    ] = None
    noise_seed: Annotated[
        int | None,
        typer.Option(metavar="SEED", help="Repeatable noise, for benchmarks only: stamps NOT PRIVATE."),
    ] = None

    def account(self, note: str) -> BudgetFile | None:
        """Open the budget file, if one is named; the note goes along with the fit."""
        from privtrace.errors import SettingsError
        from privtrace.privacy.budget_file import BudgetFile

        if self.budget_file is None:
            if self.limit is not None:
                raise SettingsError("--limit is the limit of a budget file: name one with --budget-file")
            return None
        return BudgetFile(self.budget_file, self.limit, note)


@dataclass(frozen=True)
class ConvertOptions(SpeakingOptions, InputOptions):
    """Say what to read and how to write it."""

    force: Force = False


@dataclass(frozen=True)
class ComparingOptions(WorkingOptions, InputOptions):
    """Say how to read two inputs."""

    synthetic_columns: Annotated[
        str | None,
        typer.Option(
            metavar="ROLE=NAME,...",
            help="The same for the synthetic file; if left out, as --columns or by known names.",
        ),
    ] = None
    synthetic_gap: Annotated[
        float | None, typer.Option(metavar="MINUTES", help="As --gap, which is for the real logs alone.")
    ] = None

    def synthetic_source(self, path: Path) -> FileSource:
        """Open the synthetic input as the options say.

        Whether its columns are called as the real ones, its header says, which is public.
        """
        from privtrace.errors import DataError

        reading = replace(self, columns=self.synthetic_columns, gap=self.synthetic_gap)
        if self.synthetic_columns is None and self.columns is not None:
            as_real = replace(reading, columns=self.columns)
            with suppress(DataError):
                replace(as_real, strict=False).source(path).close()  # reads no row: the header alone decides
                reading = as_real
        try:
            return reading.source(path)
        except DataError as error:
            words = str(error).replace("--columns", "--synthetic-columns").replace("--gap", "--synthetic-gap")
            raise DataError(words) from None


@dataclass(frozen=True)
class ExplainOptions(WorkingOptions, InputOptions, MethodOptions):
    """Say what to explain."""


def takes(
    options: type[Any], *, but: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of an options class as options, but for those named.

    It receives them as one object, `options`.
    """
    offered = [field for field in fields(options) if field.name not in but]

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
            for field in offered
        ]

        @wraps(command)
        def run(**values: Any) -> None:
            chosen = {field.name: values.pop(field.name) for field in offered}
            command(**values, options=options(**chosen))

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate
