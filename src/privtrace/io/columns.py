"""Find out what the columns of a file mean, from their names and types alone: both are public."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from privtrace import coordinates
from privtrace.calendar import is_known
from privtrace.errors import DataError, SettingsError
from privtrace.parsing.clock import ISO_CLOCK, Clock
from privtrace.parsing.dates import UTC
from privtrace.rows import is_text
from privtrace.trajectories import Crs

#: The names of the two coordinates, by what they mean.
PAIRS: dict[Crs, tuple[str, str]] = {"lonlat": ("lon", "lat"), "planar": ("x", "y")}
TRAJECTORY = "traj_id"
USER = "user_id"
TIME = "t"
ORDER = "order"
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
    ORDER: ("order", "sequence", "seq"),
    "lon": ("lon", "lng", "long", "longitude"),
    "lat": ("lat", "latitude"),
    "x": ("x",),
    "y": ("y",),
}
#: The signs that make no difference; all blanks stand among the first signs that there are.
_UNSEEN = dict.fromkeys(sign for sign in range(1 << 14) if chr(sign).isspace() or chr(sign) in "_-")
#: Names, as they are compared, of coordinates that are never degrees.
_METERS = {"easting", "northing", "utmx", "utmy", "utme", "utmn", "utmeasting", "utmnorthing"}
#: Trajectories go by this name where no column has a name that says more.
LAST_RESORT = "id"

#: Families of types. A column without a single value is declared as null by some writers.
_CALENDAR = (pa.types.is_timestamp, pa.types.is_date)
_ID = (pa.types.is_integer, pa.types.is_floating, pa.types.is_null, is_text)
_NUMBER = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)

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
    def of(cls, crs: Crs | None = None, **said: Any) -> Declared:
        """Take what a caller leaves out, or gives as None, as undeclared."""
        return cls(crs, **{name: value for name, value in said.items() if value is not None})

    def __post_init__(self) -> None:
        if self.crs is not None:
            object.__setattr__(self, "crs", coordinates.settled(self.crs, self.option("crs")))
        gap = self.gap_minutes
        if gap is not None and (isinstance(gap, bool) or not isinstance(gap, Real) or not 0 < gap < math.inf):
            raise SettingsError(f"{self.option('gap')} must be a positive number of minutes, not {gap!r}")
        option, named = self.option("columns"), [*filter(None, self.columns.values())]
        for role, name in self.columns.items():
            if role not in KNOWN_NAMES:
                raise SettingsError(f"{option}: no role is called {role!r}; roles are {', '.join(KNOWN_NAMES)}")
            if named.count(name) > 1:
                raise SettingsError(f"{option}: {name!r} is named for two roles; name it for one")
        Clock.declared(self.time_format, self.time_unit, self.option)  # refuses what makes no sense
        if not is_known(self.timezone):
            unknown = f"there is no time zone {self.timezone!r:.60}"
            cure = "give an IANA name like Europe/Lisbon or UTC"
            raise SettingsError(f"{self.option('timezone')}: {unknown}; {cure}")

    def option(self, name: str, value: str = "", argument: str = "") -> str:
        """Spell an option for a message; option("gap", "30", "30") gives "--gap 30 (gap_minutes=30)".

        With a prefix there is no argument to name, as Python opens each input by itself: "--synthetic-gap 30".
        """
        prefix = "" if name in _SHARED else self.prefix
        flag = f"--{prefix}{name}".replace("_", "-") + (value and f" {value}")
        known = _ARGUMENTS.get(name, name)
        return flag if known is None or prefix else f"{flag} ({known}{argument and f'={argument}'})"

    def naming(self, *roles: str) -> str:
        """Spell how columns are named: "--columns lon=NAME,lat=NAME (columns={'lon': NAME, 'lat': NAME})"."""
        given = ",".join(f"{role}=NAME" for role in roles)
        return self.option("columns", given, "{" + ", ".join(f"{role!r}: NAME" for role in roles) + "}")

    def without(self, role: str) -> str:
        """Spell how a role is switched off: "--columns t= (columns={'t': ''})"."""
        return self.option("columns", f"{role}=", f"{{{role!r}: ''}}")

    def time_options(self, word: str) -> str:
        """Spell both options for the form of times: "--time-format or --time-unit", and their arguments."""
        return f"{self.option('time_format')} {word} {self.option('time_unit')}"

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
        clock = Clock.declared(self.time_format, self.time_unit, self.option)
        if clock is None:
            # Numbers may set the order.
            is_open = self.gap_minutes is None and not (name is not None and is_calendar(name))
            wanted = self.wants_times
            clock = Clock(order_only=is_open and not wanted, keeps_order=is_open and wanted)
        return replace(clock, on_calendar=on_calendar or self.lenient, zone=self.timezone)


def parse_columns(text: str, *, prefix: str = "") -> dict[str, str]:
    """Read columns as a command line gives them: "lon=X,lat=Y" gives {"lon": "X", "lat": "Y"}."""
    option = Declared(prefix=prefix).option("columns")
    columns: dict[str, str] = {}
    for item in text.split(","):
        role, equals, name = (word.strip() for word in item.partition("="))
        if not role or not equals:
            cure = "write them as lon=X,lat=Y,traj_id=Z"
            raise SettingsError(f"{option}: {item.strip()!r} is not ROLE=NAME; {cure}")
        if role in columns:
            raise SettingsError(f"{option}: {role!r} is given twice; give it once")
        columns[role] = name
    Declared(columns=columns, prefix=prefix)  # refuses roles that there are not
    return columns


@dataclass(frozen=True)
class Layout:
    """Say which column of a table, or which attribute of features, plays which role."""

    trajectory: str | None  # None where each line is one; that of users where logs are cut and nothing names it
    user: str | None
    time: str | None
    crs: Crs
    clock: Clock = ISO_CLOCK
    x: str = ""  # features have coordinates in their geometries
    y: str = ""
    order: str | None = None  # of tables alone

    @property
    def names(self) -> list[str]:
        """List the columns to read."""
        every = (self.trajectory, self.user, self.x, self.y, self.time, self.order)
        return list(dict.fromkeys(filter(None, every)))

    @property
    def by_place(self) -> bool:
        """Say whether points that tie are ordered by x, then y: rows of points have no order of their own."""
        return self.x != "" and (self.time is not None or self.order is not None)


def candidates(
    names: Sequence[str], declared: Declared, times: Sequence[str] = KNOWN_NAMES[TIME]
) -> dict[str, list[str]]:
    """List for each role which names may play it: that which is declared, else known ones, in their order."""
    free: dict[str, list[str]] = {}
    for name in names:
        if name not in declared.columns.values():  # what is declared plays no other role
            free.setdefault(_plainly(name), []).append(name)
    found = {
        role: [name for one in known for name in free.get(_plainly(one), ())]
        for role, known in {**KNOWN_NAMES, TIME: times}.items()
    }
    found[TRAJECTORY] = found[TRAJECTORY] or free.get(LAST_RESORT, [])
    given = declared.columns.items()
    return {**found, **{role: [name for name in names if name and name == one] for role, one in given}}


class _Header:
    """Give every role its column, or refuse; one that could be two columns' is refused, too."""

    def __init__(self, path: Path, names: Sequence[str], declared: Declared, *lists: str) -> None:
        self.path, self.names, self.declared = path, names, declared
        self.found = candidates(names, declared, (*KNOWN_NAMES[TIME], *lists))

    def attributes(self, *, needs_ids: bool) -> tuple[str | None, str | None, str | None]:
        """Find the columns of trajectories, users and times; where logs are cut, users are trajectories."""
        declared = self.declared
        for role, name in declared.columns.items():
            may_lack = declared.lenient and role in (USER, TIME, ORDER)
            if name and name not in self.names and not may_lack:
                self.refuse(f"no column {name!r} for {role}", f"check {declared.option('columns')}")
        user = self.only(USER)
        trajectory = self.only(TRAJECTORY) or (user if declared.gap_minutes is not None else None)
        if trajectory is None and needs_ids:
            cure = f"name the trajectories' column {TRAJECTORY!r} or pass {declared.naming(TRAJECTORY)}"
            gap = f"pass {declared.option('gap', '30', '30')} to cut the log of each user where it pauses"
            self.refuse(f"no column {TRAJECTORY!r}", f"{cure}; or {gap}" if user else cure)
        return trajectory, user, self.only(TIME)

    def coordinates(self) -> tuple[Crs, str, str]:
        """Choose the two columns of coordinates and what they mean."""
        declared, found = self.declared, self.found
        named = [crs for crs, pair in PAIRS.items() if any(declared.columns.get(role) for role in pair)]
        pairs = {crs: pair for crs, pair in PAIRS.items() if crs in named or len(named) != 1}
        present = [crs for crs, pair in pairs.items() if all(found[role] for role in pair)]
        if not present:
            begun = [pair for pair in pairs.values() if any(found[role] for role in pair)]
            wanted = " and ".join(repr(role) for pair in begun for role in pair if not found[role])
            what = f"no column {wanted}" if wanted else "no columns for the coordinates"
            known = "name the coordinates 'lon' and 'lat' (degrees) or 'x' and 'y' (planar)"
            self.refuse(what, f"{known}, or pass {declared.naming(*PAIRS['lonlat'])}")
        if len(present) > 1 and declared.crs is None:
            cure = f"pass {declared.either_crs} to choose"
            raise DataError(f"{self.path}: columns 'lon', 'lat' and 'x', 'y' both exist; {cure}")
        crs = declared.crs or present[0]
        meant = "lonlat" if crs == "lonlat" else "planar"
        chosen = meant if meant in present else present[0]
        x, y = (self.only(role) or "" for role in PAIRS[chosen])
        if chosen == "lonlat":
            self.refuse_meters(crs, x, y)
        return crs, x, y

    def refuse_meters(self, crs: Crs, x: str, y: str) -> None:
        """Refuse columns in the roles of longitude and latitude whose system, or names, are those of meters."""
        declared, names = self.declared, f"columns {x!r} and {y!r}"
        as_planar = declared.option("columns", f"x={x},y={y}", f"{{'x': {x!r}, 'y': {y!r}}}")
        if coordinates.is_known(crs) and crs != "lonlat":
            cure = f"leave out {declared.option('crs')}, or say that they hold its coordinates with {as_planar}"
            raise DataError(f"{self.path}: {names} are longitude and latitude, but {crs} is not; {cure}")
        if {_plainly(x), _plainly(y)} & _METERS:
            cure = f"name their system with {declared.option('crs', 'EPSG:CODE', repr('EPSG:CODE'))}"
            what = "have names of projected coordinates, but roles of longitude and latitude"
            raise DataError(f"{self.path}: {names} {what}; {cure} and {as_planar}")

    def only(self, role: str) -> str | None:
        """Take the one column of a role, if there is one."""
        found = self.found[role]
        if len(found) < 2:
            return found[0] if found else None
        if len(set(found)) == 1:
            raise DataError(f"{self.path}: there are {len(found)} columns {found[0]!r}; keep one of them")
        listed = " and ".join(repr(name) for name in found)
        cure = f"choose with {self.declared.naming(role)}"
        raise DataError(f"{self.path}: columns {listed} could each be {role!r}; {cure}")

    def refuse(self, what: str, cure: str) -> NoReturn:
        """Say what is missing and what was found, unless what was found may be a row and not a header."""
        names = self.names
        if not any(self.found.values()) or any(_looks_like_data(name) for name in names):
            naming = self.declared.naming(*PAIRS["lonlat"], TRAJECTORY)
            cure = f"add a header row like traj_id,lon,lat, or name the columns with {naming}"
            unknown = f"none of its {len(names)} columns has a known name, and perhaps there is no header"
            raise DataError(f"{self.path}: {what}; {unknown}: {cure}")
        shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
        raise DataError(f"{self.path}: {what}; found {shown}; {cure}")


def resolve(path: Path, names: Sequence[str], declared: Declared) -> Layout:
    """Give every role of a table its column: what is declared first, then what has a known name."""
    header = _Header(path, names, declared)
    trajectory, user, time = header.attributes(needs_ids=True)
    crs, x, y = header.coordinates()
    several = declared.lenient and len(header.found[ORDER]) > 1  # no reason to leave a file of many out
    order = None if several else header.only(ORDER)
    return Layout(trajectory, user, time, crs, declared.clock(time), x, y, order)


def attributes(
    path: Path, names: Sequence[str], declared: Declared, crs: Crs, *, points_only: bool = False
) -> Layout:
    """Give roles of features their columns beside the geometry; beside lines all may be absent.

    The times of all points of a line may stand in one column, as a list.
    """
    refuse_coordinates(path, declared)
    refuse_order(path, declared)
    header = _Header(path, names, declared, LIST, *CALENDAR_LISTS)
    trajectory, user, time = header.attributes(needs_ids=points_only)
    return Layout(trajectory, user, time, crs, declared.clock(time))


def refuse_coordinates(path: Path, declared: Declared) -> None:
    """Refuse names for coordinates, which features have in their geometries."""
    for role, name in declared.columns.items():
        if name and any(role in pair for pair in PAIRS.values()):
            cure = f"leave {role} out of {declared.option('columns')}"
            raise DataError(f"{path}: its coordinates are those of its geometries; {cure}")


def refuse_order(path: Path, declared: Declared) -> None:
    """Refuse a name for the order, which features have of their own; beside other files, it is for tables."""
    if declared.columns.get(ORDER) and not declared.lenient:
        cure = f"leave {ORDER} out of {declared.option('columns')}"
        raise DataError(f"{path}: only tables of points have a column for their order; {cure}")


def pair_of(crs: Crs) -> tuple[str, str]:
    """Name the two coordinates."""
    return PAIRS.get(crs, PAIRS["planar"])


def is_calendar(name: str) -> bool:
    """Tell whether the name of a column declares calendar time."""
    return _plainly(name) in {_plainly(known) for known in (CALENDAR, *CALENDAR_LISTS)}


def _plainly(name: str) -> str:
    """Write a name as names are compared: "Trip-ID" gives "tripid"."""
    return name.translate(_UNSEEN).lower()


def _looks_like_data(name: str) -> bool:
    """Tell a value from a name, so that a table without header is never quoted."""
    words = re.split(r"[;|\s]+", name)
    numbers = (re.fullmatch(r"[+-]?[\d.][\d.,:eE+\-TZ]*", word) for word in words)
    return len(name) > 64 or not name.isprintable() or any(numbers)


def with_fit_order(layout: Layout, schema: pa.Schema, declared: Declared) -> Layout:
    """Leave out an order that is no number, where that is no reason to leave a file of many out."""
    if not declared.lenient or layout.order is None or _is(schema.field(layout.order).type, _NUMBER):
        return layout
    return replace(layout, order=None)


def check_types(path: Path, layout: Layout, schema: pa.Schema, declared: Declared) -> pa.DataType:
    """Refuse columns whose type cannot play their role, and give that of times; of features, lists may be."""
    clock, time = layout.clock, layout.time
    value_of, words = (decoded_type, " or text") if layout.x else (_value, ", text, or lists of them")
    ids, numbers = (_ID, "integers or text"), (_NUMBER, "numbers")
    times = (*_NUMBER, *_CALENDAR, is_text), f"timestamps, numbers{words}"
    wanted = {layout.trajectory: ids, layout.user: ids, layout.x: numbers, layout.y: numbers, time: times}
    wanted[layout.order] = _NUMBER, f"numbers, or leave it out with {declared.without(ORDER)}"
    for name in layout.names:
        kind, (fitting, fit) = schema.field(name).type, wanted[name]
        if not _is((value_of if name == time else decoded_type)(kind), fitting):
            held = "text" if is_text(decoded_type(kind)) else kind
            raise DataError(f"{path}: column {name!r} holds {held}; convert it to {fit}")
    time_type = schema.field(time).type if time else pa.null()
    if time and clock.is_declared and not clock.on_calendar:  # of many files, none contradicts
        kind, held = _value(time_type), f"column {time!r} holds {_value(time_type)}"
        if _is(kind, _CALENDAR):
            cure = f"leave out {declared.time_options('and')}"
            raise DataError(f"{path}: {held}, a type that says what its times are; {cure}")
        if not tells_time(kind, clock):
            cure = f"set the unit of the numbers since 1970 with {declared.option('time_unit')}"
            raise DataError(f"{path}: {held}, but {declared.option('time_format')} is for text; {cure}")
    return time_type


def tells_time(kind: pa.DataType, clock: Clock) -> bool:
    """Say whether a column of this type can have calendar times: numbers only in a declared unit."""
    kind = _value(kind)
    return clock.unit is not None or pa.types.is_null(kind) or not _is(kind, _NUMBER)


def named_zone(kind: pa.DataType) -> str | None:
    """Name the time zone in the type of a column of times, lists too; UTC there says where nobody lives."""
    zone = getattr(_value(kind), "tz", None)
    return None if zone in ("UTC", "Etc/UTC", "GMT", "Z", "+00:00") else zone


def decoded_type(kind: pa.DataType) -> pa.DataType:
    """Look through a dictionary to the type of its values."""
    return kind.value_type if isinstance(kind, pa.DictionaryType) else kind


def _value(kind: pa.DataType) -> pa.DataType:
    """Look through dictionaries and lists to the type of their values."""
    kind = decoded_type(kind)
    return decoded_type(kind.value_type) if isinstance(kind, pa.ListType | pa.LargeListType) else kind


def _is(kind: pa.DataType, family: tuple[Any, ...]) -> bool:
    return any(is_one(kind) for is_one in family)
