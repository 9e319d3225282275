"""On public data sets, nine true numbers in ten lie between the bounds of exported ones, or nearly as many."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from experiments.coverage import Share, coverages
from experiments.data import REGIONS, load

import privtrace as pt

pytestmark = [pytest.mark.data, pytest.mark.slow]

#: Of intervals that are to hold nine numbers in ten, so many do at least and at most.
LEAST, MOST = 0.80, 0.97

#: Fewer numbers than these, of a data set, an epsilon and a kind, say little.
FEWEST = 100


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
@pytest.mark.parametrize("name", REGIONS)
def test_bounds_hold_what_is_true_of_public_data(name: str, epsilon: str, real_data: Path) -> None:
    trips, region = load(name)
    found: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for run in range(2):
        model = pt.BridgeTrace(epsilon=epsilon, region=region).fit(trips, noise=pt.SeededNoise(100 + run))
        for zones, _, one in coverages(trips, model, 100 + run):
            for size, share in (("above 50", one.large), ("below", one.small)):
                found[zones, size].append(share)
    shares = {key: Share(*np.sum(some, axis=0).tolist()) for key, some in found.items()}
    assert len(shares) == 6 and all(share.n >= FEWEST for share in shares.values())
    assert not {key: share for key, share in shares.items() if not LEAST <= share.held <= MOST}
