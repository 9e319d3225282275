"""The ledger charges exactly, refuses before drawing, and clamps sums."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privtrace.errors import BudgetExceeded, SettingsError
from privtrace.privacy.accumulator import Accumulator, Counts, Sums
from privtrace.privacy.budget_file import BudgetFile
from privtrace.privacy.epsilon import decimal, exact
from privtrace.privacy.ledger import CLAMP, Ledger
from privtrace.privacy.noise import Noise, SystemNoise
from privtrace.privacy.unit import WEIGHT, Unit
from privtrace.privacy.unsafe_noise import NoNoise, SeededNoise
from privtrace.trajectories import Integers


class CountingNoise(NoNoise):
    """Count the draws."""

    n_draws = 0

    def laplace(self, n_draws: int, scale: Fraction) -> Integers:
        self.n_draws += n_draws
        return super().laplace(n_draws, scale)


def spend(ledger: Ledger, epsilon: str, size: int = 3) -> Integers:
    return ledger.laplace(Accumulator(size, ledger.unit).counts(), "test", "nothing", Fraction(epsilon))


def test_charges_add_up_exactly() -> None:
    ledger = Ledger(exact(0.3), Unit(), NoNoise())
    for _ in range(3):
        spend(ledger, "0.1")
    assert ledger.spent == Fraction(3, 10)
    assert [charge.scale for charge in ledger.charges] == [10 * WEIGHT] * 3


def test_refuses_before_drawing_and_charging() -> None:
    noise = CountingNoise()
    ledger = Ledger(Fraction(1), Unit(), noise)
    spend(ledger, "0.9")
    with pytest.raises(BudgetExceeded, match=r"test asks for epsilon 0\.2, but only 0\.1 of 1 is left"):
        spend(ledger, "0.2")
    assert noise.n_draws == 3 and ledger.spent == Fraction(9, 10)


def test_tiny_shares_are_refused() -> None:
    with pytest.raises(SettingsError, match="too small"):
        spend(Ledger(Fraction(1), Unit(), NoNoise()), "1e-9")


def test_blocks_are_charged_once_and_at_once() -> None:
    ledger = Ledger(Fraction(1), Unit(), SeededNoise(1))
    counts = Accumulator(11, ledger.unit).counts()
    blocks = ledger.laplace_blocks(counts, 4, "s", "x", Fraction(1, 2))
    assert ledger.spent == Fraction(1, 2)  # nothing was drawn yet
    drawn = [*blocks]
    assert [len(block) for block in drawn] == [4, 4, 3] and len(np.unique(np.concatenate(drawn))) == 11


def test_every_entry_gets_noise_of_the_charged_scale() -> None:
    ledger = Ledger(Fraction(1), Unit(), SeededNoise(3))
    noisy = spend(ledger, "0.5", size=100_000)
    assert np.abs(noisy).mean() == pytest.approx(2 * WEIGHT, rel=0.02)


def test_the_sum_is_clamped() -> None:
    class Wild(NoNoise):
        def laplace(self, n_draws: int, scale: Fraction) -> Integers:
            return np.array([CLAMP + 5, -CLAMP - 5, CLAMP - 1, 4], np.int64)

    assert spend(Ledger(Fraction(1), Unit(), Wild()), "1", size=4).tolist() == [CLAMP, -CLAMP, CLAMP - 1, 4]


def test_noise_is_for_accumulated_counts_under_the_same_unit_alone() -> None:
    """What was not bounded, or bounded for another unit, has another sensitivity than the one charged."""
    noise = CountingNoise()
    ledger = Ledger(Fraction(1), Unit("user", 5), noise)
    with pytest.raises(TypeError, match="must come from an Accumulator"):
        Counts(Sums(np.zeros(1, np.int64), np.ones(1, np.int64)), 1, ledger.unit, object())

    class Forged(Counts):
        def __init__(self) -> None:
            self.size, self.unit = 3, Unit("user", 5)

    for counts in (np.zeros(3, np.int64), Accumulator(3, Unit()).counts(), Forged()):
        for spending in (
            lambda counts: ledger.laplace(counts, "s", "x", Fraction(1, 2)),
            lambda counts: ledger.laplace_blocks(counts, 1, "s", "x", Fraction(1, 2)),
        ):
            with pytest.raises(TypeError, match="accumulated for the unit of the ledger"):
                spending(counts)
    assert ledger.spent == 0 and noise.n_draws == 0


def test_the_sensitivity_is_that_of_the_unit() -> None:
    for unit, sensitivity in ((Unit(), WEIGHT), (Unit("user", 5), 5 * WEIGHT)):
        ledger = Ledger(Fraction(1), unit, NoNoise())
        spend(ledger, "0.5")
        assert ledger.charges[0].sensitivity == sensitivity and ledger.charges[0].scale == 2 * sensitivity


class Account:
    """Stand in for a budget file: grant so many fits."""

    def __init__(self, n_fits: int) -> None:
        self.n_fits = n_fits
        self.granted: list[Fraction] = []

    def check(self, epsilon: Fraction, unit: Unit, *, private: bool) -> None:
        assert unit == Unit()

    def charge(self, epsilon: Fraction, unit: Unit, method: str) -> None:
        assert method == "some method"
        if len(self.granted) == self.n_fits:
            raise BudgetExceeded("the data set's budget is spent")
        self.granted.append(epsilon)


def test_a_budget_file_is_charged_once_with_all_before_the_first_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    account: Any = Account(1)
    drawn: list[int] = []

    def laplace(self: SystemNoise, n_draws: int, scale: Fraction) -> Integers:
        assert account.granted == [1]
        drawn.append(n_draws)
        return np.zeros(n_draws, np.int64)

    monkeypatch.setattr(SystemNoise, "laplace", laplace)
    first, second = (
        Ledger(Fraction(1), Unit(), SystemNoise(), budget_file=account, method="some method") for _ in range(2)
    )
    assert account.granted == []  # nothing is charged before something is measured
    spend(first, "0.1")
    spend(first, "0.2")
    for _ in range(2):
        with pytest.raises(BudgetExceeded, match="data set"):
            spend(second, "0.1")
    assert drawn == [3, 3] and account.granted == [1] and second.spent == 0


def test_what_the_ledger_refuses_is_not_charged_to_the_budget_file() -> None:
    account: Any = Account(1)
    ledger = Ledger(Fraction(1), Unit(), SystemNoise(), budget_file=account, method="some method")
    for epsilon in ("2", "1e-9"):
        with pytest.raises((BudgetExceeded, SettingsError)):
            spend(ledger, epsilon)
    assert account.granted == []


@pytest.mark.parametrize("noise", [SeededNoise(1), NoNoise()])
def test_a_budget_file_takes_private_fits_only(noise: Noise, tmp_path: Path) -> None:
    account = BudgetFile(tmp_path / "city.ledger", limit=4)
    with pytest.raises(SettingsError, match="NOT PRIVATE"):
        Ledger(Fraction(1), Unit(), noise, budget_file=account)


def test_only_system_noise_is_private() -> None:
    assert Ledger(Fraction(1), Unit(), SystemNoise()).private
    assert not Ledger(Fraction(1), Unit(), SeededNoise(1)).private

    class Pretender(SystemNoise):
        private = True

    assert not Ledger(Fraction(1), Unit(), Pretender()).private


@pytest.mark.parametrize(
    ("given", "expected"),
    [(0.1, Fraction(1, 10)), ("0.25", Fraction(1, 4)), (2, Fraction(2)), (Decimal("1e-2"), Fraction(1, 100))],
)
def test_epsilon_is_read_as_its_decimal_text(given: object, expected: Fraction) -> None:
    assert exact(given) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    ["", "x", 0, -1, float("nan"), float("inf"), "1/0", None, "1e999999999", "1e-10", "1e300", "9" * 90, "0.0"],
)
def test_bad_epsilons_are_refused(given: object) -> None:
    with pytest.raises(SettingsError, match="epsilon must be"):
        exact(given)  # type: ignore[arg-type]


def test_decimals_are_written_shortly_and_exactly() -> None:
    assert decimal(Fraction(1, 5)) == "0.2"
    assert decimal(Fraction(1, 3)) == "1/3"
    assert Fraction(decimal(Fraction(1, 1 << 70))) == Fraction(1, 1 << 70)
