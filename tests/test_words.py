"""Mechanisms carry the field's words: those of a private dialect do not come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: What is no longer said, and what is said instead; the glossary in CONTRIBUTING.md has the words.
GONE = {
    r"yardsticks?": "reference",
    r"ladders?|rungs?": "error decomposition, terms",
    r"ceilings?": "random baseline",
    r"portraits?": "measured set",
    r"closing the loop|close_loop": "calibration",
    r"chances? to arrive": "hitting probability",
    r"first guess": "initialization",
    r"class (Ground|Spans|Look|Stamp|Ways|Links|Room)": "state space, byte slices, file version, snapshot, ...",
    r"rooms?|no room": "scratch, capacity, space; cannot hold",
    r"(one|twice|half|a \w+) a (trajectory|path|row|point|stage)": "per trajectory",
    r"tells? of": "says, describes",
}

#: Where an old name is kept for a version, with a note.
KEPT = {
    "src/privtrace/evaluation/old_names.py",
    "src/privtrace/evaluation/suite.py",
    "src/privtrace/evaluation/decomposition.py",
    "docs/evaluation.md",
}

FILES = [
    path
    for folder in ("src", "docs", "examples", "experiments")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".md") and path.relative_to(ROOT).as_posix() not in KEPT
] + [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]


@pytest.mark.parametrize("gone", GONE)
def test_the_words_are_those_of_the_glossary(gone: str) -> None:
    pattern = re.compile(rf"\b({gone})\b")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in FILES
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if pattern.search(line)
    ]
    assert not found, f"say {GONE[gone]}"


def test_old_names_are_kept_in_few_places() -> None:
    for name in KEPT:
        assert re.search(r"\b(ceiling|rungs)\b", (ROOT / name).read_text()), name
