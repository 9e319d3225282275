"""Keep results by key in one Parquet file, so that a comparison that was ended goes on where it was."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privtrace.errors import DataError
from privtrace.evaluation.suite import NOT_PRIVATE
from privtrace.storage.atomic import check_target, replacing
from privtrace.study.study import FINISHED, Entry
from privtrace.study.trials import Found
from privtrace.trajectories import Floats

#: The file is written anew after so many seconds, or so many times as long as writing takes: what a kill loses
#: at most.
EVERY_S, TIMES_WRITING = 1.0, 20

#: How messages call what may differ between comparisons.
_OTHER = {
    "data": "other data",
    "crs": "another coordinate system",
    "region": "another region",
    "outline": "another outline of the region",
    "profile": "another profile",
    "seed": "another seed",
    "timezone": "another time zone",
    "period": "another period",
}

#: Where the file says of which comparison its results are, and who takes part.
_ABOUT, _ENTRIES = b"privtrace.comparison", b"privtrace.entries"

_SCHEMA = pa.schema(
    {
        "competitor": pa.string(),
        "origin": pa.string(),
        "kind": pa.string(),
        "epsilon": pa.string(),
        "run": pa.int32(),
        "seed": pa.int64(),
        "quantity": pa.string(),
        "value": pa.float64(),
        "cells": pa.list_(pa.float64()),
    }
)


class Key(NamedTuple):
    """Say what a result is of: who, made how, which kind of trial, with which epsilon, in which run."""

    competitor: str
    origin: str
    kind: str
    epsilon: str
    run: int


class Store:
    """Hold results by key; with a path, in a file that is always whole."""

    def __init__(self, path: str | os.PathLike[str] | None, about: Mapping[str, Any]) -> None:
        self.path = None if path is None else Path(check_target(path, force=True))
        self.about = dict(about)
        self.entries: dict[str, tuple[Entry, str]] = {}  # by label, each with its origin
        self._found: dict[Key, Found] = {}
        self._seeds: dict[Key, int] = {}
        self._stamp: tuple[int, int] | None = None
        self._due = time.monotonic() + EVERY_S
        if self.path is not None and self.path.exists():
            self._read()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Store:
        """Read the results of a file, whichever comparison they are of."""
        if not Path(path).exists():
            raise DataError(f"{path}: no such file of results")
        return cls(path, {})

    def get(self, key: Key) -> Found:
        """Give what was found under a key; nothing where there is nothing yet."""
        return self._found.get(key, {})

    def of(self, label: str, kind: str, epsilon: str) -> list[Found]:
        """List what was found of a label as it is made now, run by run."""
        wanted = (label, self.entries[label][1], kind, epsilon)
        return [self._found[key] for key in sorted(key for key in self._found if key[:4] == wanted)]

    def epsilons(self) -> set[str]:
        """List the epsilons of all scores."""
        return {key.epsilon for key in self._found if key.kind == "score" and key.epsilon}

    def most_runs(self) -> int:
        """Count the runs of whoever has most, among those that are fitted if there are any."""
        scores = [key for key in self._found if key.kind == "score"]
        fitted = [key for key in scores if self.entries[key.competitor][0].what != FINISHED]
        return max((key.run + 1 for key in fitted or scores), default=0)

    def add(self, key: Key, seed: int, found: Found) -> None:
        """Add what a trial found; the file follows soon."""
        self._found[key] = {**self.get(key), **found}
        self._seeds[key] = seed
        if time.monotonic() > self._due:
            self.save()

    def save(self) -> None:
        """Write the file anew, with what another process may have added to it meanwhile."""
        if self.path is None:
            return
        begun = time.monotonic()
        if self.path.exists() and _stamp(self.path) != self._stamp:
            self._read()
        with replacing(self.path, force=True) as temporary:
            pq.write_table(self._table(), temporary, compression="zstd")
        ended = time.monotonic()
        self._stamp, self._due = _stamp(self.path), ended + max(EVERY_S, TIMES_WRITING * (ended - begun))

    def _table(self) -> pa.Table:
        rows = [
            (*key, self._seeds[key], quantity, *_halves(found[quantity]))
            for key, found in sorted(self._found.items(), key=lambda item: item[0])
            for quantity in found
        ]
        columns = [*zip(*rows, strict=True)] if rows else [()] * len(_SCHEMA)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
        about = {"not_private": True, "notice": NOT_PRIVATE, **self.about}
        entries = {label: [*entry, origin] for label, (entry, origin) in self.entries.items()}
        metadata = {_ABOUT: json.dumps(about, sort_keys=True), _ENTRIES: json.dumps(entries)}
        return pa.Table.from_arrays(arrays, schema=_SCHEMA.with_metadata(metadata))

    def _read(self) -> None:
        """Take what a file holds; what is found here already stays."""
        assert self.path is not None
        try:
            table = pq.read_table(self.path)
            about, entries = (json.loads((table.schema.metadata or {})[name]) for name in (_ABOUT, _ENTRIES))
            columns = [table[name].to_pylist() for name in _SCHEMA.names]
        except (OSError, pa.ArrowException, KeyError, ValueError):
            raise DataError(
                f"{self.path}: is no file of results of a comparison; give another path with --results "
                "(results=...), or remove it"
            ) from None
        self._check(about)
        self.about = {**about, **self.about}
        for label, (*entry, origin) in entries.items():
            name, colors, what, has_epsilon = entry
            self.entries.setdefault(label, (Entry(name, tuple(colors), what, has_epsilon), origin))
        for *key, seed, quantity, value, cells in zip(*columns, strict=True):
            found = self._found.setdefault(Key(*key), {})
            found.setdefault(quantity, _whole(value, cells))
            self._seeds.setdefault(Key(*key), seed)
        self._stamp = _stamp(self.path)

    def _check(self, about: Mapping[str, Any]) -> None:
        """Refuse a file of another comparison, which cannot stand beside these."""
        others = [_OTHER.get(name, name) for name, value in self.about.items() if about.get(name) != value]
        if others:
            raise DataError(
                f"{self.path}: holds results of another comparison, of {' and '.join(others)}; remove it, or "
                "give another path with --results (results=...)"
            )


def _halves(value: float | Floats) -> tuple[float | None, Floats | None]:
    """Divide a result among the columns for numbers and for maps."""
    return (None, value.ravel()) if isinstance(value, np.ndarray) else (value, None)


def _whole(value: float | None, cells: list[float] | None) -> float | Floats:
    """Put a result together again."""
    if cells is None:
        return np.nan if value is None else value
    side = round(len(cells) ** 0.5)
    return np.array(cells, np.float64).reshape(side, side)


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size
