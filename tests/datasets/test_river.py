import numpy as np
import pytest

from privtrace.datasets.network import generator
from privtrace.datasets.river import WATER_M, River

ALONG_M = np.linspace(-6_000, 6_000, 200)


@pytest.fixture(scope="module", params=range(6))
def river(request):
    return River.draw(generator(request.param))


@pytest.mark.parametrize("gap", [-400.0, -WATER_M, 0.0, 50.0, 300.0])
def test_points_lie_as_far_beside_the_river_as_they_were_placed(river, gap):
    points = river.place(ALONG_M, np.full(len(ALONG_M), gap))
    # Distances are measured across a line that bends meanwhile.
    np.testing.assert_allclose(river.gaps_m(points), gap, atol=0.01 + 0.15 * abs(gap))


def test_it_passes_the_center_and_winds(river):
    middle = river.place(ALONG_M, np.zeros(len(ALONG_M)))
    nearest = np.hypot(*middle.T).min()
    assert 700 < nearest < 1_800
    steps = np.diff(middle, axis=0)
    turns = np.unwrap(np.arctan2(*steps.T[::-1]))
    assert np.ptp(turns) > 0.3


def test_lines_across_or_into_the_water_are_told_from_lines_beside_it(river):
    def line(gap, other, along=0.0):
        ends = river.place(np.array([along, along]), np.array([gap, other]))
        return ends[:1], ends[1:]

    assert river.crosses(*line(-300, 300)).all()
    assert river.crosses(*line(300, 0)).all()
    assert not river.crosses(*line(300, 200)).any()
    # So short that no sample in between need lie in the water.
    assert river.crosses(*line(-1_400, 1_000)).all()
