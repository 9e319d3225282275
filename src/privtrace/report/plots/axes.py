"""Lead from numbers to places on an axis, linear or logarithmic, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from privtrace.report.plots.marks import text_width

#: How far a logarithmic axis leaves zero below its smallest number.
_TO_ZERO = 26.0
#: Two ticks are this far apart or more: up, and across between their texts.
_APART_UP, _APART_ACROSS = 25.0, 9.0
#: A logarithmic axis reaches at least from a number to so many times it.
_LEAST_RATIO = 4.0


@dataclass(frozen=True)
class Axis:
    """Hold an axis from `low` at `start` to `high` at `stop`; upward `stop` is the smaller."""

    low: float
    high: float
    start: float
    stop: float
    is_log: bool = False
    zero: float | None = None  # where a logarithmic axis has a place for zero, apart from all others

    def at(self, number: float) -> float:
        """Find the place of a number, also beyond the ends; what has no logarithm is at the least end."""
        if self.is_log and number <= 0:
            return self.start if self.zero is None else self.zero
        low, high, value = map(math.log, (self.low, self.high, number)) if self.is_log else (*self.ends, number)
        return self.start + (value - low) / (high - low) * (self.stop - self.start)

    @property
    def ends(self) -> tuple[float, float]:
        """Give the numbers at both ends."""
        return self.low, self.high

    def within(self, number: float) -> float:
        """Find the place of a number; beyond an end it is that end."""
        ends = sorted([self.start if self.zero is None else self.zero, self.stop])
        return min(max(self.at(number), ends[0]), ends[1])

    def ticks(self) -> list[tuple[float, str]]:
        """List places of round numbers and their texts, no two of which meet."""
        for candidates in self._candidates():
            ticks = [(self.at(tick), short(tick)) for tick in candidates if self._has(tick)]
            if self._are_apart(ticks) and ticks:
                break
        else:
            ticks = ticks[:1]
        return ([(self.zero, "0")] if self.zero is not None else []) + ticks

    def ticks_at(self, numbers: Iterable[float]) -> list[tuple[float, str]]:
        """List places of given numbers and their texts, but for those too close to the one before."""
        ticks: list[tuple[float, str]] = []
        for number in sorted({*numbers}):
            tick = self.at(number), short(number)
            if self._are_apart([*ticks[-1:], tick]):
                ticks.append(tick)
        return ticks

    def _has(self, number: float) -> bool:
        slack = 1e-9 * (self.high - self.low)
        return self.low - slack <= number <= self.high + slack

    def _are_apart(self, ticks: Sequence[tuple[float, str]]) -> bool:
        for (one, text), (other, next_text) in pairwise(ticks):
            across = (text_width(text) + text_width(next_text)) / 2 + _APART_ACROSS
            if abs(other - one) < (across if self.start < self.stop else _APART_UP):
                return False
        return True

    def _candidates(self) -> Iterator[list[float]]:
        """List round numbers, always fewer."""
        if self.is_log and self.high / self.low > 8:
            yield from _powers(self.low, self.high)
            return
        span = self.high - self.low
        power = 10.0 ** math.floor(math.log10(span) - 1)
        for factor in (2, 2.5, 5, 10, 20, 25, 50, 100):
            step = power * factor
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            yield [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def _powers(low: float, high: float) -> Iterator[list[float]]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        yield [float(f"{digit}e{power}") for power in powers for digit in digits]
    for every in (2, 3, 4, 6, 10, 20, 50, 100):
        yield [float(f"1e{power}") for power in powers if power % every == 0]


def axis_over(numbers: Iterable[float], start: float, stop: float, *, is_log: bool | None = None) -> Axis:
    """Lay an axis over numbers, NaN aside; by default by their logarithm where they differ by much.

    A linear one begins at zero, unless all numbers are far from it. A logarithmic one has a place for zero
    where there is one among them.
    """
    there = [number for number in numbers if math.isfinite(number)]
    positive = [number for number in there if number > 0]
    differ = bool(positive) and min(there) >= 0 and max(positive) / min(positive) > 8
    if (differ if is_log is None else is_log) and positive:
        return _logarithmic(positive, len(positive) < len(there), start, stop)
    return _linear(there or [0.0], start, stop)


def _logarithmic(positive: Sequence[float], with_zero: bool, start: float, stop: float) -> Axis:
    low, high = min(positive), max(positive)
    pad = max((high / low) ** 0.05, math.sqrt(max(_LEAST_RATIO * low / high, 1.0)), 1.05)
    low, high = max(low / pad, 5e-324), high * pad
    if not with_zero:
        return Axis(low, high, start, stop, is_log=True)
    return Axis(low, high, start + math.copysign(_TO_ZERO, stop - start), stop, is_log=True, zero=start)


def _linear(there: Sequence[float], start: float, stop: float) -> Axis:
    low, high = min(there), max(there)
    if low == high == 0:
        return Axis(0.0, 1.0, start, stop)
    span = (high - low) or abs(high)
    if low >= 0 and low < 2 * span:
        low = 0.0
    elif high <= 0 and -high < 2 * span:
        high = 0.0
    return Axis(low - 0.06 * span * (low != 0), high + 0.06 * span * (high != 0), start, stop)


def short(number: float) -> str:
    """Write a number in few letters: 300k, 3M, 0.02, 1e-6."""
    if number == 0:
        return "0"
    unit, word = next(
        (unit for unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")) if unit[0] <= abs(number) < 1e12), (1.0, "")
    )
    text = f"{number / (1e3 if word == 'k' else unit):.4g}{word}"
    return text.replace("e-0", "e-").replace("e+", "e").replace("-", "−")
