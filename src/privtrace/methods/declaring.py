"""Declare a setting once: what it means, which values it takes, and what stands for it where it is left out.

Constructors read values by it, and the command line has its options, their help and their refusals from it.
"""

from __future__ import annotations

import math
import operator
from dataclasses import MISSING, Field, dataclass, field
from typing import Any, Protocol

from privtrace.errors import SettingsError
from privtrace.privacy.epsilon import decimal, exact

_KEY = "privtrace"

#: The largest seed.
MOST_SEED = (1 << 64) - 1


class Kind(Protocol):
    """Say which values a setting takes."""

    @property
    def metavar(self) -> str:
        """Give what stands for a value in help."""
        ...

    @property
    def words(self) -> str:
        """Say in words what a value must be."""
        ...

    @property
    def span(self) -> str:
        """Say the same in a few characters, for help; nothing where any value will do."""
        ...

    def read(self, value: Any) -> Any:
        """Bring a value to its plain form; ValueError, TypeError or OverflowError where it is none."""
        ...

    def parse(self, text: str) -> Any:
        """Read what stands on a command line; likewise."""
        ...


@dataclass(frozen=True)
class Whole:
    """Take whole numbers within limits."""

    least: int
    most: int
    metavar: str = "INTEGER"

    @property
    def words(self) -> str:
        """Say in words what a value must be."""
        return f"a whole number from {self.least} to {self.most}"

    @property
    def span(self) -> str:
        """Give the limits that somebody could reach."""
        return f"{self.least} to {self.most}" if self.most < 10**9 else ""

    def read(self, value: Any) -> int:
        """Take an integer of Python or NumPy."""
        number = operator.index(value)
        if isinstance(value, bool) or not self.least <= number <= self.most:
            raise ValueError
        return number

    def parse(self, text: str) -> int:
        """Read digits."""
        return self.read(int(text))


@dataclass(frozen=True)
class Number:
    """Take numbers within limits; without any, positive ones that arithmetic can bear."""

    least: float = 1e-12
    most: float = 1e12
    metavar: str = "NUMBER"

    @property
    def words(self) -> str:
        """Say in words what a value must be."""
        return f"a {'positive ' if self.least > 0 else ''}number from {self.least:g} to {self.most:g}"

    @property
    def span(self) -> str:
        """Give the limits that somebody could reach."""
        return "" if self == Number() else f"{self.least:g} to {self.most:g}"

    def read(self, value: Any) -> float:
        """Take a number of Python or NumPy."""
        number = math.nan if isinstance(value, str | bool) else float(value)
        if not self.least <= number <= self.most:
            raise ValueError
        return number

    def parse(self, text: str) -> float:
        """Read a decimal number."""
        return self.read(float(text))


@dataclass(frozen=True)
class Flag:
    """Take yes or no."""

    words: str = "True or False"
    span: str = ""
    metavar: str = ""

    def read(self, value: Any) -> bool:
        """Take a bool, and nothing that is only like one."""
        if type(value) is not bool:
            raise TypeError
        return value

    def parse(self, text: str) -> bool:
        """Refuse any text: a flag is given by its name."""
        raise ValueError(text)


@dataclass(frozen=True)
class OneOf:
    """Take one of a few words or whole numbers."""

    options: tuple[str | int, ...]

    @property
    def metavar(self) -> str:
        """List the options."""
        return f"[{'|'.join(map(str, self.options))}]"

    @property
    def words(self) -> str:
        """Say in words what a value must be."""
        return " or ".join([", ".join(map(repr, self.options[:-1])), repr(self.options[-1])])

    @property
    def span(self) -> str:
        """Say nothing: help lists the options already."""
        return ""

    def read(self, value: Any) -> str | int:
        """Take an option, or a number of NumPy that equals it."""
        if not isinstance(value, str):
            value = operator.index(value) if not isinstance(value, bool) else None
        if value not in self.options:
            raise ValueError
        return value  # type: ignore[no-any-return]

    def parse(self, text: str) -> str | int:
        """Read an option as it is written."""
        return {str(option): option for option in self.options}[text]


@dataclass(frozen=True)
class Days:
    """Take a period of days, kept as its text."""

    words: str = (
        "two days, the first (1970 or later) and the one after the last, for example 2013-07-01/2014-07-01"
    )
    span: str = ""
    metavar: str = "DAY/DAY"

    def read(self, value: Any) -> str:
        """Write the period in its plain form."""
        from privtrace.calendar import Period

        try:
            return str(Period.of(value))
        except SettingsError:  # which would not name the setting
            raise ValueError from None

    def parse(self, text: str) -> str:
        """Read a period."""
        return self.read(text)


@dataclass(frozen=True)
class Duration:
    """Take a time with its unit, kept as its text."""

    words: str = "a time from 1ms to 24h with its unit (ms, s, min or h), for example 15s"
    span: str = ""
    metavar: str = "TIME"

    def read(self, value: Any) -> str:
        """Write the time in its plain form."""
        from privtrace.calendar import duration

        return duration(value)

    def parse(self, text: str) -> str:
        """Read a time."""
        return self.read(text)


@dataclass(frozen=True)
class Budget:
    """Take epsilon, or a share of it: a decimal, kept as its text."""

    words: str = "a positive decimal number from 1e-9 to 1e6, for example 0.5"
    span: str = ""
    metavar: str = "NUMBER"

    def read(self, value: Any) -> str:
        """Write the value in its plain form."""
        try:
            return decimal(exact(value))
        except SettingsError:  # which would not say which of them it is
            raise ValueError from None

    def parse(self, text: str) -> str:
        """Read a decimal number."""
        return self.read(text)


@dataclass(frozen=True)
class Declaration:
    """Hold the declaration of one setting."""

    name: str
    help: str
    kind: Kind
    default: Any  # MISSING where a value is required
    otherwise: str | None  # what a setting that is None follows from
    is_detail: bool = False  # few need it: help shows it with a method's own settings
    is_later: bool = False  # some model files are older: they name it only where it is not the default

    @property
    def option(self) -> str:
        """Spell the setting as its option on the command line."""
        return option(self.name)

    @property
    def is_required(self) -> bool:
        """Say whether there is no default."""
        return self.default is MISSING

    def read(self, value: Any) -> Any:
        """Bring a value to its plain form, or refuse it in words."""
        if value is None and self.default is None:
            return None
        return self._tried(self.kind.read, value)

    def parse(self, text: str) -> Any:
        """Read a value from a command line, or refuse it in words."""
        return self._tried(self.kind.parse, text)

    def _tried(self, reading: Any, value: Any) -> Any:
        try:
            return reading(value)
        except SettingsError:  # which says more than the kind of value
            raise
        except (ValueError, TypeError, OverflowError, KeyError):
            if value is None and self.is_required and self.help:
                raise SettingsError(f"{spelled(self.name)} is required: {self.help}") from None
            raise SettingsError(
                f"{spelled(self.name)} must be {self.kind.words}, not {value!r:.60}{self._cure(reading, value)}"
            ) from None

    def _cure(self, reading: Any, value: Any) -> str:
        """Say how to mend a number in quotes, which is right on a command line and wrong in Python."""
        if reading != self.kind.read or not isinstance(value, str):
            return ""
        try:
            self.kind.parse(value)
        except (SettingsError, ValueError, TypeError, OverflowError, KeyError):
            return ""
        return f"; leave out the quotes: {value}"

    @property
    def shown(self) -> str:
        """Say for help what the setting means, its limits, and what it is where it is left out."""
        left_out = self.otherwise if self.default is None else self.default
        if isinstance(left_out, bool):
            left_out = "yes" if left_out else "no"
        default = "required" if self.is_required else "" if left_out is None else f"default: {left_out}"
        notes = "; ".join(note for note in (self.kind.span, default) if note)
        return f"{self.help} [{notes}]" if notes else self.help


def setting(
    help: str,
    kind: Kind,
    default: Any = MISSING,
    *,
    otherwise: str | None = None,
    detail: bool = False,
    later: bool = False,
) -> Any:
    """Declare a field of a `Settings`: its meaning in a sentence, its kind and its default.

    Where the default is None, `otherwise` says what the value follows from. A detail is one that few need. One
    that came later than some model files of its method does by default what was done without it.
    """
    return field(default=default, metadata={_KEY: (help, kind, otherwise, detail, later)})


def share(help: str, default: str) -> Any:
    """Declare a share of epsilon; its field is called after its stage, as in trips_share."""
    return setting(f"Epsilon's share for {help}.", Budget(), default, detail=True)


def declared(field: Field[Any]) -> Declaration:
    """Find the declaration of a field."""
    if _KEY not in field.metadata:
        raise TypeError(f"{field.name} is not declared: write it as {field.name}: ... = setting(...)")
    help, kind, otherwise, detail, later = field.metadata[_KEY]
    return Declaration(field.name, help, kind, field.default, otherwise, detail, later)


def spelled(name: str) -> str:
    """Name a setting in a message, for the command line and for Python: --max-steps (max_steps)."""
    return f"{option(name)} ({name})"


def option(name: str) -> str:
    """Spell a setting as its option: --max-steps."""
    return f"--{name.replace('_', '-')}"


def whole(value: Any, name: str, least: int, most: int) -> int:
    """Read a whole number that is no field."""
    number: int = Declaration(name, "", Whole(least, most), MISSING, None).read(value)
    return number


def days(value: Any) -> str | None:
    """Read a period that is no field; None is none."""
    read: str | None = Declaration("period", "", Days(), None, None).read(value)
    return read
