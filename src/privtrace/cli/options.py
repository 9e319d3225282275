"""Declare the options that commands share, once."""

from __future__ import annotations

import inspect
import re
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
    from privtrace.methods.adatrace.settings import AdaTrace
    from privtrace.methods.bridgetrace.settings import BridgeTrace
    from privtrace.methods.dpt.settings import DPT
    from privtrace.methods.privtrace.settings import PrivTrace
    from privtrace.methods.settings import Settings
    from privtrace.privacy.budget_file import BudgetFile


class CrsName(StrEnum):
    """Name the coordinate systems."""

    lonlat = "lonlat"
    planar = "planar"


class MethodName(StrEnum):
    """Name the methods."""

    bridgetrace = "bridgetrace"
    privtrace = "privtrace"
    adatrace = "adatrace"
    dpt = "dpt"


class UnitName(StrEnum):
    """Name the protected units."""

    trajectory = "trajectory"
    user = "user"


class OrderName(StrEnum):
    """Name the orders of the Markov model."""

    adaptive = "adaptive"
    first = "1"
    second = "2"


class MappingName(StrEnum):
    """Name the ways to choose a reference system."""

    speed = "speed"
    coarsest = "coarsest"


class FormatName(StrEnum):
    """Name the formats."""

    parquet = "parquet"
    csv = "csv"
    tsv = "tsv"
    geoparquet = "geoparquet"
    geoparquet_lines = "geoparquet-lines"
    gpkg = "gpkg"
    geojson = "geojson"
    mfjson = "mfjson"
    gpx = "gpx"
    dat = "dat"
    porto = "porto"
    geolife = "geolife"


class TimeUnitName(StrEnum):
    """Name the units of times that are numbers."""

    s = "s"
    ms = "ms"
    us = "us"
    ns = "ns"


class NamesName(StrEnum):
    """Name the programs whose names columns may have."""

    scikit_mobility = "scikit-mobility"


class ProfileName(StrEnum):
    """Name the profiles of metrics."""

    paper = "paper"
    adatrace = "adatrace"
    mobility = "mobility"
    all = "all"


def setting(methods: str, help: str, default: str | None, *names: str) -> Any:
    """Declare an option for a setting of some methods; left out, it is the method's default."""
    return typer.Option(*names, help=f"{methods}: {help}", show_default=default or False)


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
OutputPath = Annotated[Path, typer.Option("--output", "-o", help="Where to write; used as it is given.")]
PageTitle = Annotated[
    str | None, typer.Option("--title", metavar="TEXT", help="What the page is called; it must be public.")
]
PageNote = Annotated[
    str | None,
    typer.Option("--note", metavar="TEXT", help="A public word on the page: who publishes it, whom to ask."),
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")]
Names = Annotated[
    NamesName | None,
    typer.Option("--names", help="Name the columns as this program does: uid, tid, datetime, lat, lng."),
]
ThreadCount = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Threads to work on; all cores by default. Changes no result."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors and warnings.")]


@dataclass(frozen=True)
class SpeakingOptions:
    """Say how a command speaks."""

    quiet: Quiet = False
    as_json: AsJson = False


@dataclass(frozen=True)
class WorkingOptions(SpeakingOptions):
    """Say also on how many threads to work."""

    threads: ThreadCount = None


@dataclass(frozen=True)
class OutputOptions(WorkingOptions):
    """Say also whether to overwrite."""

    force: Force = False
    names: Names = None


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
    time_format: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN", help="How times are written, such as '%d/%m/%Y %H:%M'; else ISO 8601 (iso)."
        ),
    ] = None
    time_unit: Annotated[
        TimeUnitName | None,
        typer.Option(help="What times that are numbers count since 1970; else they only set the order."),
    ] = None
    format: Annotated[
        FormatName | None,
        typer.Option(help="The format of the (real) input; of a folder, read only files of this format."),
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
            time_format=self.time_format,
            time_unit=self.time_unit.value if self.time_unit else None,
            format=self.format.value if self.format else None,
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
    method: Annotated[MethodName, typer.Option(help="How to synthesize; see docs/choosing.md.")] = (
        MethodName.bridgetrace
    )
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
        OrderName | None,
        setting("privtrace", "Order of the Markov model, chosen by state or fixed.", "adaptive"),
    ] = None
    coarse_factor: Annotated[
        float | None, setting("bridgetrace", "Visits of a coarse cell, in errors of its density.", "1.2")
    ] = None
    cell_factor: Annotated[
        float | None, setting("bridgetrace", "Visits that a cell should have, in errors of a move.", "32.0")
    ] = None
    zone_factor: Annotated[
        float | None, setting("bridgetrace", "Trips between two zones, in errors of one.", "1.5")
    ] = None
    max_zones: Annotated[int | None, setting("bridgetrace", "Zones at most.", "128")] = None
    rounds: Annotated[
        int | None, setting("bridgetrace", "Rounds of fitting walks to what was measured.", "4")
    ] = None
    spacing: Annotated[
        float | None,
        setting(
            "bridgetrace",
            "Meters (or planar units) between points; left out, 1/160 of the region's shorter side.",
            None,
        ),
    ] = None
    K: Annotated[int | None, setting("bridgetrace, privtrace", "Coarse cells per side.", None, "--K")] = None
    c: Annotated[float | None, setting("privtrace", "The paper's K = sqrt(count / c).", None, "--c")] = None
    trip_estimation: Annotated[
        bool | None, setting("privtrace", "Correct starts for trip length.", "trip-estimation")
    ] = None
    max_states: Annotated[
        int | None, setting("bridgetrace, privtrace", "States at most.", "20000, privtrace 3000")
    ] = None
    states_factor: Annotated[
        float | None, setting("privtrace", "Scale the number of states; 1 balances noise and data.", "1.5")
    ] = None
    states_per_coarse_cell: Annotated[
        float | None, setting("privtrace", "States per coarse cell, on average.", "6.0")
    ] = None
    population: Annotated[
        float | None, setting("privtrace", "The paper's rule for the second layer.", None)
    ] = None
    theta1: Annotated[
        float | None, setting("privtrace", "First order for states with fewer moves than this.", None)
    ] = None
    theta2: Annotated[
        float | None,
        setting("privtrace", "First order if the top successor is so many times the next.", "5.0"),
    ] = None
    N: Annotated[int | None, setting("adatrace", "Cells per side.", None, "--N")] = None
    cells_factor: Annotated[
        float | None, setting("adatrace", "Scale the number of trips that are told apart.", "0.2")
    ] = None
    fine_factor: Annotated[
        float | None, setting("adatrace", "Visits of a fine cell, in multiples of their noise.", "1.0")
    ] = None
    max_cells: Annotated[int | None, setting("adatrace", "Fine cells at most.", "10000")] = None
    max_extra: Annotated[
        int | None, setting("adatrace", "Cells of a path beyond the shortest one at most.", None)
    ] = None
    height: Annotated[int | None, setting("dpt", "Levels of the prefix trees.", "3")] = None
    finest: Annotated[int | None, setting("dpt", "Cells per side of the finest system.", None)] = None
    max_systems: Annotated[int | None, setting("dpt", "Reference systems at most.", "8")] = None
    mapping: Annotated[
        MappingName | None, setting("dpt", "Which system encodes a pair of points.", "speed")
    ] = None
    hysteresis: Annotated[
        bool | None, setting("dpt", "Stay in a system as long as it can encode the next pair.", "hysteresis")
    ] = None
    load: Annotated[
        float | None, setting("dpt", "Nodes of the finest system may hold so many times their noise.", "0.8")
    ] = None
    keep: Annotated[
        float | None, setting("dpt", "Keep systems whose nodes hold so many times their noise.", "0.3")
    ] = None
    expand: Annotated[
        float | None, setting("dpt", "Expand nodes that hold so many times their noise.", "2.0")
    ] = None
    max_contexts: Annotated[int | None, setting("dpt", "Expanded nodes of a level at most.", "500000")] = None
    heading_moves: Annotated[int | None, setting("dpt", "The last moves that make the heading.", "5")] = None
    heading_strength: Annotated[
        float | None, setting("dpt", "How much a walk keeps its heading; 0 is not at all.", "1.0")
    ] = None
    second_layer: Annotated[
        bool | None, setting("privtrace, adatrace", "Divide dense coarse cells.", "second-layer")
    ] = None
    density_per_cell: Annotated[
        float | None, setting("privtrace, adatrace", "Visits that a fine cell should hold.", None)
    ] = None
    max_steps: Annotated[
        int | None, setting("privtrace, dpt", "Steps of a walk at most.", "1000, dpt by rule")
    ] = None
    count_share: Annotated[
        str | None,
        setting("all methods", "Epsilon's share for the count.", "0.01, privtrace 0.02, dpt 0.02"),
    ] = None
    density_share: Annotated[
        str | None, setting("bridgetrace", "Epsilon's share for count and coarse cells.", "0.06")
    ] = None
    visits_share: Annotated[str | None, setting("bridgetrace", "Epsilon's share for visits.", "0.36")] = None
    moves_share: Annotated[str | None, setting("bridgetrace", "Epsilon's share for moves.", "0.36")] = None
    shapes_share: Annotated[
        str | None, setting("bridgetrace", "Epsilon's share for diameters and lengths.", "0.09")
    ] = None
    grid_share: Annotated[
        str | None,
        setting("privtrace, adatrace", "Epsilon's share for count and grid.", "0.2, adatrace 0.05"),
    ] = None
    first_order_share: Annotated[
        str | None, setting("privtrace", "Epsilon's share for first order.", "0.4")
    ] = None
    second_order_share: Annotated[
        str | None,
        setting("privtrace", "Epsilon's share for second order; with --order 1 first order gets it.", "0.4"),
    ] = None
    fine_share: Annotated[
        str | None, setting("adatrace", "Epsilon's share for fine cells, out of the grid's.", "0.02")
    ] = None
    transitions_share: Annotated[
        str | None, setting("adatrace", "Epsilon's share for moves to neighbors.", "0.35")
    ] = None
    trips_share: Annotated[
        str | None, setting("bridgetrace, adatrace", "Epsilon's share for trips.", "0.13, adatrace 0.5")
    ] = None
    lengths_share: Annotated[str | None, setting("adatrace", "Epsilon's share for lengths.", "0.1")] = None
    systems_share: Annotated[
        str | None, setting("dpt", "Epsilon's share for count and reference systems.", "0.1")
    ] = None
    starts_share: Annotated[str | None, setting("dpt", "Epsilon's share for starts.", "0.1")] = None
    trees_share: Annotated[str | None, setting("dpt", "Epsilon's share for the prefix trees.", "0.8")] = None

    def synthesizer(self) -> Settings:
        """Make the synthesizer that the options describe."""
        from privtrace.cli.screen import spelled
        from privtrace.errors import SettingsError
        from privtrace.space.region import Region

        method = method_class(self.method)
        region = Region.parse(self.region)
        if self.epsilon is None:
            raise SettingsError("an epsilon is needed: the whole privacy budget, such as --epsilon 1")
        own = {field.name for field in fields(method)} - {"region", "epsilon", "unit"}
        given = {
            name: value
            for field in fields(MethodOptions)
            if (name := field.name) not in ("region", "epsilon", "method", "unit")
            and (value := getattr(self, name)) is not None
        }
        for name in sorted(given.keys() - own):
            others = [other.value for other in MethodName if name in _setting_names(other)]
            raise SettingsError(
                f"{spelled(name)} is a setting of {' and '.join(others)}, and the method is "
                f"{self.method.value}; leave it out, or take --method {others[0]}"
            )
        if self.order is not None:
            given["order"] = "adaptive" if self.order is OrderName.adaptive else int(self.order.value)
        if self.mapping is not None:
            given["mapping"] = self.mapping.value
        return method(region=region, epsilon=self.epsilon, unit=self.unit.value, **given)


def method_class(name: MethodName) -> type[BridgeTrace | PrivTrace | AdaTrace | DPT]:
    """Find the class of a method."""
    import privtrace

    classes: dict[MethodName, type[BridgeTrace | PrivTrace | AdaTrace | DPT]] = {
        MethodName.bridgetrace: privtrace.BridgeTrace,
        MethodName.privtrace: privtrace.PrivTrace,
        MethodName.adatrace: privtrace.AdaTrace,
        MethodName.dpt: privtrace.DPT,
    }
    return classes[name]


def _setting_names(name: MethodName) -> set[str]:
    return {field.name for field in fields(method_class(name))}


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
class ConvertOptions(WorkingOptions, InputOptions):
    """Say what to read and how to write it."""

    force: Force = False
    names: Names = None


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
    synthetic_time_format: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="As --time-format, which is for the real times alone."),
    ] = None
    synthetic_time_unit: Annotated[
        TimeUnitName | None, typer.Option(help="As --time-unit, which is for the real times alone.")
    ] = None
    synthetic_format: Annotated[
        FormatName | None, typer.Option(help="As --format, which is for the real input alone.")
    ] = None

    def synthetic_source(self, path: Path) -> FileSource:
        """Open the synthetic input as the options say.

        Whether its columns are called as the real ones, its header says, which is public.
        """
        from privtrace.errors import DataError, SettingsError

        reading = replace(
            self,
            columns=self.synthetic_columns,
            gap=self.synthetic_gap,
            time_format=self.synthetic_time_format,
            time_unit=self.synthetic_time_unit,
            format=self.synthetic_format,
        )
        if self.synthetic_columns is None and self.columns is not None:
            as_real = replace(reading, columns=self.columns)
            with suppress(DataError):
                replace(as_real, strict=False).source(path).close()  # reads no row: the header alone decides
                reading = as_real
        try:
            return reading.source(path)
        except DataError as error:
            words = re.sub(r"--(columns|gap|time-format|time-unit|format)\b", r"--synthetic-\1", str(error))
            raise DataError(words) from None
        except SettingsError as error:
            words = re.sub(r"\btime_(format|unit)\b", r"synthetic_time_\1", str(error))
            raise SettingsError(words.replace("--gap (", "--synthetic-gap (")) from None


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
