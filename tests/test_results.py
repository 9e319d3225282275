"""The documents say what the stored results say, and claims are judged by rules that can fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from experiments.paper import documents, page
from experiments.paper.claims import CLAIMS
from experiments.paper.evidence import Ratio, Setting, growth, ratio
from experiments.paper.judging import (
    Verdict,
    all_true,
    better_in_all,
    better_in_most,
    halved_in_most,
    jointly,
    most_true,
)
from experiments.paper.pictures import density_maps, pictures
from experiments.paper.results import Results
from experiments.paper.sections import SECTIONS, shares

import privtrace as pt


@cache
def results() -> Results:
    return Results()


def test_documents_agree_with_the_results() -> None:
    for path, text in documents.texts(results()).items():
        assert path.read_text() == text, f"{path.name}: run `make paper`, which writes its figures"


def test_every_block_is_in_a_document() -> None:
    texts = "".join((documents.ROOT / name).read_text() for name in documents.DOCUMENTS)
    assert {*re.findall(r"<!-- results: ([a-z-]+) -->", texts)} == {*documents.BLOCKS}


def test_pictures_agree_with_the_results() -> None:
    drawn = [*pictures(results()), density_maps(results().maps("city"), "city", not_private=False)]
    for name, content in documents.images(drawn).items():
        stored = (documents.IMAGES / name).read_bytes()
        if name.endswith(".svg"):  # rasters depend on the version of a library
            assert stored == content, f"{name}: run `make paper`, which draws it"


def test_stored_results_are_complete_and_hold_no_map_of_real_data() -> None:
    for section in SECTIONS:
        for data in section.data:
            if section.maps:
                continue
            study = results().study(section.name, data)
            assert not study.heats
            for label in section.methods(data):
                for epsilon in section.epsilons:
                    assert study.mean(label, epsilon, study.metrics[0].name).runs == section.runs, (
                        section.name,
                        data,
                        label,
                    )
    assert results().mapped()[0] == "city"


def test_another_number_in_the_results_changes_the_documents() -> None:
    class Changed(Results):
        def study(self, section: str, data: str) -> pt.Study:
            study = super().study(section, data)
            if (section, data) == ("end-to-end", "porto"):
                study.scores["dpt", "1"]["density"][:] = 9.0
            return study

    changed = Changed()
    written = {path.name for path, text in documents.texts(changed).items() if path.read_text() != text}
    assert written == {"README.md", "results.md", "choosing.md"}


def test_ratios_count_wins_and_hold_their_interval() -> None:
    rng = np.random.default_rng(5)
    settings = [
        Setting(0.4 * np.exp(0.05 * rng.standard_normal(10)), np.exp(0.05 * rng.standard_normal(10)))
        for _ in range(6)
    ]
    settings += [Setting(np.full(10, 2.0), np.full(10, 1.0))]
    found = ratio(settings)
    assert (found.n, found.better, found.surely_better, found.surely_worse, found.halved, found.tenth) == (
        7,
        6,
        6,
        1,
        6,
        0,
    )
    expected = (0.4**6 * 2) ** (1 / 7)
    assert found.value == pytest.approx(expected, rel=0.03)
    assert found.low < found.value < found.high
    assert found.high / found.low == pytest.approx(np.exp(2 * 1.96 * 0.05 * np.sqrt(2 / 10 * 6) / 7), rel=0.2)


def test_runs_that_do_not_differ_are_no_sure_wins() -> None:
    found = ratio([Setting(np.array([1.0, 2.0, 3.0]), np.array([1.1, 2.1, 3.1]))])
    assert (found.better, found.surely_better) == (1, 0)
    assert found.low < 1 < found.high


def found(better: int, halved: int, high: float) -> Ratio:
    return Ratio(0.9, 0.8, high, 10, better, better, 0, halved, 0)


@pytest.mark.parametrize(
    ("judge", "ratio", "verdict"),
    [
        (better_in_all, found(10, 0, 0.95), Verdict.holds),
        (better_in_all, found(9, 0, 0.95), Verdict.in_part),
        (better_in_all, found(9, 0, 1.05), Verdict.fails),
        (better_in_all, found(5, 0, 0.95), Verdict.fails),
        (better_in_most, found(6, 0, 0.95), Verdict.holds),
        (better_in_most, found(6, 0, 1.05), Verdict.in_part),
        (better_in_most, found(5, 0, 0.95), Verdict.in_part),
        (better_in_most, found(5, 0, 1.05), Verdict.fails),
        (halved_in_most, found(9, 6, 0.95), Verdict.holds),
        (halved_in_most, found(9, 5, 0.95), Verdict.in_part),
        (halved_in_most, found(9, 5, 1.05), Verdict.fails),
    ],
)
def test_verdicts_follow_from_ratios(judge: Callable[[Ratio], Verdict], ratio: Ratio, verdict: Verdict) -> None:
    assert judge(ratio) is verdict


def test_verdicts_follow_from_counts() -> None:
    assert [all_true(n, 4) for n in (4, 3, 2)] == [Verdict.holds, Verdict.in_part, Verdict.fails]
    assert [most_true(n, 4) for n in (3, 2)] == [Verdict.holds, Verdict.fails]


def test_verdicts_of_parts_are_joined() -> None:
    assert jointly([Verdict.holds, Verdict.holds]) is Verdict.holds
    assert jointly([Verdict.fails]) is Verdict.fails
    assert jointly([Verdict.holds, Verdict.fails]) is Verdict.in_part


def test_powers_of_growth_are_found() -> None:
    assert growth([1, 2, 4, 8], [3 * size**1.5 for size in (1, 2, 4, 8)]) == pytest.approx(1.5)


def test_every_claim_has_its_place_and_all_verdicts_are_given() -> None:
    found = [claim.judge(results()) for claim in CLAIMS]
    assert all(claim.place and claim.words for claim in CLAIMS)
    assert all(finding.evidence for finding in found)
    assert {finding.verdict for finding in found} == {*Verdict}


def test_differences_from_the_paper_of_a_factor_of_two_are_told() -> None:
    assert page.told((150.0,), 0, 1.0, "s") == "150 s, 150 times"
    assert page.told((1.0,), 0, 4.0, "MB") == "1 MB, 1/4"
    assert page.told((1.0,), 0, 1.5, "MB") == "1 MB"
    assert page.told((1.0,), 1, 1.5, "MB") == ""


def test_divisions_of_epsilon_leave_something_to_each_stage() -> None:
    assert len([*shares()]) == 36
    assert all(grid >= 1 and first >= 1 and grid + first <= 9 for grid, first in shares())
