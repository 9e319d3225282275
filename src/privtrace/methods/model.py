"""Hold what the models of all methods share: public facts, a count, sampling and saving."""

from __future__ import annotations

import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from privtrace.about import MODEL
from privtrace.backends.base import Backend
from privtrace.caching import cached_property
from privtrace.errors import CappedWalks, ModelFormatError
from privtrace.methods.sampling import BLOCK_POINTS, BLOCK_TRAJECTORIES, capped_walks, gathered, sample_parts
from privtrace.methods.view import View
from privtrace.paths import Paths
from privtrace.privacy.epsilon import decimal
from privtrace.privacy.ledger import CLAMP
from privtrace.privacy.unit import WEIGHT
from privtrace.release import Release
from privtrace.runs import Runs
from privtrace.soundness import check_sound
from privtrace.timing.draw import Placed
from privtrace.timing.model import Timing
from privtrace.trajectories import Integers, Trajectories

if TYPE_CHECKING:
    import pyspark

    from privtrace.methods.usability import Usability
    from privtrace.report.document import Report


class ExportOptions(TypedDict, total=False):
    """Say how to export; `privtrace.export.export` tells what each option means."""

    format: str | None
    force: bool
    by: str | None
    zones: str | os.PathLike[str] | None
    zone_id: str | None
    count: int | None
    seed: int | None
    output_crs: str | None


#: The fields of a model that are no arrays of its method.
GIVEN = ("release", "timing")


@dataclass(frozen=True, eq=False, repr=False)
class Model(ABC):
    """Hold a fitted model: noisy, complete and publishable.

    A method adds its noisy arrays, and how to walk, encode and place.
    """

    release: Release
    count: int  # noisy or declared, at least 0, in weights of 2**-20 trajectories
    timing: Timing | None = field(default=None, kw_only=True)  # how trips are reported, where that was measured

    def __post_init__(self) -> None:
        check_sound({"count": 0 <= self.count <= CLAMP})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.release.verdict}; {in_words(self.summary())})"

    def _repr_html_(self) -> str:
        from privtrace.notebooks import card, facts, folded, line, table

        release = self.release
        known = {"method": release.label, "region": f"{release.region} ({release.crs})"}
        known |= {name: f"{size:,}" for name, size in self.summary().items()}
        charges = [
            (one.stage, decimal(one.epsilon), f"{one.scale_in_trajectories:,.3g}") for one in release.charges
        ]
        ledger = table(("stage", "epsilon", "noise scale, in trips"), charges, n_words=1)
        spent = f"Spent: epsilon {decimal(release.spent)} of {decimal(release.epsilon)}"
        usability = self.usability()
        verdicts = [
            line(release.verdict, red=not release.private),
            line(usability.verdict, red=usability.is_noise),
        ]
        return card(type(self).__name__, *verdicts, facts(known), folded(spent, ledger))

    @property
    @abstractmethod
    def longest_walk(self) -> int:
        """Bound the points of a walk."""

    @abstractmethod
    def walk(self, trajectories: range, seed: int) -> tuple[Paths, int]:
        """Walk one path for each trajectory number; also count the walks cut short."""

    @abstractmethod
    def encode(self, runs: Runs) -> Paths:
        """Turn real runs into paths as the fit did. NOT PRIVATE."""

    @abstractmethod
    def place(self, paths: Paths, first: int, seed: int) -> Trajectories:
        """Place the points of paths, numbered from `first`."""

    @abstractmethod
    def view(self) -> View:
        """Show what was measured: cells with their noisy numbers, and moves. Post-processing."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Describe sizes for a reader."""

    def usability(self) -> Usability:
        """Say what may be read from the model, and what is noise; `print` it to read it. Post-processing."""
        from privtrace.methods.usability import usability

        return usability(self)

    @cached_property
    def checksum(self) -> str:
        """Give the SHA-256 of the model's file."""
        from privtrace.models import to_bytes

        return sha256(to_bytes(self)).hexdigest()

    @property
    def about(self) -> dict[str, str]:
        """Give the words that go along with what is made from the model; they name it by its checksum."""
        return {**self.release.about, MODEL: self.checksum}

    @property
    def n_trajectories(self) -> int:
        """Round the noisy or declared count; where users are protected, it is of those that count."""
        return round(self.count / WEIGHT)

    @property
    def block_trajectories(self) -> int:
        """Limit what one task walks, so that even the longest walks fit in memory."""
        return max(1, min(BLOCK_TRAJECTORIES, self.most_trajectories))

    @property
    def most_trajectories(self) -> int:
        """Bound what one task may walk: so many fit in memory, even if all have the most points."""
        most_points = self.longest_walk if self.timing is None else self.timing.most_points
        return BLOCK_POINTS // max(self.longest_walk, most_points)

    def prepare(self, backend: Backend) -> None:  # noqa: B027  # most methods have nothing that is worth a backend
        """Work out what walks need, once, on the backend."""

    def sample_block(self, trajectories: range, seed: int) -> tuple[Trajectories, int]:
        """Make the trajectories of these numbers; also count the walks cut short."""
        placed, n_capped = self.sample_points(trajectories, seed)
        made = self.reported(placed, trajectories.start, seed)
        return replace(made, about=self.about), n_capped

    def sample_points(self, trajectories: range, seed: int) -> tuple[Placed, int]:
        """Make the points of these trajectories, and the seconds since departure where there are times."""
        paths, n_capped = self.walk(trajectories, seed)
        lines = self.place(paths, trajectories.start, seed)
        if self.timing is not None:
            return self.timing.on_lines(lines, trajectories.start, seed), n_capped
        return Placed(lines.points, lines.offsets, np.zeros(0)), n_capped

    def made(self, paths: Paths, first: int, seed: int) -> Trajectories:
        """Make trajectories of paths, numbered from `first`, with points as walks have them."""
        lines = self.place(paths, first, seed)
        return lines if self.timing is None else self.on_lines(lines, first, seed)

    def on_lines(self, lines: Trajectories, first: int, seed: int) -> Trajectories:
        """Set points on lines, numbered from `first`, as trips are reported: where that was measured."""
        assert self.timing is not None
        return self.reported(self.timing.on_lines(lines, first, seed), first, seed)

    def reported(self, placed: Placed, first: int, seed: int) -> Trajectories:
        """Make trajectories, numbered from `first`, of points and of their times, where there are any."""
        release, times = self.release, None
        if self.timing is not None and self.timing.calendar is not None:
            times = self.timing.times(placed, first, seed)
        return Trajectories(placed.points, placed.offsets, times, crs=release.crs, zone=release.zone)

    def retrace(self, runs: Runs, first: int, seed: int) -> Trajectories:
        """Lead real runs, numbered from `first`, through the cells and back. NOT PRIVATE."""
        return self.made(self.encode(runs), first, seed)

    def sample(
        self, count: int | None = None, *, seed: int | None = None, backend: Backend | None = None
    ) -> Trajectories:
        """Make synthetic trajectories, as many as the data has (noisily) if no count is given.

        Where users are protected, that is as many as count: max_per_user of a user at most. Trajectory i is
        the same for the same model and seed, whatever the count and the number of threads.
        """
        count = self.n_trajectories if count is None else count
        made, n_capped = gathered(sample_parts(self, count, seed, backend), count)
        if n_capped:
            warnings.warn(capped_walks(n_capped), CappedWalks, stacklevel=2)
        return made

    def sample_spark(
        self,
        spark: pyspark.sql.SparkSession,
        count: int | None = None,
        *,
        seed: int | None = None,
        partitions: int | None = None,
    ) -> pyspark.sql.DataFrame:
        """Make synthetic trajectories on your Spark cluster, as a DataFrame with a row per point.

        Spark makes them when the DataFrame is written, so write it: `.write.parquet(path)`. Trajectory i is
        the one that `sample` makes with the same seed. The words about them are in the metadata of the first
        column, which Spark keeps in Parquet. Times are instants; Spark shows them in the session's time zone.
        """
        from privtrace.methods.on_spark import sampled

        return sampled(self, spark, count, seed, partitions)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """List the arrays that a model file holds, as the method's SCHEMA names them: all fields."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in GIVEN}
        return {**own, "count": np.array([self.count])}

    @classmethod
    def from_arrays(cls, release: Release, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Make the model again from its file's parts, checking that they fit together."""
        values: dict[str, Any] = {**arrays, "count": only_number(arrays["count"])}
        return cls(release=release, **values)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model file; see `privtrace.models`."""
        from privtrace.models import save

        save(self, path, force=force)

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        note: str | None = None,
        force: bool = False,
    ) -> Report:
        """Show the model as a page that is as publishable as its file; write it, if a path is given.

        In a notebook the page shows itself. It is made from the model alone, but for title and note, which
        have to be public: what the data is, who publishes it, whom to ask.
        """
        from privtrace.report.release_page import release_page

        report = release_page(self, title=title, note=note)
        return report if path is None else report.write(path, force=force)

    def export(self, what: str | None, path: str | os.PathLike[str], **options: Unpack[ExportOptions]) -> None:
        """Write "od", "density", "sumo" and the like as a table, map or demand; see `privtrace.export.export`.

        Options are format, force, by, zones, zone_id, count, seed and output_crs.
        """
        from privtrace.export import export

        export(self, what, path, **options)


def in_words(summary: Mapping[str, Any]) -> str:
    """Put the sizes of a model in words."""
    return ", ".join(f"{size:,} {_singular(name) if size == 1 else name}" for name, size in summary.items())


def settings_in_words(release: Release) -> dict[str, str]:
    """Write the settings of a release; one that was left open says what stands for it."""
    from privtrace.methods.registry import find

    declared = find(release.method).settings.declared()
    return {
        name: (declared[name].otherwise or "by rule") if value is None else str(value)
        for name, value in {**release.timing, **release.settings}.items()
    }


def _singular(name: str) -> str:
    """Name one of them: coarse cells divided -> coarse cell divided, trajectories -> trajectory."""
    return re.sub(r"(ie)?s\b", lambda ending: "y" if ending[1] else "", name, count=1)


def only_number(values: Integers) -> int:
    """Take the count out of its array."""
    if len(values) != 1:
        raise ModelFormatError("the model's count must be one number; the file is not valid")
    return int(values[0])
