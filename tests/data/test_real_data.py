"""Real data, where it is at hand: it fits, streams, and gives the same model however it is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from experiments.data import METHODS, REGIONS

import privtrace as pt
from privtrace.evaluation.comparison import PROFILES
from privtrace.models import to_bytes

pytestmark = [
    pytest.mark.data,
    # Noise is secret here, and now and then leaves a loop that a walk does not get out of.
    pytest.mark.filterwarnings("ignore:.*walks reached"),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize("epsilon", ["0.2", "2"])
def test_fits_and_generates(method: str, name: str, epsilon: str, real_data: Path) -> None:
    file, box = REGIONS[name]
    source = pt.read(real_data / file)
    region = pt.Region.box(*box)
    model = METHODS[method](epsilon=epsilon, region=region).fit(source)
    made = model.sample(2000, seed=1)
    low, high = made.points.min(axis=0), made.points.max(axis=0)
    assert np.all(low >= region.bounds[:2]) and np.all(high <= region.bounds[2:])
    assert made.crs == source.crs


@pytest.mark.parametrize("method", METHODS)
def test_streaming_and_memory_give_the_same_model(method: str, real_data: Path) -> None:
    file, box = REGIONS["porto"]
    source = pt.read(real_data / file)
    synthesizer = METHODS[method](epsilon=1, region=pt.Region.box(*box))
    streamed = synthesizer.fit(source, noise=pt.SeededNoise(1))
    in_memory = synthesizer.fit(source.collect(), noise=pt.SeededNoise(1), backend=pt.Threads(1))
    assert to_bytes(streamed) == to_bytes(in_memory)


#: Metrics of points and times: without `times`, the published methods keep the points of their papers.
OF_POINTS = {metric.name for metric in PROFILES["time"].metrics}


@pytest.mark.parametrize("method", ["bridgetrace", "privtrace"])
@pytest.mark.parametrize(
    "name", [name if name == "porto" else pytest.param(name, marks=pytest.mark.slow) for name in REGIONS]
)
def test_errors_lie_between_limit_and_baseline(method: str, name: str, real_data: Path) -> None:
    file, box = REGIONS[name]
    source, region = pt.read(real_data / file), pt.Region.box(*box)
    model = METHODS[method](epsilon=1, region=region).fit(source, noise=pt.SeededNoise(1))
    synthetic = model.sample(seed=1)
    table = pt.evaluate(source, synthetic, region=region, profile="all")
    assert ("departure" in table) == (method == "bridgetrace" and name != "brinkhoff")
    for metric, score in table.items():
        errors = [abs(value - score.metric.best) for value in (score.limit, score.value, score.baseline)]
        if method == "bridgetrace" or metric not in OF_POINTS:
            assert errors == sorted(errors), metric
    again = pt.evaluate(source.collect(), synthetic, region=region, profile="all", backend=pt.Threads(1))
    assert again.scores == table.scores
