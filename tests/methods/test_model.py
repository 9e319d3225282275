"""What models share: numbers of any size that a ledger can give are walked on in proportion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import privtrace as pt
from privtrace.methods.dpt.contexts import Contexts, Growth, grow
from privtrace.methods.model import in_words
from privtrace.privacy.ledger import CLAMP


def switching(region: pt.Region, wanderers: pt.Trajectories, counts: Callable[[int], Any]) -> pt.DPTModel:
    """Make a model of many cells whose walks do nothing but switch; `counts` gives its starts and arrivals."""
    settings = pt.DPT(epsilon=1, region=region, finest=128, keep=1e-9, max_steps=20)
    model = settings.fit(wanderers, noise=pt.NoNoise())
    systems, large = model.systems, counts(model.systems.n_cells)

    def table(contexts: Contexts) -> Any:
        events = np.zeros((contexts.deepest.stop - contexts.deepest.start, systems.n_events), np.int64)
        events[:, 9:] = 1 << 40
        return events

    events = grow(systems, large, Growth.of(settings), table)[1]
    return replace(model, starts=large, arrivals=large, events=events)


@pytest.mark.filterwarnings("ignore:.*walks reached")
def test_the_largest_counts_do_not_overflow(region: pt.Region, wanderers: pt.Trajectories) -> None:
    model = switching(region, wanderers, lambda n_cells: CLAMP - np.arange(n_cells))
    points = model.sample(1000, seed=1).points
    assert points.min() >= 0 and points.max() <= 10


def test_large_counts_keep_their_proportions(region: pt.Region, wanderers: pt.Trajectories) -> None:
    """Billions of trajectories in a cell, and half as many in another."""

    def counts(n_cells: int) -> Any:
        return np.where(np.arange(n_cells) == 7, 1 << 56, 1 << 55)

    walker = switching(region, wanderers, counts).walker
    for weights in (walker.starts, walker.arrivals):
        assert weights[7] == 2 * weights[0] > 0


def test_one_of_a_kind_is_named_as_one() -> None:
    sizes = {"trajectories": 1, "coarse cells divided": 1, "second-order entries": 1, "states": 1200}
    assert in_words(sizes) == "1 trajectory, 1 coarse cell divided, 1 second-order entry, 1,200 states"


@pytest.mark.parametrize("method", [pt.BridgeTrace, pt.PrivTrace, pt.AdaTrace, pt.DPT])
def test_a_model_tells_its_promise_and_sizes_in_a_line(
    method: Any, region: pt.Region, wanderers: pt.Trajectories
) -> None:
    shown = repr(method(epsilon=1, region=region).fit(wanderers))
    name = f"{method.__name__}Model"
    assert shown.startswith(f"{name}(pure differential privacy, epsilon = 1 per trajectory; ")
    assert "\n" not in shown and len(shown) < 300
