"""Declare the options that commands share, once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

if TYPE_CHECKING:
    from privtrace.io import FileSource
    from privtrace.io.columns import Declared
    from privtrace.methods.settings import Settings
    from privtrace.privacy.budget_file import BudgetFile

#: The method, where none is named.
DEFAULT_METHOD = "bridgetrace"


class FormatName(StrEnum):
    """Name the formats."""

    parquet = "parquet"
    csv = "csv"
    tsv = "tsv"
    geoparquet = "geoparquet"
    geoparquet_lines = "geoparquet-lines"
    gpkg = "gpkg"
    shp = "shp"
    fgb = "fgb"
    kml = "kml"
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


class EngineName(StrEnum):
    """Name what reads and counts the data."""

    local = "local"
    spark = "spark"


class UnitName(StrEnum):
    """Name what may be protected."""

    trajectory = "trajectory"
    user = "user"


class ProfileName(StrEnum):
    """Name the profiles of metrics."""

    paper = "paper"
    adatrace = "adatrace"
    mobility = "mobility"
    time = "time"
    all = "all"


AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing output.")]
InputText = Annotated[
    str, typer.Argument(metavar="TRIPS", help="A file, a folder, - for stdin, or a path for Spark.")
]
InputPath = Annotated[Path, typer.Argument(metavar="TRIPS", help="A file, a folder, or - for standard input.")]
RegionText = Annotated[
    str | None,
    typer.Option(metavar="W,S,E,N|FILE", help="The area: a box, or a file of polygons. Required."),
]
ProfileOption = Annotated[ProfileName, typer.Option("--profile", help="Which metrics.")]
EvaluationSeed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, help="Seed for circles, halves and walks: the same seed gives the same table."
    ),
]
OutputPath = Annotated[Path, typer.Option("--output", "-o", help="Where to write.")]
PageTitle = Annotated[
    str | None, typer.Option("--title", metavar="TEXT", help="The page's title; it must be public.")
]
PageNote = Annotated[
    str | None,
    typer.Option("--note", metavar="TEXT", help="A public note on the page: who publishes it, whom to ask."),
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")]
Names = Annotated[
    NamesName | None,
    typer.Option("--names", help="Use the column names of scikit-mobility: uid, tid, datetime, lat, lng."),
]
OutputCrs = Annotated[
    str | None,
    typer.Option("--output-crs", metavar="lonlat|EPSG:CODE", help="Write coordinates in this system."),
]
ThreadCount = Annotated[
    int | None,
    typer.Option("--threads", min=1, metavar="INTEGER", help="Number of threads; all cores by default."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")]


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
    output_crs: OutputCrs = None


@dataclass(frozen=True)
class InputOptions:
    """Say how to read the input."""

    columns: Annotated[
        str | None,
        typer.Option(
            metavar="ROLE=NAME,...",
            help="Column names, for example lon=X,lat=Y,traj_id=Z.",
        ),
    ] = None
    crs: Annotated[
        str | None,
        typer.Option(metavar="SYSTEM", help="lonlat, planar, or a code: EPSG:3763."),
    ] = None
    gap: Annotated[
        float | None,
        typer.Option(metavar="MINUTES", help="Cut logs into trips wherever a gap is longer."),
    ] = None
    time_format: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="How times are written; ISO 8601 (iso) by default."),
    ] = None
    time_unit: Annotated[
        TimeUnitName | None,
        typer.Option(help="The unit of numeric times since 1970."),
    ] = None
    timezone: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="Time zone of local times: Europe/Lisbon."),
    ] = None
    format: Annotated[
        FormatName | None,
        typer.Option(metavar="NAME", help="The input format; see `help convert`."),
    ] = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first bad row instead of dropping it.")
    ] = False

    def source(self, path: Path) -> FileSource:
        """Open the input as the options say."""
        return self._checked(self._opened(path))

    def _opened(self, path: Path, prefix: str = "") -> FileSource:
        """Open an input by its header; messages spell options with the prefix."""
        from privtrace.io import open_declared

        return open_declared(path, self.declared(prefix), self.format.value if self.format else None)

    def declared(self, prefix: str = "") -> Declared:
        """Say how the input is to be read."""
        from privtrace.io.columns import Declared, parse_columns

        return Declared.of(
            self.crs,
            columns=parse_columns(self.columns, prefix=prefix) if self.columns else None,
            gap_minutes=self.gap,
            time_format=self.time_format,
            time_unit=self.time_unit.value if self.time_unit else None,
            timezone=self.timezone,
            prefix=prefix,
        )

    def _checked(self, source: FileSource) -> FileSource:
        """Refuse a source with a bad row, where the options ask for it."""
        from privtrace.errors import DataError

        if self.strict and (fault := next(source.faults(), None)) is not None:
            raise DataError(
                f"{fault} (for the curator only, NOT PRIVATE); fix the row, or leave out --strict to drop "
                "bad rows (privtrace check lists them all)"
            )
        return source


@dataclass(frozen=True)
class MethodOptions:
    """Say how to synthesize: the method, and the settings that were given, as they were written."""

    method: Annotated[str, typer.Option(metavar="NAME")] = DEFAULT_METHOD
    given: Mapping[str, str | bool] = field(default_factory=dict)  # by name; no option of its own

    def synthesizer(self, **settings: str) -> Settings:
        """Make the synthesizer that the options describe; `settings` come on top of them."""
        from privtrace.methods.registry import find

        method = find(self.method).settings
        declared = method.declared()
        values: dict[str, Any] = {
            name: value if isinstance(value, bool) else declared[name].parse(value)
            for name, value in {**self.given, **settings}.items()
        }
        needed: dict[str, Any] = {name: None for name, one in declared.items() if one.is_required}
        return method(**needed | values)


@dataclass(frozen=True)
class FitOptions(OutputOptions, InputOptions, MethodOptions):
    """Say what to fit, how, and whose budget it spends."""

    budget_file: Annotated[
        Path | None,
        typer.Option(
            metavar="NAME.ledger",
            help="Charge the fit to this budget file.",
        ),
    ] = None
    limit: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Total epsilon that a new budget file allows."),
    ] = None
    engine: Annotated[EngineName, typer.Option("--engine", help="Count here, or on Spark.")] = EngineName.local
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Where Spark runs: local[4], yarn, sc://HOST.")
    ] = None
    persist: Annotated[
        bool, typer.Option("--persist", help="Let Spark store rows between passes: private.")
    ] = False
    noise_seed: Annotated[
        int | None,
        typer.Option(metavar="SEED", help="Repeatable noise for benchmarks: NOT PRIVATE."),
    ] = None

    @property
    def region(self) -> str | None:
        """Give the region as it was written: it may be a file."""
        return cast("str | None", self.given.get("region"))

    def account(self, note: str) -> BudgetFile | None:
        """Open the budget file, if one is named; the note goes along with the fit."""
        from privtrace.errors import SettingsError
        from privtrace.privacy.budget_file import BudgetFile

        if self.budget_file is None:
            if self.limit is not None:
                raise SettingsError("--limit is the limit of a budget file; name the file with --budget-file")
            return None
        return BudgetFile(self.budget_file, self.limit, note)


@dataclass(frozen=True)
class ConvertOptions(WorkingOptions, InputOptions):
    """Say what to read and how to write it."""

    force: Force = False
    names: Names = None
    output_crs: OutputCrs = None


@dataclass(frozen=True)
class ComparingOptions(WorkingOptions, InputOptions):
    """Say how to read two inputs."""

    synthetic_columns: Annotated[
        str | None,
        typer.Option(
            metavar="ROLE=NAME,...",
            help="--columns for the synthetic file; by default the same, or known names.",
        ),
    ] = None
    synthetic_gap: Annotated[
        float | None,
        typer.Option(
            metavar="MINUTES", help="--gap for the synthetic file; --gap itself is for the real one only."
        ),
    ] = None
    synthetic_time_format: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="--time-format for the synthetic file."),
    ] = None
    synthetic_time_unit: Annotated[
        TimeUnitName | None, typer.Option(help="--time-unit for the synthetic file.")
    ] = None
    synthetic_timezone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="--timezone for the synthetic file; by default the same.")
    ] = None
    synthetic_format: Annotated[FormatName | None, typer.Option(help="--format for the synthetic file.")] = None

    def synthetic_source(self, path: Path) -> FileSource:
        """Open the synthetic input as the options say.

        Whether its columns are called as the real ones, its header says, which is public.
        """
        from privtrace.errors import DataError

        reading = replace(
            self,
            columns=self.synthetic_columns,
            gap=self.synthetic_gap,
            time_format=self.synthetic_time_format,
            time_unit=self.synthetic_time_unit,
            timezone=self.timezone if self.synthetic_timezone is None else self.synthetic_timezone,
            format=self.synthetic_format,
        )
        source = None
        if self.synthetic_columns is None and self.columns is not None:
            with suppress(DataError):  # the header alone decides
                source = replace(reading, columns=self.columns)._opened(path, "synthetic_")
        return self._checked(source or reading._opened(path, "synthetic_"))


@dataclass(frozen=True)
class CompetingOptions(ComparingOptions):
    """Say also what all methods are told that are compared."""

    unit: Annotated[
        UnitName | None, typer.Option(help="What is protected; with user, pass --max-per-user too.")
    ] = None
    max_per_user: Annotated[
        int | None, typer.Option(metavar="INTEGER", help="Most trips of one user that count.")
    ] = None
    times: Annotated[
        bool | None,
        typer.Option(
            "--times/--no-times",
            help="Synthesize times with all methods; by default if the profile looks at them.",
        ),
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """List the settings that were given."""
        given = {
            "unit": None if self.unit is None else self.unit.value,
            "max_per_user": self.max_per_user,
            "times": self.times,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class ExplainOptions(WorkingOptions, InputOptions, MethodOptions):
    """Say what to explain."""
