"""Check where trajectories are to be written before any work, and write them there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from privtrace.coordinates import is_known, settled
from privtrace.errors import DataError, OutputError, SettingsError
from privtrace.io.formats import Format, format_of_output
from privtrace.io.printing import rounded
from privtrace.storage.atomic import Target, check_target, replacing, streaming
from privtrace.trajectories import Crs, Source, Trajectories


@dataclass(frozen=True)
class Output:
    """Hold where to write and in which format, checked before any work."""

    target: Target
    format: Format
    crs: Crs | None = None  # to which points are transformed; else they stay as they are, where the format can

    @property
    def path(self) -> Path:
        """Say where the file or folder will be."""
        return self.target.path

    @property
    def name(self) -> str:
        """Name the format."""
        return self.format.name

    def lost(self, part: Trajectories) -> list[str]:
        """Say in words what of a part the format cannot hold."""
        return self.format.lost(part)

    def check_holds(self, crs: Crs, *, has_times: bool) -> None:
        """Refuse, before any work, trajectories that the format cannot hold."""
        if self.format.needs_times and not has_times:
            raise OutputError(f"{self.path}: {self.name} needs times, but there are none; write another format")
        if self.format.lonlat_only and not is_known(crs):
            raise OutputError(
                f"{self.path}: {self.name} holds longitude and latitude in degrees, but these points are "
                "planar; write another format"
            )

    def write(self, trajectories: Source | Iterable[Trajectories]) -> None:
        """Write a source, or parts as they come; only whether the name is still free is checked, at the end."""
        if isinstance(trajectories, Trajectories) or not isinstance(trajectories, Iterable):
            trajectories = trajectories.parts()
        parts = map(self._fitted, _of_one_kind(trajectories))
        if self.format.is_text:
            with streaming(self.target, packed=self.format.is_packed(self.path)) as stream:
                self.format.write(parts, stream)
            return
        with replacing(self.target, beside=self.format.beside) as temporary:
            self.format.write(parts, temporary)

    def _fitted(self, part: Trajectories) -> Trajectories:
        """Bring a part into the coordinates that the file will have, or refuse it."""
        self.check_holds(part.crs, has_times=part.times is not None)
        target = "lonlat" if self.format.lonlat_only else self.crs
        part = part if target is None else part.to_crs(target)
        return rounded(part) if self.format.in_decimals else part


def check_output(
    path: str | os.PathLike[str],
    force: bool = False,
    format: str | None = None,
    names: str | None = None,
    crs: str | None = None,
) -> Output:
    """Refuse, before any work, a path that cannot be written; return what writes there."""
    chosen = format_of_output(Path(path), format, names)
    crs = None if crs is None else settled(crs, "--output-crs")
    if crs == "planar" or (crs not in (None, "lonlat") and chosen.lonlat_only):
        raise SettingsError(f"{path}: --output-crs {crs} is not possible here; leave it out, or write lonlat")
    for suffix in chosen.beside:
        check_target(Path(path).with_suffix(suffix), force)
    return Output(check_target(path, force, chosen.folder_of, is_text=chosen.is_text), chosen, crs)


def _of_one_kind(parts: Iterable[Trajectories]) -> Iterator[Trajectories]:
    """Pass parts on, and refuse one that says something else about itself: one promise cannot stand for all."""
    first = None
    for part in parts:
        first = part.about if first is None else first
        if part.about != first:
            raise DataError(
                "parts do not fit together: they come from different models, but a file can make only "
                "one promise; write them to separate files, or join them with Trajectories.concatenate, "
                "which marks them NOT PRIVATE"
            )
        yield part
