"""Mechanisms carry the field's words: those of a private dialect do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
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


#: Turns that make a reader of today stumble, and what to say instead, in README, docs, messages and pages.
_ONE = "one|rows?|entry|times?|points?|lines?|features?|tracks?|numbers?"
_THING = "trajectory|trip|path|point|row|edge|street|user|cell|fit|stage|system|program|feature|line"
STUMBLES = {
    rf"\b({_ONE}) an? ({_THING})\b(?! has)": "one per trip",
    r"\bweigh(s|ing) one\b": "every trip contributes a total weight of 1",
    r"\b(by|with|where) the (one|step|state|cell) before\b": "given the previous move",
    r"\bdoes not say so is not\b": "If a file does not say so, treat it as NOT PRIVATE",
    r"\bcome and go\b": "converts from and to",
    r"\bNothing about\b|\bsingle people\b": "Not for: conclusions about individuals",
    r"\bof no declared unit\b": "without a declared unit",
    r"(?<!there )\b(is|are) no (clock|area|header|points?|trajector(y|ies))\b": "is not a clock",
    r"\bhas not (the|as|a)\b": "does not have",
    r"\bhowever (many|long|much)\b": "no matter how many",
    r"\bbe it\b|\bwhichever\b|\banew\b|\bwhosoever\b|\bthereof\b": "plain words",
    r"\bmend(s|ed)?\b|\bnot sound\b": "fix; not valid",
    r"\bfares? (worse|better)\b": "is reproduced less well",
    r"\bas well as can be\b|\ba hair\b|\bworth the name\b": "plain words",
    r"\bgoes? by its place\b": "is named by its position",
    r"\bit is said\b": "privtrace says",
}


def told() -> Iterator[tuple[str, str]]:
    """List what users read: prose without code, and texts of the program; docstrings only in `cli`, as help."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        yield path.relative_to(ROOT).as_posix(), re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    for path in sorted((ROOT / "src").rglob("*.py")):
        name, tree = path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())
        inside = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and "/cli/" not in name:
                inside.add(node.value)  # a docstring
            elif isinstance(node, ast.JoinedStr):
                words = [part.value if isinstance(part, ast.Constant) else "X" for part in node.values]
                yield f"{name}:{node.lineno}", "".join(map(str, words))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
                yield f"{name}:{node.lineno}", node.value


def stumbles(texts: Iterator[tuple[str, str]]) -> list[str]:
    """Find the turns that should not come back, with where they are and what to say."""
    return [
        f"{where}: {found[0]!r}; say: {instead}"
        for where, text in texts
        for pattern, instead in STUMBLES.items()
        for found in re.finditer(pattern, " ".join(text.split()))
    ]


def test_what_users_read_does_not_make_them_stumble() -> None:
    assert not stumbles(told())


def test_a_stumble_is_found_wherever_it_stands() -> None:
    assert len(stumbles(iter([("here", "a row\n a point, each trajectory weighing one in all")]))) == 2
    where = [where for where, _ in told()]
    assert {"README.md", "docs/data.md"} < {*where} and any("cli/" in name for name in where)
