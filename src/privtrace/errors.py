"""Name everything that can go wrong for a user.

    PrivTraceError              any error that is the user's to mend; the command line exits with 2
    ├── SettingsError           a setting out of range, a region that cannot be; also a ValueError
    ├── DataError               a source that cannot be read: path, format, header, columns, types
    ├── OutputError             a place that cannot be written, or would be overwritten
    ├── MissingExtra            a package that is not installed, which a format or an export needs
    ├── BudgetExceeded          a stage, or a fit on a data set, asks for more epsilon than is left
    ├── BudgetFileError         a budget file that is damaged, foreign, or cannot be written
    └── ModelFormatError        a model file that is damaged, truncated, foreign or too new

    CappedWalks                 a warning: walks that reached the limit of steps and were ended there

Messages say what is wrong, where, and how to mend it. They quote settings and names freely, and never a
value from the data: logs travel further than data does.
"""

from __future__ import annotations


class PrivTraceError(Exception):
    """Base of every error that a user can mend."""


class SettingsError(PrivTraceError, ValueError):
    """A setting is out of range or does not fit another."""


class DataError(PrivTraceError):
    """A source of trajectories cannot be read."""


class OutputError(PrivTraceError):
    """An output cannot be written."""


class MissingExtra(PrivTraceError):
    """A package of an extra, such as privtrace[geo], is not installed."""


class BudgetExceeded(PrivTraceError):
    """A stage asks for more epsilon than the ledger has left, or a fit for more than the budget file."""


class BudgetFileError(PrivTraceError):
    """A budget file cannot be read, trusted or written."""


class ModelFormatError(PrivTraceError):
    """A file is not a model that this version can read."""


class CappedWalks(UserWarning):
    """Some walks reached the limit of steps and were ended there."""
