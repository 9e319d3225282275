"""Powers of e that kernels work out themselves, against exact ones."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from privtrace.exponential import exp_of_negative


@pytest.mark.parametrize("scale", [1e-18, 1e-3, 0.3, 1.0, 30.0, 700.0])
def test_powers_are_right_to_two_units_of_the_last_place(scale: float) -> None:
    for power in -scale * np.random.default_rng(1).uniform(0, 1, 300):
        with localcontext(prec=40):
            exact = Decimal(float(power)).exp()
            off = abs(Decimal(exp_of_negative(power)) / exact - 1)
        assert off < 2 * 2.0**-52


def test_powers_between_two_halves_of_an_octave_are_right() -> None:
    """Where the nearest whole number of octaves changes, the rest is largest."""
    for octaves in range(-1000, 1):
        for beside in (-1e-9, 0.0, 1e-9):
            power = min((octaves - 0.5) * np.log(2) + beside, 0.0)
            assert exp_of_negative(power) == pytest.approx(np.exp(power), rel=1e-15)


def test_nothing_is_one_and_what_is_far_below_is_as_good_as_none() -> None:
    assert exp_of_negative(0.0) == 1.0 and exp_of_negative(-0.0) == 1.0
    for power in (-708.0, -709.0, -745.0, -1e4, -1e300, -np.inf):
        assert 0.0 < exp_of_negative(power) < 1e-307
