"""A deliberate breakage: one exact text of one file replaced by another, and the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class DoesNotApplyError(Exception):
    """Say that a mutant no longer fits the code that it is meant to break."""


@dataclass(frozen=True)
class Mutant:
    """Hold one breakage. The tree stays as it is: a copy of it is broken."""

    name: str  # in lower case with hyphens, to be given on the command line
    breaks: str  # what no longer holds, in a sentence
    file: str  # below src/privtrace
    old: str  # occurs exactly once in the file
    new: str
    tests: tuple[str, ...]  # files below tests; those that fail soonest come first

    @property
    def path(self) -> str:
        """Give the broken file, from the root of the project."""
        return f"src/privtrace/{self.file}"

    def broken(self, source: str) -> str:
        """Break a source text, or refuse where it is not the one that was meant."""
        found = source.count(self.old)
        if found != 1 or self.old == self.new:
            raise DoesNotApplyError(
                f"{self.name}: its old text occurs {found} times in {self.path} and must occur once; mend the "
                "mutant, so that it breaks the code as it is now"
            )
        return source.replace(self.old, self.new)

    def check(self, root: Path) -> None:
        """Refuse a mutant that no longer fits a tree: its text, its syntax, its tests."""
        path = root / self.path
        if not path.is_file():
            raise DoesNotApplyError(f"{self.name}: there is no {self.path}")
        try:
            compile(self.broken(path.read_text()), self.path, "exec")
        except SyntaxError as error:
            raise DoesNotApplyError(f"{self.name}: what it makes of {self.path} is no Python") from error
        for test in self.tests:
            if not (root / "tests" / test).is_file():
                raise DoesNotApplyError(f"{self.name}: there is no tests/{test}")
        if not self.tests:
            raise DoesNotApplyError(f"{self.name}: it names no test that must catch it")
