"""Choose a format to write in: by its name, or by the suffix of a path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from privtrace.errors import OutputError


@dataclass(frozen=True)
class Suffixed:
    """Say how a format is called, and how files in it are."""

    name: str
    suffixes: tuple[str, ...]  # the first is the usual one
    is_text: bool  # text may be packed with gzip, and then its suffix has .gz after it

    @property
    def all_suffixes(self) -> tuple[str, ...]:
        """List the suffixes, packed or not."""
        return self.suffixes + tuple(f"{suffix}.gz" for suffix in self.suffixes if self.is_text)

    def is_packed(self, path: Path) -> bool:
        """Tell whether a file of this path is packed with gzip."""
        return self.is_text and path.suffix.lower() == ".gz"


Chosen = TypeVar("Chosen", bound=Suffixed)


def chosen(path: Path, name: str | None, formats: Mapping[str, Chosen]) -> Chosen:
    """Choose one of some formats, by its name if given, else by the suffix."""
    if name is not None and name not in formats:
        raise OutputError(f"{path}: unknown format {name!r}; it must be one of {', '.join(formats)}")
    if name is not None:
        return formats[name]
    for format in formats.values():
        if path.name.lower().endswith(format.all_suffixes):
            return format
    listed = listed_suffixes(formats.values())
    raise OutputError(f"{path}: unknown format {path.suffix!r}; the suffix must be one of {listed}")


def listed_suffixes(formats: Iterable[Suffixed]) -> str:
    """List the suffixes that name a format, in words."""
    suffixes = [suffix for format in formats for suffix in format.suffixes]
    return f"{', '.join(suffixes)}, and .gz after those of text"
