"""The error decomposition: every term measured again by hand, losses that sum to the error, refusals."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import polygons
from tests.conftest import trajectories

import privtrace as pt
from privtrace.evaluation.decomposition import MOST_RUNS, TERMS, Explanation
from privtrace.testing.data import Cut

# Sampling by hand warns of walks that were cut short; explaining samples the same.
pytestmark = pytest.mark.filterwarnings("ignore:.*walks reached")

SEED, RUNS = 20, 2


@pytest.fixture(scope="module", params=["box", "mixed 1"])
def synthesizer(request: pytest.FixtureRequest, region: pt.Region) -> pt.PrivTrace:
    within = region if request.param == "box" else polygons.region(request.param)
    return pt.PrivTrace(epsilon=7, region=within)


@pytest.fixture(scope="module")
def explanation(wanderers: pt.Trajectories, synthesizer: pt.PrivTrace) -> Explanation:
    return pt.explain(
        wanderers, synthesizer, epsilons=["0.5", 2], runs=RUNS, profile="all", seed=SEED, backend=pt.Threads(1)
    )


def evaluated(real: pt.Trajectories, made: pt.Trajectories, synthesizer: pt.PrivTrace) -> dict[str, float]:
    table = pt.evaluate(real, made, region=synthesizer.region, profile="all", seed=SEED)
    return {name: score.value for name, score in table.scores.items()}


def check(explanation: Explanation, term: str, epsilon: str, by_hand: list[dict[str, float]]) -> None:
    """Compare a term with the mean, the standard deviation and the mean error of runs."""
    for metric in explanation.metrics:
        value, sd, error = explanation.terms[epsilon][term][metric.name]
        numbers = [values[metric.name] for values in by_hand]
        assert len(numbers) == RUNS
        assert value == pytest.approx(sum(numbers) / RUNS, abs=1e-12)
        assert sd == pytest.approx(np.std(numbers, ddof=1), abs=1e-12)
        assert error == pytest.approx(sum(abs(n - metric.best) for n in numbers) / RUNS, abs=1e-12)


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_noise_is_the_release_itself(
    explanation: Explanation, wanderers: pt.Trajectories, synthesizer: pt.PrivTrace, epsilon: str
) -> None:
    by_hand = []
    for seed in range(SEED, SEED + RUNS):
        model = synthesizer.at(epsilon).fit(wanderers, noise=pt.SeededNoise(seed))
        by_hand.append(evaluated(wanderers, model.sample(seed=seed), synthesizer))
    check(explanation, "noise", epsilon, by_hand)


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_structure_is_the_model_without_noise(
    explanation: Explanation, wanderers: pt.Trajectories, synthesizer: pt.PrivTrace, epsilon: str
) -> None:
    model = synthesizer.at(epsilon).fit(wanderers, noise=pt.NoNoise())
    made = [model.sample(seed=seed) for seed in range(SEED, SEED + RUNS)]
    check(explanation, "structure", epsilon, [evaluated(wanderers, given, synthesizer) for given in made])


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_discretization_is_the_real_paths_through_the_cells_and_back(
    explanation: Explanation, wanderers: pt.Trajectories, synthesizer: pt.PrivTrace, epsilon: str
) -> None:
    model = synthesizer.at(epsilon).fit(wanderers, noise=pt.NoNoise())
    made = [model.retrace(wanderers, 0, seed) for seed in range(SEED, SEED + RUNS)]
    check(explanation, "discretization", epsilon, [evaluated(wanderers, given, synthesizer) for given in made])


def test_sampling_and_baseline_are_those_of_an_evaluation(
    explanation: Explanation, wanderers: pt.Trajectories, synthesizer: pt.PrivTrace
) -> None:
    table = pt.evaluate(wanderers, wanderers, region=synthesizer.region, profile="all", seed=SEED)
    assert explanation.sampling == {name: score.limit for name, score in table.scores.items()}
    assert explanation.baseline == {name: score.baseline for name, score in table.scores.items()}


def test_losses_sum_to_the_error(explanation: Explanation) -> None:
    for metric in explanation.metrics:
        for epsilon, terms in explanation.terms.items():
            losses = explanation.losses(metric, epsilon)
            assert list(losses) == list(TERMS)
            error = 0.0
            for term in TERMS:  # each adds to those below it
                error += losses[term]
                assert error == pytest.approx(terms[term][metric.name].error, abs=1e-12)


class Emptied:
    """Release nothing in the first run."""

    def __init__(self, synthesizer: pt.PrivTrace) -> None:
        self.synthesizer = synthesizer
        self.method, self.region = synthesizer.method, synthesizer.region

    def at(self, epsilon: str) -> Emptied:
        return Emptied(self.synthesizer.at(epsilon))

    def fit(self, source: pt.Trajectories, *, noise: Any, backend: Any) -> pt.PrivTraceModel:
        model = self.synthesizer.fit(source, noise=noise, backend=backend)
        seeded = (
            isinstance(noise, pt.SeededNoise) and noise.selection_key() == pt.SeededNoise(2).selection_key()
        )
        return replace(model, count=0) if seeded else model


def test_runs_in_which_a_metric_is_not_defined_are_left_out(
    wanderers: pt.Trajectories, region: pt.Region
) -> None:
    synthesizer = pt.PrivTrace(epsilon=1, region=region)
    emptied: Any = Emptied(synthesizer)
    partly = pt.explain(wanderers, emptied, epsilons=[1], runs=2, seed=2)
    model = synthesizer.fit(wanderers, noise=pt.SeededNoise(3))
    table = pt.evaluate(wanderers, model.sample(seed=3), region=region, seed=2)
    defined = partly.terms["1"]["noise"]["short_length_share"]
    assert defined.value == table["short_length_share"].value and math.isnan(defined.sd)
    nothing = pt.explain(wanderers, emptied, epsilons=[1], runs=1, seed=2)
    assert np.isnan(nothing.terms["1"]["noise"]["short_length_share"].value)
    assert nothing.to_dict()["metrics"]["short_length_share"]["epsilons"]["1"]["noise"]["value"] is None


def test_to_dict_is_plain_json(explanation: Explanation) -> None:
    listed = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))
    assert listed == explanation.to_dict()
    assert set(listed) == {"metrics", "sizes", "inputs", "not_private", "notice", "deprecated"}
    assert listed["not_private"] is True
    assert listed["sizes"]["2"]["states"] > listed["sizes"]["0.5"]["states"] > 0
    assert listed["inputs"]["epsilons"] == ["0.5", "2"] and listed["inputs"]["runs"] == RUNS
    assert listed["inputs"]["method"] == "privtrace" and listed["inputs"]["seed"] == SEED
    assert listed["inputs"]["real"]["trajectories"] == 600
    for metric in explanation.metrics:
        entry = listed["metrics"][metric.name]
        assert entry["sampling"] == explanation.sampling[metric.name]
        assert entry["baseline"] == explanation.baseline[metric.name]
        for epsilon, terms in explanation.terms.items():
            for term in TERMS:
                assert entry["epsilons"][epsilon][term] == {
                    "value": terms[term][metric.name].value,
                    "sd": terms[term][metric.name].sd,
                    "loss": explanation.losses(metric, epsilon)[term],
                }


def test_old_names_give_the_same_with_a_note(explanation: Explanation) -> None:
    with pytest.warns(DeprecationWarning, match="Explanation.rungs was renamed to terms"):
        assert explanation.rungs is explanation.terms
    with pytest.warns(DeprecationWarning, match="Explanation.ceiling was renamed to baseline"):
        assert explanation.ceiling is explanation.baseline
    listed = explanation.to_dict()
    assert listed["deprecated"] == {"ceiling": "renamed to baseline; it will go in version 0.3"}
    assert all(entry["ceiling"] == entry["baseline"] for entry in listed["metrics"].values())


def test_words_say_that_it_is_not_private_and_list_every_term(explanation: Explanation) -> None:
    lines = str(explanation).splitlines()
    assert lines[0].startswith("NOT PRIVATE") and "void the privacy statement" in lines[0]
    for metric in explanation.metrics:
        rows = [line.split() for line in lines if line.split()[:1] == [metric.name]]
        assert [row[1] for row in rows] == ["0.5", "2"]
        for row, (epsilon, terms) in zip(rows, explanation.terms.items(), strict=True):
            means = [terms[term][metric.name] for term in TERMS]
            numbers = [explanation.sampling[metric.name], *(mean.value for mean in means), means[-1].sd]
            numbers += [explanation.baseline[metric.name], *explanation.losses(metric, epsilon).values()]
            assert row[2:] == [f"{number:.4f}" for number in numbers]


@pytest.fixture(scope="module")
def quick(region: pt.Region) -> dict[str, Any]:
    return {"synthesizer": pt.PrivTrace(epsilon=1, region=region), "epsilons": [1], "runs": 1, "seed": 2}


def test_rungs_of_a_metric_by_its_name(explanation: Explanation) -> None:
    assert explanation["od"]["2"]["noise"] == explanation.terms["2"]["noise"]["od"]
    assert list(explanation["od"]) == ["0.5", "2"] and list(explanation["od"]["2"]) == list(TERMS)


@pytest.mark.parametrize("epsilons", [1, 1.0, "1", ["1"], "1.0, 1"])
def test_epsilons_in_any_form(epsilons: Any, wanderers: pt.Trajectories, quick: dict[str, Any]) -> None:
    assert list(pt.explain(wanderers, **quick | {"epsilons": epsilons}).terms) == ["1"]


def test_a_model_is_no_method(wanderers: pt.Trajectories, quick: dict[str, Any]) -> None:
    model = quick["synthesizer"].fit(wanderers)
    with pytest.raises(pt.SettingsError, match="a method with its settings is needed"):
        pt.explain(wanderers, model)


def test_one_run_has_no_deviation(wanderers: pt.Trajectories, quick: dict[str, Any]) -> None:
    explanation = pt.explain(wanderers, **quick)
    assert all(math.isnan(mean.sd) for term in explanation.terms["1"].values() for mean in term.values())
    assert explanation.to_dict()["metrics"]["length"]["epsilons"]["1"]["noise"]["sd"] is None


def test_the_same_seed_gives_the_same_explanation(wanderers: pt.Trajectories, quick: dict[str, Any]) -> None:
    one, two, other = (
        pt.explain(source, **{**quick, "seed": seed}, backend=pt.Threads(n))
        for source, seed, n in ((wanderers, 2, 1), (Cut(wanderers, [1, 0, 250, 3]), 2, 2), (wanderers, 3, 1))
    )
    assert one.to_dict() == two.to_dict() and str(one) == str(two)
    for term in TERMS:
        assert one.terms["1"][term]["length"].value != other.terms["1"][term]["length"].value


def test_works_on_files(wanderers: pt.Trajectories, quick: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "real.parquet"
    wanderers.write(path)
    file, memory = (pt.explain(source, **quick).to_dict() for source in (pt.read(path), wanderers))
    assert file["metrics"] == memory["metrics"]
    assert file["inputs"]["real"]["path"] == str(path)


def test_noise_is_less_at_a_larger_epsilon(wanderers: pt.Trajectories, quick: dict[str, Any]) -> None:
    explanation = pt.explain(wanderers, **{**quick, "epsilons": ("0.05", "50")})
    for name in ("length", "density", "pattern"):
        values = [explanation.terms[epsilon]["noise"][name].value for epsilon in ("0.05", "50")]
        assert values[1] < values[0]


def test_the_epsilon_of_the_method_is_replaced(wanderers: pt.Trajectories, quick: dict[str, Any]) -> None:
    other = pt.PrivTrace(epsilon=30, region=quick["synthesizer"].region)
    one, two = (
        pt.explain(wanderers, **{**quick, "synthesizer": method}) for method in (other, quick["synthesizer"])
    )
    assert one.to_dict() == two.to_dict()


def test_an_epsilon_named_twice_is_explained_once(wanderers: pt.Trajectories, quick: dict[str, Any]) -> None:
    explanation = pt.explain(wanderers, **{**quick, "epsilons": iter(["1", 1.0, 1])})
    assert list(explanation.terms) == ["1"]
    assert explanation.to_dict() == pt.explain(wanderers, **quick).to_dict()


@pytest.mark.parametrize(
    "source",
    [
        trajectories([(5.0, 5.0)]),
        trajectories([(5.0, 5.0)], [(1.0, 1.0), (math.nan, 2.0), (9.0, 9.0)], [(99.0, 99.0)], []),
    ],
    ids=["one point", "a few"],
)
def test_little_data_is_explained(source: pt.Trajectories, quick: dict[str, Any]) -> None:
    explanation = pt.explain(source, **{**quick, "profile": "all", "runs": 2})
    json.dumps(explanation.to_dict(), allow_nan=False)
    assert str(explanation).startswith("NOT PRIVATE")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilons": []}, "explain needs an epsilon at least"),
        ({"epsilons": ["none"]}, "epsilon"),
        ({"epsilons": [0]}, "epsilon"),
        ({"epsilons": [1, -1]}, "epsilon"),
        ({"runs": 0}, "runs must be a whole number from 1 to 1,000, not 0"),
        ({"runs": -1}, "runs must be"),
        ({"runs": MOST_RUNS + 1}, "runs must be"),
        ({"runs": 1.5}, "runs must be"),
        ({"runs": None}, "runs must be"),
        ({"seed": -1}, "a seed is a whole number"),
        ({"profile": "best"}, "the profile must be"),
    ],
)
def test_bad_settings_are_refused(
    wanderers: pt.Trajectories, quick: dict[str, Any], settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(pt.SettingsError, match=words):
        pt.explain(wanderers, **{**quick, **settings})


def test_seeds_of_all_runs_must_be_seeds(wanderers: pt.Trajectories, quick: dict[str, Any]) -> None:
    with pytest.raises(pt.SettingsError, match="a seed is a whole number"):
        pt.explain(wanderers, **{**quick, "seed": 2**64 - 1, "runs": 2})


def test_data_that_cannot_be_meant_is_refused(quick: dict[str, Any]) -> None:
    with pytest.raises(pt.DataError, match="none of its points lies in the region"):
        pt.explain(trajectories([(77.125, 88.25)]), **quick)
    with pytest.raises(pt.DataError, match="trajectories are needed"):
        pt.explain([[(1.0, 1.0)]], **quick)  # type: ignore[arg-type]


def test_what_needs_times_is_left_out_where_the_method_makes_none(
    explanation: Explanation, wanderers: pt.Trajectories, synthesizer: pt.PrivTrace
) -> None:
    left_out = explanation.to_dict()["inputs"]["left_out"]
    assert "departure" in left_out and "jump" not in left_out and len(left_out) == 8
    assert not set(left_out) & {metric.name for metric in explanation.metrics}
    assert "left out   what the method makes has no usable times, which these metrics need" in str(explanation)
    untimed = replace(wanderers, times=None)
    other = pt.explain(untimed, synthesizer, epsilons=2, runs=1, profile="time", timezone="Asia/Tokyo")
    assert "left out   the real data has no usable times" in str(other)
    assert other.inputs["timezone"] == "Asia/Tokyo"
