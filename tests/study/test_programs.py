"""Versions of code from outside: another one has another digest, and where it stands does not count."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import privtrace as pt
from privtrace.study.programs import digest_of_code

#: A class of a script or notebook, whose source is not at hand.
SCRIPT = """
LIMIT = 3
KNOWN = {"a", "b", "c", "d"}

def helped(trips):
    return [trip for trip in trips if trip not in {"x", "y", "z"}]

class Base:
    def sample(self):
        return LIMIT

class Mine(Base):
    size: int = 5

    def __init__(self, epsilon, region, factor=1):
        self.inner = lambda: factor

    @classmethod
    def made(cls):
        return helped([])

    @property
    def shown(self):
        return [one for one in range(7)]

    def fit(self, trips):
        return self
"""


def digest(text: str) -> str:
    """Digest the class as `__main__` has it."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(text, scope)
    return digest_of_code([scope["Mine"]])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return self\n", "return self.inner\n"),
        ("LIMIT = 3", "LIMIT = 4"),
        ('"x", "y"', '"x", "w"'),
        ("size: int = 5", "size: int = 6"),
        ("return helped([])", "return helped([1])"),
        ("range(7)", "range(8)"),
        ("lambda: factor", "lambda: -factor"),
        ("factor=1", "factor=2"),
        ("return LIMIT", "return -LIMIT"),
        ("if trip not in", "if trip in"),
    ],
)
def test_what_it_does_counts_with_all_that_it_uses(old: str, new: str) -> None:
    assert SCRIPT.count(old) == 1
    assert digest(SCRIPT.replace(old, new)) != digest(SCRIPT)


def test_where_it_stands_and_what_it_does_not_use_count_nothing() -> None:
    assert digest("\n\n# a comment\n" + SCRIPT + "\nOTHER = 5\n") == digest(SCRIPT)


def test_it_is_the_same_in_another_process() -> None:
    """Where sets of texts have another order."""
    lines = ("from privtrace.study.programs import digest_of_code", SCRIPT, "print(digest_of_code([Mine]))")
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [digest(SCRIPT)]


def test_of_a_module_all_of_its_file_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "theirs.py"
    path.write_text("class Mine:\n    pass\n")
    monkeypatch.setitem(sys.modules, "theirs", SimpleNamespace(__file__=str(path)))  # type: ignore[arg-type]
    given = type("Mine", (), {"__module__": "theirs"})
    before = digest_of_code([given])
    path.write_text("class Mine:\n    pass\n\nCONSTANT = 2\n")
    assert digest_of_code([given]) != before


def test_closures_count() -> None:
    def making(size: int) -> Any:
        return lambda epsilon, region: size

    assert digest_of_code([making(1)]) == digest_of_code([making(1)]) != digest_of_code([making(2)])


def test_ours_is_told_by_its_version() -> None:
    assert digest_of_code([pt.BridgeTrace]) == ""
