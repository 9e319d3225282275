"""Hold the method to what every method of privtrace keeps."""

from __future__ import annotations

import pytest
from straight_lines import METHOD, StraightLines

import privtrace as pt
from privtrace.testing import Check, checks

pt.register(METHOD)


@pytest.mark.parametrize("check", checks(StraightLines), ids=str)
def test_straight_lines(check: Check) -> None:
    check()
