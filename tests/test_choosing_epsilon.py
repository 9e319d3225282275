"""The page about choosing epsilon gives the numbers that the program gives, and its links lead somewhere."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

from privtrace.release import _surest, rounded_up

PAGE = Path(__file__).parents[1] / "docs" / "choosing-epsilon.md"


def sure(epsilon: Fraction) -> str:
    return _surest(float(epsilon)).partition(" (")[0]


def rows() -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
        if line.startswith("|")
    ]


def test_what_epsilon_means_is_what_the_program_says() -> None:
    table = [row for row in rows() if len(row) == 6 and re.fullmatch(r"[\d.]+", row[0])]
    assert [row[0] for row in table] == ["0.01", "0.1", "0.3", "0.5", "1", "2", "3", "5", "10"]
    for text, factor, people, *trips in table:
        epsilon = Fraction(text)
        assert factor == rounded_up(math.exp(epsilon), math.expm1(epsilon)), text
        assert people == sure(epsilon), text
        assert trips == [sure(n * epsilon) for n in (1, 10, 100)], text


def test_a_year_of_releases_is_what_the_program_says() -> None:
    told = {row[0]: row[1:] for row in rows() if "after 12 months" in row[0]}
    assert len(told) == 2
    for said, (trips, people) in told.items():
        epsilon = Fraction(re.search(r"ε = ([\d.]+)", said)[1])
        named = re.findall(r"[\d.]+ %|practically 100 %", trips)
        assert named == [sure(n * epsilon) for n in (1, 10, 100)][: len(named)], said
        assert people.startswith(f"{float(12 * epsilon):g} in total") and people.endswith(sure(12 * epsilon))


def test_links_of_the_page_lead_somewhere() -> None:
    text = PAGE.read_text()
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\(([^)]*)\)", text):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        elif not target.startswith("http"):
            assert (PAGE.parent / target.partition("#")[0]).exists(), target
