"""Every method keeps its promises where times are synthesized: the suite `times` of `privtrace.testing`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.methods import setups

from privtrace.methods import registry
from privtrace.testing import times


def quickest(method: str) -> Any:
    """Find the first of a method's setups under which little data reaches all stages; else its defaults."""
    return next(iter(setups.own(method, "SENSITIVITY").values()), registry.find(method).settings)


@pytest.mark.parametrize("method", registry.OURS)
def test_the_suite(method: str) -> None:
    setups.hold(times(quickest(method)))
