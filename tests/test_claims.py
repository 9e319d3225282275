"""What is said of the program is no more than is true: claims that were too large do not come back."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]

#: What was claimed, and what is so.
TOO_MUCH = {
    "nobody ever took": "a synthetic trip may be like a real one",
    "no trip here belongs to anyone": "the same",
    "no value can make a fit fail": "text that breaks off refuses, and so does any bad row with --strict",
    "does not say so is not": "a CSV file has no place for the words",
    "never looks at values": "values are read, each by itself",
    "covers it without a change": "the sensitivity tests see what their setups measure",
    "safe to publish": "what is safe depends on epsilon; the statement says what is promised",
    "data safely": "the same",
    "any side knowledge, forever": "other releases of the same data add up",
    "what attackers do or combine": "the same",
    "only the curator who ran": "the program does not know who else has the data",
    "checks everything": "tests are tests",
    "ever quotes a value": "a file may be called after a person",
}


def test_no_claim_is_too_large() -> None:
    texts = [
        ROOT / "README.md",
        ROOT / "ARCHITECTURE.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "pyproject.toml",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "src").rglob("*.py"),
    ]
    found = [
        (path.relative_to(ROOT).as_posix(), claim, truth)
        for path in texts
        for claim, truth in TOO_MUCH.items()
        if claim in _plain(path.read_text())
    ]
    assert not found


def _plain(text: str) -> str:
    """Take quotes and breaks of lines out of a text."""
    return " ".join(text.replace('"', " ").replace("*", "").lower().split())
