"""Find out what the columns of a file mean, from their names and types alone: both are public."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from privtrace.calendar import Zone
from privtrace.errors import DataError, SettingsError
from privtrace.io.clock import ISO_CLOCK, Clock
from privtrace.io.dates import UTC
from privtrace.trajectories import Crs

#: The names of the two coordinates, by what they mean.
PAIRS: dict[Crs, tuple[str, str]] = {"lonlat": ("lon", "lat"), "planar": ("x", "y")}
TRAJECTORY = "traj_id"
USER = "user_id"
TIME = "t"
#: A column of text with this name holds calendar time; numbers are written under the name above.
CALENDAR = "datetime"
#: Names of the times of all points of a line: numbers, and calendar time; the first is that which is written.
LIST = "times"
CALENDAR_LISTS = ("coordTimes", "datetimes")

#: What a column may be called, by role; case, blanks, "_" and "-" make no difference.
KNOWN_NAMES: dict[str, tuple[str, ...]] = {
    TRAJECTORY: ("traj_id", "tid", "trip_id", "trajectory_id", "trajectory", "trip"),
    USER: ("user_id", "uid", "taxi_id", "user", "driver_id"),
    TIME: ("t", "time", "timestamp", CALENDAR),
    "lon": ("lon", "lng", "long", "longitude"),
    "lat": ("lat", "latitude"),
    "x": ("x",),
    "y": ("y",),
}
_SEPARATORS = re.compile(r"[\s_-]")
#: Trajectories go by this name where no column has a name that says more.
LAST_RESORT = "id"

#: What options are called in Python where it is something else; None where Python has no such argument.
_ARGUMENTS = {"gap": "gap_minutes", "strict": None}
#: Options that hold for both inputs of a command that reads two.
_SHARED = ("crs", "strict")

#: Names listed in a message, at most; a table of a thousand columns would drown the cure.
_NAMES_SHOWN = 20


@dataclass(frozen=True)
class Declared:
    """Hold what the caller says about a file; it wins over what the file says."""

    crs: Crs | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # role -> name; an empty name switches a role off
    gap_minutes: float | None = None  # if given, the log of a user may stand in for trajectories
    time_format: str | None = None  # the pattern of times that are text
    time_unit: str | None = None  # the unit of times that are numbers
    timezone: str = UTC  # in which times are local that name none, and in which all are shown: an IANA name
    wants_times: bool = False  # undeclared text is ISO 8601 then, and numbers of no unit set the order alone
    lenient: bool = False  # a file of many, which may lack a user or a time that has a name: its rows have none
    prefix: str = ""  # of the options that declare it: "synthetic_" for the second input of a command

    @classmethod
    def of(
        cls,
        crs: Crs | None = None,
        columns: Mapping[str, str] | None = None,
        gap_minutes: float | None = None,
        time_format: str | None = None,
        time_unit: str | None = None,
        *,
        timezone: str | None = None,
        prefix: str = "",
    ) -> Declared:
        """Take what a caller leaves out as undeclared."""
        zone = UTC if timezone is None else timezone
        return cls(crs, columns or {}, gap_minutes, time_format, time_unit, zone, prefix=prefix)

    def __post_init__(self) -> None:
        if self.crs is not None and self.crs not in PAIRS:
            raise SettingsError(f"{self.option('crs')} must be 'lonlat' or 'planar', not {self.crs!r}")
        gap = self.gap_minutes
        if gap is not None and (isinstance(gap, bool) or not isinstance(gap, Real) or not 0 < gap < math.inf):
            raise SettingsError(f"{self.option('gap')} must be a positive number of minutes, not {gap!r}")
        for role in self.columns:
            if role not in KNOWN_NAMES:
                raise SettingsError(
                    f"{self.option('columns')}: no role is called {role!r}; roles are {', '.join(KNOWN_NAMES)}"
                )
        named = [name for name in self.columns.values() if name]
        for name in named:
            if named.count(name) > 1:
                raise SettingsError(
                    f"{self.option('columns')}: {name!r} is named for two roles; name it for one"
                )
        Clock.declared(self.time_format, self.time_unit, self.option)  # refuses what makes no sense
        self._check_timezone()

    def _check_timezone(self) -> None:
        """Refuse a time zone that there is not, before any row, whether there are times or not."""
        if self.timezone == UTC:
            return
        if not isinstance(self.timezone, str):
            raise SettingsError(
                f"{self.option('timezone')} must be an IANA name, such as Europe/Lisbon, not {self.timezone!r}"
            )
        try:
            Zone.named(self.timezone)
        except SettingsError as refusal:
            raise SettingsError(f"{self.option('timezone')}: {refusal}") from None

    def option(self, name: str, value: str = "", argument: str = "") -> str:
        """Spell an option for a message; option("gap", "30", "30") gives "--gap 30 (gap_minutes=30)".

        With a prefix there is no argument to name, as Python opens each input by itself: "--synthetic-gap 30".
        """
        flag, known = self._flag(name, value), _ARGUMENTS.get(name, name)
        if known is None or self._prefix(name):
            return flag
        return f"{flag} ({known}{argument and f'={argument}'})"

    def naming(self, *roles: str) -> str:
        """Spell how columns are named: "--columns lon=NAME,lat=NAME (columns={'lon': NAME, 'lat': NAME})"."""
        given = ",".join(f"{role}=NAME" for role in roles)
        return self.option("columns", given, "{" + ", ".join(f"{role!r}: NAME" for role in roles) + "}")

    def time_options(self, word: str) -> str:
        """Spell both options for the form of times: "--time-format or --time-unit (time_format, time_unit)"."""
        names = ("time_format", "time_unit")
        flags = f" {word} ".join(self._flag(name) for name in names)
        return flags if self.prefix else f"{flags} ({', '.join(names)})"

    def _flag(self, name: str, value: str = "") -> str:
        flag = f"--{self._prefix(name)}{name}".replace("_", "-")
        return f"{flag} {value}" if value else flag

    def _prefix(self, name: str) -> str:
        return "" if name in _SHARED else self.prefix

    @property
    def either_crs(self) -> str:
        """Spell both choices of a coordinate system."""
        return " or ".join(self.option("crs", crs, repr(crs)) for crs in PAIRS)

    @property
    def has_clock(self) -> bool:
        """Say whether the form of times is declared."""
        return self.time_format is not None or self.time_unit is not None

    def clock(self, name: str | None, *, on_calendar: bool = False) -> Clock:
        """Say how the times in a column of this name are read.

        Without a word about their form, text is ISO 8601 where a clock is wanted or the name promises one.
        Elsewhere numbers do as well, which set the order of points whatever their unit. Where times of several
        names or files come together, `on_calendar` makes all of one type.
        """
        on_calendar = on_calendar or self.lenient
        declared = Clock.declared(self.time_format, self.time_unit, self.option)
        if declared is not None:
            return replace(declared, on_calendar=on_calendar, zone=self.timezone)
        is_cut = self.gap_minutes is not None
        is_open = not is_cut and not (name is not None and is_calendar(name))  # numbers may set the order
        return Clock(
            order_only=is_open and not self.wants_times,
            on_calendar=on_calendar,
            zone=self.timezone,
            keeps_order=is_open and self.wants_times,
        )

    def lacking(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield roles, with their names, that must be among the columns of a file and are not."""
        for role, name in self.columns.items():
            if name and name not in names and not (self.lenient and role in (USER, TIME)):
                yield role, name


def parse_columns(text: str, *, prefix: str = "") -> dict[str, str]:
    """Read columns as a command line gives them: "lon=X,lat=Y" gives {"lon": "X", "lat": "Y"}."""
    option = Declared(prefix=prefix).option("columns")
    columns: dict[str, str] = {}
    for item in text.split(","):
        role, equals, name = (word.strip() for word in item.partition("="))
        if not role or not equals:
            raise SettingsError(
                f"{option}: {item.strip()!r} is not ROLE=NAME; write them as lon=X,lat=Y,traj_id=Z"
            )
        if role in columns:
            raise SettingsError(f"{option}: {role!r} is there twice; give it once")
        columns[role] = name
    Declared(columns=columns, prefix=prefix)  # refuses roles that there are not
    return columns


class Roles(Protocol):
    """Say what is known of each row: what its point means, and where its user and time stand, if anywhere."""

    @property
    def crs(self) -> Crs:
        """Say what points mean."""
        ...

    @property
    def user(self) -> str | None:
        """Name the column of users."""
        ...

    @property
    def time(self) -> str | None:
        """Name the column of times."""
        ...


@dataclass(frozen=True)
class Layout:
    """Say which column of a file plays which role."""

    trajectory: str  # where logs are cut and no column names trajectories, that of the users
    x: str
    y: str
    crs: Crs
    user: str | None
    time: str | None
    clock: Clock = ISO_CLOCK

    @property
    def keys(self) -> list[str]:
        """List the columns that say which trajectory a row belongs to."""
        return list(dict.fromkeys(name for name in (self.trajectory, self.user) if name is not None))

    @property
    def names(self) -> list[str]:
        """List the columns to read."""
        return [*self.keys, *self.values]

    @property
    def values(self) -> list[str]:
        """List the columns that differ from point to point."""
        return [self.x, self.y, *([self.time] if self.time is not None else [])]


def is_calendar(name: str) -> bool:
    """Tell whether the name of a column declares calendar time."""
    return _plainly(name) in {_plainly(known) for known in (CALENDAR, *CALENDAR_LISTS)}


def resolve(path: Path, names: Sequence[str], declared: Declared) -> Layout:
    """Give every role its column: what is declared first, then what has a known name."""
    for role, name in declared.lacking(names):
        cure = f"check {declared.option('columns')}"
        raise _missing(path, f"no column {name!r} for {role}", names, declared, cure)
    columns = _candidates(names, declared)
    user = _only(path, USER, columns, declared)
    trajectory = _trajectories(path, columns, user, declared)
    if trajectory is None:
        cure = _cure_for_trajectories(user, declared)
        raise _missing(path, f"no column {TRAJECTORY!r}", names, declared, cure)
    meaning, pair = _pair(path, names, columns, declared)
    x, y = (_only(path, role, columns, declared) for role in pair)
    assert x is not None and y is not None
    time = _only(path, TIME, columns, declared)
    return Layout(trajectory, x, y, meaning, user, time, declared.clock(time))


def has_role(role: str, names: Sequence[str], declared: Declared) -> bool:
    """Say whether a role has a column, declared or of a known name."""
    return bool(_candidates(names, declared)[role])


def attributes(
    path: Path, names: Sequence[str], declared: Declared, *, points_only: bool = False
) -> tuple[str | None, str | None, str | None]:
    """Find the columns of trajectories, users and times beside a geometry; beside lines all may be absent.

    The times of all points of a line may stand in one column, as a list.
    """
    refuse_coordinates(path, declared)
    for role, name in declared.lacking(names):
        cure = f"check {declared.option('columns')}"
        raise _missing(path, f"no {name!r} for {role}", names, declared, cure)
    columns = _candidates(names, declared, KNOWN_NAMES | {TIME: (*KNOWN_NAMES[TIME], LIST, *CALENDAR_LISTS)})
    user = _only(path, USER, columns, declared)
    trajectory = _trajectories(path, columns, user, declared)
    if trajectory is None and points_only:
        cure = _cure_for_trajectories(user, declared)
        raise _missing(path, f"no column {TRAJECTORY!r}", names, declared, cure)
    return trajectory, user, _only(path, TIME, columns, declared)


def _trajectories(
    path: Path, columns: Mapping[str, Sequence[str]], user: str | None, declared: Declared
) -> str | None:
    """Find the column of trajectories; where logs are cut, that of the users stands in for it."""
    return _only(path, TRAJECTORY, columns, declared) or (user if declared.gap_minutes is not None else None)


def refuse_coordinates(path: Path, declared: Declared) -> None:
    """Refuse names for coordinates, which features have in their geometries."""
    for role, name in declared.columns.items():
        if name and any(role in pair for pair in PAIRS.values()):
            raise DataError(
                f"{path}: its coordinates are those of its geometries; leave {role} out of "
                f"{declared.option('columns')}"
            )


class AttributeNames:
    """Know the names of one feature's attributes, as they are and plainly."""

    def __init__(self, names: Sequence[str], declared: Declared) -> None:
        taken = set(declared.columns.values())
        self._names, self._declared = names, declared
        self._free: dict[str, str] = {}
        for name in names:
            if name not in taken:
                self._free.setdefault(_plainly(name), name)

    def first_of(self, role: str, *known: str) -> str | None:
        """Find what plays a role: the attribute that is declared, else the first that is known.

        Known names have an order, so that a feature with two of them is read as well, whatever others have.
        """
        if role in self._declared.columns:
            name = self._declared.columns[role]
            return name if name and name in self._names else None
        return next((self._free[_plainly(name)] for name in known if _plainly(name) in self._free), None)


def n_known(names: Sequence[str], declared: Declared) -> int:
    """Count the roles that have a column."""
    return sum(1 for columns in _candidates(names, declared).values() if columns)


def _candidates(
    names: Sequence[str], declared: Declared, known_names: Mapping[str, tuple[str, ...]] = KNOWN_NAMES
) -> dict[str, list[str]]:
    """List the columns that could play each role; one that is declared plays no other."""
    taken = set(declared.columns.values())
    free = [name for name in names if name not in taken]

    def found(role: str) -> list[str]:
        if role in declared.columns:
            return [name for name in names if name and name == declared.columns[role]]
        known = {_plainly(name) for name in known_names[role]}
        columns = [name for name in free if _plainly(name) in known]
        if role == TRAJECTORY and not columns:
            return [name for name in free if _plainly(name) == LAST_RESORT]
        return columns

    return {role: found(role) for role in KNOWN_NAMES}


def _plainly(name: str) -> str:
    """Write a name as names are compared: "Trip-ID" gives "tripid"."""
    return _SEPARATORS.sub("", name).lower()


def _only(path: Path, role: str, columns: Mapping[str, Sequence[str]], declared: Declared) -> str | None:
    """Take the one column of a role, if there is one."""
    found = columns[role]
    if len(found) < 2:
        return found[0] if found else None
    if len(set(found)) == 1:
        raise DataError(f"{path}: there are {len(found)} columns {found[0]!r}; keep one of them")
    listed = " and ".join(repr(name) for name in found)
    raise DataError(f"{path}: columns {listed} could each be {role!r}; choose with {declared.naming(role)}")


def _cure_for_trajectories(user: str | None, declared: Declared) -> str:
    cure = f"name the trajectories' column {TRAJECTORY!r} or pass {declared.naming(TRAJECTORY)}"
    if user is None:
        return cure
    gap = declared.option("gap", "30", "30")
    return f"{cure}; or pass {gap} to cut the log of each user where it pauses so long"


def _pair(
    path: Path, names: Sequence[str], columns: Mapping[str, Sequence[str]], declared: Declared
) -> tuple[Crs, tuple[str, str]]:
    """Choose the two columns of coordinates and what they mean."""
    named = [meaning for meaning, pair in PAIRS.items() if any(declared.columns.get(role) for role in pair)]
    pairs = {meaning: pair for meaning, pair in PAIRS.items() if meaning in named or len(named) != 1}
    present = [meaning for meaning, pair in pairs.items() if all(columns[role] for role in pair)]
    if not present:
        begun = [pair for pair in pairs.values() if any(columns[role] for role in pair)]
        wanted = " and ".join(repr(role) for pair in begun for role in pair if not columns[role])
        what = f"no column {wanted}" if wanted else "no columns for the coordinates"
        cure = (
            "name the coordinates 'lon' and 'lat' (degrees) or 'x' and 'y' (planar), or pass "
            f"{declared.naming(*PAIRS['lonlat'])}"
        )
        raise _missing(path, what, names, declared, cure)
    if len(present) == 1:
        return declared.crs or present[0], PAIRS[present[0]]
    if declared.crs is None:
        raise DataError(
            f"{path}: columns 'lon', 'lat' and 'x', 'y' are both there; pass {declared.either_crs} to choose"
        )
    return declared.crs, PAIRS[declared.crs]


def _missing(path: Path, what: str, names: Sequence[str], declared: Declared, cure: str) -> DataError:
    """Say what is missing and what was found, unless what was found may be a row and not a header."""
    if n_known(names, declared) == 0 or any(_looks_like_data(name) for name in names):
        return DataError(
            f"{path}: {what}; none of the {len(names)} columns that it seems to have has a known name, and "
            "perhaps there is no header: add a header row such as traj_id,lon,lat, or say what the columns "
            f"are with {declared.naming(*PAIRS['lonlat'], TRAJECTORY)}"
        )
    shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
    return DataError(f"{path}: {what}; found {shown}; {cure}")


def _looks_like_data(name: str) -> bool:
    """Tell a value from a name, so that a table without header is never quoted."""
    words = re.split(r"[;|\s]+", name)
    numbers = (re.fullmatch(r"[+-]?[\d.][\d.,:eE+\-TZ]*", word) for word in words)
    return len(name) > 64 or not name.isprintable() or any(numbers)


def check_types(path: Path, layout: Layout, schema: pa.Schema, declared: Declared) -> None:
    """Refuse columns whose declared type cannot play their role."""
    wanted: list[tuple[str | None, Callable[[pa.DataType], bool], str]] = [
        (layout.trajectory, _is_id, "integers or text"),
        (layout.user, _is_id, "integers or text"),
        (layout.x, _is_number, "numbers"),
        (layout.y, _is_number, "numbers"),
        (layout.time, _is_time, "timestamps, numbers or text"),
    ]
    for name, fits, words in wanted:
        if name is not None and not fits(decoded_type(schema.field(name).type)):
            kind = schema.field(name).type
            raise DataError(f"{path}: column {name!r} holds {in_words(kind)}; convert it to {words}")
    _check_clock(path, layout.time, layout.clock, schema, declared)


def check_attributes(
    path: Path,
    schema: pa.Schema,
    trajectory: str | None,
    user: str | None,
    time: str | None,
    clock: Clock,
    declared: Declared,
) -> None:
    """Refuse columns beside a geometry whose declared type cannot play their role."""
    for name, fits, words in (
        (trajectory, _is_id, "integers or text"),
        (user, _is_id, "integers or text"),
        (time, _is_time_of_feature, "timestamps, numbers, text, or lists of them"),
    ):
        if name is not None and not fits(decoded_type(schema.field(name).type)):
            kind = schema.field(name).type
            raise DataError(f"{path}: column {name!r} holds {in_words(kind)}; convert it to {words}")
    _check_clock(path, time, clock, schema, declared)


def _check_clock(path: Path, time: str | None, clock: Clock, schema: pa.Schema, declared: Declared) -> None:
    """Refuse a declared form of times that the type of their column contradicts; of many files, none does."""
    if time is None or not clock.is_declared or clock.on_calendar:
        return
    kind = _value(schema.field(time).type)
    if _is_calendar(kind):
        raise DataError(
            f"{path}: column {time!r} holds {kind}, a type that says what its times are; leave out "
            f"{declared.time_options('and')}"
        )
    if _is_number(kind) and not pa.types.is_null(kind) and clock.unit is None:
        raise DataError(
            f"{path}: column {time!r} holds {kind}, and {declared.option('time_format')} is for text; say in "
            f"what unit the numbers count since 1970 with {declared.option('time_unit')}"
        )


def tells_time(kind: pa.DataType, clock: Clock) -> bool:
    """Say whether a column of this type can have calendar times: numbers only in a declared unit."""
    kind = _value(kind)
    return clock.unit is not None or pa.types.is_null(kind) or not _is_number(kind)


def named_zone(kind: pa.DataType) -> str | None:
    """Name the time zone in the type of a column of times, lists too; UTC there says where nobody lives."""
    zone = getattr(_value(kind), "tz", None)
    return None if zone in ("UTC", "Etc/UTC", "GMT", "Z", "+00:00") else zone


def decoded_type(kind: pa.DataType) -> pa.DataType:
    """Look through a dictionary to the type of its values."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def in_words(kind: pa.DataType) -> str:
    """Name a type for a message; text goes by many names."""
    return "text" if is_text(decoded_type(kind)) else str(kind)


def _is_number(kind: pa.DataType) -> bool:
    # A column without a single value is declared as null by some writers.
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return bool(number or pa.types.is_null(kind))


def _is_calendar(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _is_time(kind: pa.DataType) -> bool:
    return _is_number(kind) or _is_calendar(kind) or is_text(kind)


def _is_time_of_feature(kind: pa.DataType) -> bool:
    return _is_time(_value(kind))


def _value(kind: pa.DataType) -> pa.DataType:
    """Look through dictionaries and lists to the type of their values."""
    kind = decoded_type(kind)
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return decoded_type(kind.value_type) if listed else kind


def _is_id(kind: pa.DataType) -> bool:
    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
    return any(is_kind(kind) for is_kind in plain) or is_text(kind)


def is_text(kind: pa.DataType) -> bool:
    """Tell whether values are runs of bytes, valid text or not."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )
