"""What a study gives: values, means, wins, tables and JSON, from numbers made by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from privtrace.evaluation.comparison import PROFILES
from privtrace.study.significance import Wins
from privtrace.study.study import Cost, Entry, Study, epsilon_number, typical

METRICS = {metric.name: metric for profile in PROFILES.values() for metric in profile.metrics}
LENGTH, TAU = METRICS["length"], next(metric for metric in METRICS.values() if metric.best == 1)
NAN = math.nan


def values(*runs: float) -> np.ndarray:
    return np.array(runs)


@pytest.fixture
def study() -> Study:
    """Give two methods at two epsilons, and a finished file of one run."""
    scores: Mapping[tuple[str, str], Mapping[str, np.ndarray]] = {
        ("a", "0.5"): {"length": values(0.1, 0.2, 0.3), TAU.name: values(0.8, 0.9, 0.85)},
        ("a", "1"): {"length": values(0.11, 0.10, 0.12), TAU.name: values(0.7, NAN, NAN)},
        ("b", "0.5"): {"length": values(0.5, 0.6, 0.7), TAU.name: values(0.2, 0.21, 0.22)},
        ("b", "1"): {"length": values(0.4, 0.41, 0.39), TAU.name: values(NAN, NAN, NAN)},
        ("file", "0.5"): {"length": values(0.3), TAU.name: values(0.5)},
        ("file", "1"): {"length": values(0.3), TAU.name: values(0.5)},
    }
    colors = ("#000000", "#ffffff")
    entries = (
        Entry("a", colors, "A"),
        Entry("b", colors, "B <b>"),
        Entry("file", colors, "finished files", False),
    )
    marks = {"length": 0.05, TAU.name: NAN}
    costs = {"a": Cost(1.5, 0.5, 20.0), "b": Cost(2.5, 0.25, NAN)}
    inputs = {"trips": 10, "runs": 3, "region": "0,0,1,1", "profile": "all"}
    metrics = (LENGTH, TAU)
    return Study(entries, metrics, ("0.5", "1"), scores, marks, marks, costs, {}, "1", inputs)


def test_values_are_runs_and_epsilon_may_be_a_number(study: Study) -> None:
    assert study.labels == ("a", "b", "file")
    for epsilon in ("0.5", 0.5, "0.50"):
        assert study.values("a", epsilon, "length").tolist() == [0.1, 0.2, 0.3]
    assert study.values("a", 1, TAU.name).tolist() == [0.7]
    assert study.errors("a", 1, TAU.name) == pytest.approx([0.3])
    assert not len(study.values("b", 1, TAU.name)) and not len(study.values("a", 7, "length"))
    with pytest.raises(KeyError, match="magic was not measured: length, "):
        study.metric("magic")


def test_means(study: Study) -> None:
    mean = study.mean("a", 0.5, "length")
    assert (mean.value, mean.sd, mean.runs) == (pytest.approx(0.2), pytest.approx(0.1), 3)
    single = study.mean("file", 1, "length")
    assert single.value == 0.3 and math.isnan(single.sd) and single.runs == 1
    assert study.mean("b", 1, TAU.name).runs == 0


def test_duels_are_one_family_for_each_metric(study: Study) -> None:
    p_values = {
        (duel.first, duel.second, duel.epsilon): duel.p_value
        for duel in study.duels("length")
        if not math.isnan(duel.p_value)
    }
    plain = [
        stats.ttest_ind(
            study.values("a", epsilon, "length"), study.values("b", epsilon, "length"), equal_var=False
        )
        for epsilon in study.epsilons
    ]
    small, large = sorted(one.pvalue for one in plain)
    assert sorted(p_values.values()) == pytest.approx([2 * small, max(2 * small, large)])
    assert len(study.duels("length")) == 6


def test_who_is_nearer_to_the_best_wins(study: Study) -> None:
    """Of tau, the larger number is better."""
    assert study.wins("a", "b", TAU.name) == Wins(1, 1, 1) and study.wins("b", "a", TAU.name) == Wins(0, 0, 1)
    assert study.wins("a", "b", "length") == Wins(2, 2, 2)
    assert study.wins("a", "file", "length") == Wins(2, 0, 2)  # a file of one run shows no significance
    assert study.wins("a", "b") == Wins(3, 3, 3)
    assert study.wins("b", "a") == Wins(0, 0, 3)


def test_json_has_all_and_no_nan(study: Study) -> None:
    listed = json.loads(json.dumps(study.to_dict(), allow_nan=False))
    assert listed == study.to_dict() and listed["not_private"] is True
    assert listed["notice"].startswith("NOT PRIVATE") and listed["inputs"]["trips"] == 10
    [row] = [
        row
        for row in listed["scores"]
        if (row["method"], row["epsilon"], row["metric"]) == ("file", 0.5, "length")
    ]
    assert row == {
        "method": "file", "epsilon": 0.5, "metric": "length", "value": 0.3, "sd": None, "runs": 1,
        "limit": 0.05, "baseline": 0.05, "best": 0.0,
    }  # fmt: skip
    assert len(listed["scores"]) == 11  # nothing where nothing was measured
    assert len(listed["wins"]) == 2 * 3 * 2
    assert listed["wins"][0] == {
        "metric": "length", "winner": "a", "loser": "b", "better": 2, "significant": 2, "settings": 2,
    }  # fmt: skip
    assert listed["costs"] == {
        "a": {"fit_s": 1.5, "sample_s": 0.5, "memory_mb": 20.0},
        "b": {"fit_s": 2.5, "sample_s": 0.25, "memory_mb": None},
    }


def test_a_frame_has_a_row_for_each_mean(study: Study) -> None:
    frame = study.to_pandas()
    assert len(frame) == 11 and frame.attrs["not_private"] is True and "NOT PRIVATE" in frame.attrs["notice"]
    assert frame.set_index(["method", "epsilon", "metric"]).loc[("a", 0.5, "length"), "value"] == pytest.approx(
        0.2
    )


def test_texts_say_what_is_known_and_never_nan(study: Study) -> None:
    text, html = repr(study), study._repr_html_()
    assert text.startswith("NOT PRIVATE") and "NOT PRIVATE" in html and "nan" not in (text + html).lower()
    rows = {tuple(line.split()[:2]): line for line in text.splitlines()}
    assert rows["metric", "method"].split()[2:] == ["epsilon", "0.5", "epsilon", "1", "limit", "baseline"]
    assert rows["length", "a"].split()[2:] == [
        "0.2000",
        "±",
        "0.1000",
        "0.1100",
        "±",
        "0.0100",
        "0.0500",
        "0.0500",
    ]
    assert rows["length", "file"].split()[2:] == ["0.3000", "0.3000", "0.0500", "0.0500"]  # one run has no ±
    assert rows[TAU.name, "b"].split()[2:] == ["0.2100", "±", "0.0100", "-", "-", "-"]
    hostile = replace(study, entries=(*study.entries[:2], study.entries[2]._replace(label="<i>")))
    assert "<i>" not in hostile._repr_html_()


def test_the_epsilon_of_maps_is_the_one_nearest_to_1() -> None:
    assert typical(["0.2", "1", "2"]) == "1" and typical(["0.5", "1.5"]) == "0.5" and typical(["3"]) == "3"
    assert epsilon_number("1/3") == pytest.approx(1 / 3)
