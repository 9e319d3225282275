"""The error decomposition: every term measured again by hand, losses that sum to the error, refusals."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import polygons
from tests.conftest import trajectories

import privtrace as pt
from privtrace.evaluation.decomposition import MOST_RUNS, TERMS, Explanation, _resampled, _retraced
from privtrace.evaluation.reference import Reference
from privtrace.methods.model import Model
from privtrace.privacy.unsafe_noise import NoNoise
from privtrace.space.clip import clip
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


def evaluated(
    real: pt.Trajectories, made: pt.Trajectories, synthesizer: Any, profile: str = "all"
) -> dict[str, float]:
    reference = reference_of(real, synthesizer.region, profile)
    return reference.values(reference.measure(made))


@cache
def reference_of(real: pt.Trajectories, region: pt.Region, profile: str) -> Reference:
    return Reference.of(real, region, profile=profile, seed=SEED)


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
    made = [model.retrace(clip(wanderers, model.release.region), 0, seed) for seed in range(SEED, SEED + RUNS)]
    check(explanation, "discretization", epsilon, [evaluated(wanderers, given, synthesizer) for given in made])


def test_limit_and_baseline_are_those_of_an_evaluation(
    explanation: Explanation, wanderers: pt.Trajectories, synthesizer: pt.PrivTrace
) -> None:
    table = pt.evaluate(wanderers, wanderers, region=synthesizer.region, profile="all", seed=SEED)
    assert explanation.limit == {name: score.limit for name, score in table.scores.items()}
    assert explanation.baseline == {name: score.baseline for name, score in table.scores.items()}


def test_losses_sum_to_the_error(explanation: Explanation) -> None:
    for metric in explanation.metrics:
        for epsilon, terms in explanation.terms.items():
            losses = explanation.losses(metric, epsilon)
            assert list(losses) == list(terms) == [*TERMS[1:]]
            error = 0.0
            for term in terms:  # each adds to those before it
                error += losses[term]
                assert error == pytest.approx(terms[term][metric.name].error, abs=1e-12)


class Emptied:
    """Release nothing in the first run."""

    def __init__(self, synthesizer: pt.PrivTrace) -> None:
        self.synthesizer = synthesizer
        self.method, self.region = synthesizer.method, synthesizer.region

    sets_points = False

    def at(self, epsilon: str) -> Emptied:
        return Emptied(self.synthesizer.at(epsilon))

    def meeting(self, source: pt.Trajectories) -> Any:
        return nullcontext((self, source))

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
        assert entry["limit"] == explanation.limit[metric.name]
        assert entry["baseline"] == explanation.baseline[metric.name]
        for epsilon, terms in explanation.terms.items():
            assert [*entry["epsilons"][epsilon]] == [*terms]
            for term in terms:
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
    with pytest.warns(DeprecationWarning, match="Explanation.sampling was renamed to limit"):
        assert explanation.sampling is explanation.limit
    listed = explanation.to_dict()
    assert listed["deprecated"] == {
        "ceiling": "renamed to baseline; the old name will be removed in version 0.3",
        "sampling": "renamed to limit; the old name will be removed in version 0.3",
    }
    assert all(entry["ceiling"] == entry["baseline"] for entry in listed["metrics"].values())
    assert all(entry["sampling"] == entry["limit"] for entry in listed["metrics"].values())


def test_words_say_that_it_is_not_private_and_list_every_term(explanation: Explanation) -> None:
    lines = str(explanation).splitlines()
    assert lines[0].startswith("NOT PRIVATE") and "the privacy statement no longer holds" in lines[0]
    for metric in explanation.metrics:
        rows = [line.split() for line in lines if line.split()[:1] == [metric.name]]
        assert [row[1] for row in rows] == ["0.5", "2"]
        for row, (epsilon, terms) in zip(rows, explanation.terms.items(), strict=True):
            means = [by_metric[metric.name] for by_metric in terms.values()]
            numbers = [explanation.limit[metric.name], *(mean.value for mean in means), means[-1].sd]
            numbers += [explanation.baseline[metric.name], *explanation.losses(metric, epsilon).values()]
            assert row[2:] == [f"{number:.4f}" for number in numbers]


@pytest.fixture(scope="module")
def quick(region: pt.Region) -> dict[str, Any]:
    return {"synthesizer": pt.PrivTrace(epsilon=1, region=region), "epsilons": [1], "runs": 1, "seed": 2}


def test_rungs_of_a_metric_by_its_name(explanation: Explanation) -> None:
    assert explanation["od"]["2"]["noise"] == explanation.terms["2"]["noise"]["od"]
    assert list(explanation["od"]) == ["0.5", "2"] and list(explanation["od"]["2"]) == list(TERMS[1:])


@pytest.mark.parametrize("epsilons", [1, 1.0, "1", ["1"], "1.0, 1"])
def test_epsilons_in_any_form(epsilons: Any, wanderers: pt.Trajectories, quick: dict[str, Any]) -> None:
    assert list(pt.explain(wanderers, **quick | {"epsilons": epsilons}).terms) == ["1"]


def test_a_model_is_no_method(wanderers: pt.Trajectories, quick: dict[str, Any]) -> None:
    model = quick["synthesizer"].fit(wanderers)
    with pytest.raises(pt.SettingsError, match="give a method with its settings"):
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
    for term in TERMS[1:]:
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
        ({"epsilons": []}, "explain needs at least one epsilon"),
        ({"epsilons": ["none"]}, "epsilon"),
        ({"epsilons": [0]}, "epsilon"),
        ({"epsilons": [1, -1]}, "epsilon"),
        ({"runs": 0}, "runs must be a whole number from 1 to 1,000, not 0"),
        ({"runs": -1}, "runs must be"),
        ({"runs": MOST_RUNS + 1}, "runs must be"),
        ({"runs": 1.5}, "runs must be"),
        ({"runs": None}, "runs must be"),
        ({"seed": -1}, "must be a whole number from 0 to 1844"),
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
    assert "departure" in left_out and "jump" not in left_out and len(left_out) == 9
    assert not set(left_out) & {metric.name for metric in explanation.metrics}
    assert "left out   the synthetic data has no usable times, so these metrics are left out" in str(
        explanation
    )
    untimed = replace(wanderers, times=None)
    other = pt.explain(untimed, synthesizer, epsilons=2, runs=1, profile="time", timezone="Asia/Tokyo")
    assert "left out   the real data has no usable times" in str(other)
    assert other.inputs["timezone"] == "Asia/Tokyo"


# --- points that are set anew --------------------------------------------------------------------------------


def run_of(points: np.ndarray, box: tuple[float, ...]) -> slice:
    """Find the longest run of points in a box, the first of several, slowly."""
    best, start = slice(0, 0), None
    for p, (x, y) in enumerate([*points.tolist(), (math.inf, math.inf)]):
        inside = box[0] <= x <= box[2] and box[1] <= y <= box[3]
        if inside and start is None:
            start = p
        elif not inside and start is not None:
            best, start = (slice(start, p), None) if p - start > best.stop - best.start else (best, None)
    return best


def off_line(points: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Measure how far points are from a line."""
    line = line if len(line) > 1 else np.concatenate([line, line])
    starts, steps, points = line[:-1], np.diff(line, axis=0), points[:, np.newaxis]
    along = np.sum((points - starts) * steps, axis=2) / np.maximum(np.sum(steps**2, axis=1), 1e-300)
    nearest = starts + np.clip(along, 0, 1)[:, :, np.newaxis] * steps
    return np.linalg.norm(nearest - points, axis=2).min(axis=1)


SETTING_POINTS: dict[str, Any] = {
    "as measured": (pt.BridgeTrace, {"rounds": 1}),
    "without times": (pt.BridgeTrace, {"times": False}),
    "as far apart": (pt.BridgeTrace, {"spacing": 0.4}),
    "another method": (pt.PrivTrace, {"times": True}),
}


@pytest.fixture(scope="module", params=SETTING_POINTS)
def setting_points(request: pytest.FixtureRequest, region: pt.Region) -> Any:
    method, settings = SETTING_POINTS[request.param]
    return method(epsilon=2, region=region, **settings)


@pytest.fixture(scope="module")
def noiseless(setting_points: Any, wanderers: pt.Trajectories) -> Model:
    fitted: Model = setting_points.fit(wanderers, noise=NoNoise())
    return fitted


@pytest.fixture(scope="module")
def resampled(noiseless: Model, wanderers: pt.Trajectories) -> pt.Trajectories:
    return pt.Trajectories.concatenate(_resampled(noiseless, Cut(wanderers, [7, 0, 99]), 4).parts(), "planar")


def test_points_are_set_anew_on_the_real_lines(
    resampled: pt.Trajectories, wanderers: pt.Trajectories, region: pt.Region
) -> None:
    moved = 0
    for t in range(len(wanderers)):
        real = wanderers.points[slice(*wanderers.offsets[t : t + 2])]
        line = real[run_of(real, (0, 0, 10, 10))]
        points = resampled.points[slice(*resampled.offsets[t : t + 2])]
        assert (len(points) > 0) == (len(line) > 0)
        if len(points):
            assert off_line(points, line).max() < 1e-9
            np.testing.assert_array_equal(points[0], line[0])
        if len(points) > 1:
            np.testing.assert_array_equal(points[-1], line[-1])
        moved += len(points) != len(line)
    assert moved > 100
    assert resampled.about == {}


def test_they_depart_when_the_real_ones_did(
    noiseless: Model, resampled: pt.Trajectories, wanderers: pt.Trajectories
) -> None:
    if noiseless.timing is None or noiseless.timing.timetable is None:
        assert resampled.times is None
        return
    retraced = pt.Trajectories.concatenate(_retraced(noiseless, wanderers, 4).parts(), "planar")
    assert wanderers.times is not None and retraced.about == {}
    for made in (resampled, retraced):
        assert made.times is not None
        for t in range(len(wanderers)):
            points = wanderers.points[slice(*wanderers.offsets[t : t + 2])]
            run = run_of(points, (0, 0, 10, 10))
            times = made.times[slice(*made.offsets[t : t + 2])]
            if len(times):
                assert times[0] == wanderers.times[wanderers.offsets[t] + run.start]
                assert np.all(np.diff(times) > np.timedelta64(0, "ms"))


def test_who_has_no_time_departs_at_none(wanderers: pt.Trajectories, region: pt.Region) -> None:
    times = wanderers.times.copy()  # type: ignore[union-attr]
    times[: wanderers.offsets[5]] = np.datetime64("NaT")
    some = replace(wanderers, times=times)
    model = pt.BridgeTrace(epsilon=2, region=region).fit(some, noise=NoNoise())
    for made in (_resampled(model, some, 1), _retraced(model, some, 1)):
        (part,) = made.parts()
        assert np.isnat(part.times[: part.offsets[5]]).all()  # type: ignore[index]
        assert not np.isnat(part.times[part.offsets[5] :]).any()  # type: ignore[index]


def test_points_as_far_apart_as_is_set(wanderers: pt.Trajectories, region: pt.Region) -> None:
    model = pt.BridgeTrace(epsilon=2, region=region, spacing=0.4).fit(wanderers, noise=NoNoise())
    line = trajectories([(1.0, 1.0), (1.0, 3.0), (9.0, 3.0)], [(2.0, 2.0), (2.0, 2.1)])
    sizes = np.diff(model.on_lines(line, 0, 1).offsets)
    assert sizes[0] in (26, 27) and sizes[1] == 2  # 10 / 0.4, rounded up or down, and one more
    means = [np.diff(model.on_lines(line, 2 * k, 1).offsets)[0] for k in range(200)]
    assert abs(np.mean(means) - 26) < 0.2


@pytest.mark.parametrize("setting_points", ["as measured", "another method"], indirect=True)
def test_every_term_of_a_method_that_sets_points(
    setting_points: Any, noiseless: Model, wanderers: pt.Trajectories
) -> None:
    explanation = pt.explain(wanderers, setting_points, epsilons="2", runs=RUNS, profile="time", seed=SEED)
    seeds = range(SEED, SEED + RUNS)
    by_hand = {
        "sampling": [*(_whole(_resampled(noiseless, wanderers, seed)) for seed in seeds)],
        "discretization": [*(_whole(_retraced(noiseless, wanderers, seed)) for seed in seeds)],
        "structure": [*(noiseless.sample(seed=seed) for seed in seeds)],
        "noise": [
            setting_points.fit(wanderers, noise=pt.SeededNoise(seed)).sample(seed=seed) for seed in seeds
        ],
    }
    assert [*explanation.terms["2"]] == [*TERMS] == [*by_hand]
    for term, made in by_hand.items():
        values = [evaluated(wanderers, given, setting_points, "time") for given in made]
        check(explanation, term, "2", values)
    for metric in explanation.metrics:
        losses = explanation.losses(metric, "2")
        assert sum(losses.values()) == pytest.approx(explanation.terms["2"]["noise"][metric.name].error)
    head = next(line for line in str(explanation).splitlines() if line.startswith("metric"))
    assert head.split()[3:7] == ["points", "cells", "structure", "release"]
    assert head.split()[-4:] == ["+points", "+cells", "+structure", "+noise"]
    if noiseless.timing is not None and noiseless.timing.timetable is not None:
        departure = explanation["departure"]["2"]
        assert departure["sampling"].value == departure["discretization"].value == 0.0
        assert departure["structure"].value > 0.0


def _whole(made: Any) -> pt.Trajectories:
    return pt.Trajectories.concatenate(made.parts(), made.crs)


def test_points_of_a_method_lose_nothing_where_the_real_ones_are_set_so(region: pt.Region) -> None:
    """Trips with a point at every unit of way, which are set again at every unit: the term is near nothing."""
    rng = np.random.default_rng(3)
    starts, ways = rng.uniform(0, 3, (400, 2)), rng.integers(2, 6, 400)
    lines = [[(x + k, y + k) for k in range(n)] for (x, y), n in zip(starts.tolist(), ways, strict=True)]
    real = trajectories(*lines)
    synthesizer = pt.BridgeTrace(epsilon=2, region=region, spacing=math.sqrt(2))
    explanation = pt.explain(real, synthesizer, epsilons=2, runs=1)
    for metric in explanation.metrics[:4]:
        losses = explanation.losses(metric, "2")
        assert abs(losses["sampling"]) < 0.02 < losses["discretization"], metric.name


def test_only_the_period_is_explained(wanderers: pt.Trajectories, region: pt.Region) -> None:
    """Trips of other days are neither fitted nor compared."""
    shifted = np.repeat(np.arange(len(wanderers)) % 2, np.diff(wanderers.offsets))
    times = wanderers.times + shifted * np.timedelta64(7, "D")  # type: ignore[operator]
    both = replace(wanderers, times=times, ids=None)
    first = both.take(np.flatnonzero(np.arange(len(wanderers)) % 2 == 0))
    settings: Any = {"epsilon": 1, "region": region, "period": "2014-05-18/2014-05-24", "rounds": 0}
    whole, alone = (
        pt.explain(source, pt.BridgeTrace(**settings), epsilons=1, runs=1, profile="time")
        for source in (both, first)
    )
    assert whole.to_dict()["metrics"] == alone.to_dict()["metrics"]
