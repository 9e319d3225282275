"""Every method keeps its promises where times are synthesized: the suite `times` of `privtrace.testing`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.methods import setups

from privtrace.methods import registry
from privtrace.testing import Check, times


def quickest(method: str) -> Any:
    """Find the first of a method's setups under which little data reaches all stages; else its defaults."""
    return next(iter(setups.own(method, "SENSITIVITY").values()), registry.find(method).settings)


CHECKS = {f"{name}: {check}": check for name in registry.OURS for check in times(quickest(name))}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_the_suite(check: Check) -> None:
    check()
