"""The noise is the discrete Laplace distribution: closed form, OpenDP, digits, tails, streams."""

from __future__ import annotations

import copy
import math
import os
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privtrace.errors import SettingsError
from privtrace.privacy.noise import (
    MAX_SCALE,
    RandomWords,
    SystemNoise,
    _LaplaceSampler,
    digits_below_tail,
    threshold_digits,
    thresholds,
)
from privtrace.privacy.unsafe_noise import NoNoise, SeededNoise

SCALES = [
    Fraction(1),
    Fraction(1, 3),
    Fraction(7, 5),
    Fraction(10),
    Fraction(12345, 7),
    Fraction(1 << 20) / Fraction("0.4"),
    Fraction(1 << 30),
    Fraction(1 << 40),
]
N = 200_000


def distribution(x: np.ndarray, scale: Fraction) -> np.ndarray:
    """P(X <= x) in closed form, in a form that keeps its digits at both ends."""
    t = float(scale)
    total = 1 + math.exp(-1 / t)
    x = np.asarray(x, float)
    return np.where(x >= 0, 1 - np.exp(-(np.abs(x) + 1) / t) / total, np.exp(-np.abs(x) / t) / total)


def binned(draws: np.ndarray, scale: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """Count draws between quantiles, far tails included; give what the closed form expects."""
    t = float(scale)
    edges = np.unique(
        np.round(t * np.array([-9, -6, -4, -3, -2, -1.5, -1, -0.7, -0.4, -0.2, -0.1])).astype(int)
    )
    edges = np.unique(np.concatenate([edges, [-1, 0], -edges - 1]))
    expected = np.diff(np.concatenate([[0.0], distribution(edges, scale), [1.0]])) * len(draws)
    observed = np.bincount(np.searchsorted(edges, draws), minlength=len(edges) + 1).astype(float)
    rare = expected < 8  # too rare for the chi-square: count them together
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    return observed, expected


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_bins_follow_the_closed_form(scale: Fraction) -> None:
    for seed in range(3):
        observed, expected = binned(SeededNoise(seed).laplace(N, scale), scale)
        keep = expected > 0
        assert stats.chisquare(observed[keep], expected[keep] * observed.sum() / expected.sum()).pvalue > 1e-4


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_tails_and_moments_follow_the_closed_form(scale: Fraction) -> None:
    draws = SeededNoise(11).laplace(N, scale).astype(float)
    q = math.exp(-1 / float(scale))
    variance = 2 * q / (1 - q) ** 2 if q < 0.99 else 2 * float(scale) ** 2
    assert abs(draws.mean()) < 5 * math.sqrt(variance / N)
    assert draws.var() == pytest.approx(variance, rel=0.03)
    for distance in (5, 7, 9):
        beyond = distribution(np.array([-math.ceil(distance * scale)]), scale)[0] * 2 * N
        seen = np.sum(np.abs(draws) >= math.ceil(distance * scale))
        assert stats.poisson.cdf(seen, beyond) > 1e-5 and stats.poisson.sf(seen - 1, beyond) > 1e-5


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10), Fraction(12345, 8), Fraction(2**40)], ids=str)
def test_opendp_draws_from_the_same_distribution(scale: Fraction) -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    mechanism = dp.m.make_laplace(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=float(scale))
    theirs = np.array([mechanism(0) for _ in range(8000)])  # one draw takes as long as thousands of ours
    ours = SeededNoise(2).laplace(1_000_000, scale)
    edges = np.unique(np.round(float(scale) * np.linspace(-4, 4, 17)).astype(int))
    table = [np.bincount(np.searchsorted(edges, draws), minlength=len(edges) + 1) for draws in (ours, theirs)]
    table = np.array(table)[:, np.sum(table, axis=0) > 0]
    # OpenDP cannot be seeded: a false alarm in a hundred million runs.
    assert stats.chi2_contingency(table).pvalue > 1e-8


def test_zero_is_not_counted_twice() -> None:
    draws = SeededNoise(4).laplace(N, Fraction(1))
    expected = (1 - math.exp(-1)) / (1 + math.exp(-1))
    assert np.mean(draws == 0) == pytest.approx(expected, abs=5 * math.sqrt(expected / N))


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("depth", [1, 2, 7])
def test_prepared_digits_do_not_matter(scale: Fraction, depth: int) -> None:
    """Running out of digits only pauses a draw: it goes on with the same bits and the same outcome."""
    few = _LaplaceSampler(RandomWords(b"k" * 32), depth).draw(2000, scale)
    many = _LaplaceSampler(RandomWords(b"k" * 32), 64).draw(2000, scale)
    assert np.array_equal(few, many)


def test_words_that_run_out_only_pause_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _LaplaceSampler(RandomWords(b"k" * 32)).draw(5000, Fraction(1000))
    monkeypatch.setattr("privtrace.privacy.noise._CHUNK_WORDS", 3)
    assert np.array_equal(_LaplaceSampler(RandomWords(b"k" * 32)).draw(5000, Fraction(1000)), whole)


@pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(5), Fraction(1, 10**9), Fraction(7, 2), Fraction(31)])
def test_thresholds_agree_with_high_precision(x: Fraction) -> None:
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 80
        e = (Decimal(-x.numerator) / Decimal(x.denominator)).exp()
        for depth in (1, 16, 64, 200):
            assert thresholds(1 / x, 0, depth) == [int(e * 2**depth)]
            assert thresholds(1 / x, 1, depth) == [int(e / (1 + e) * 2**depth), int(e * e * 2**depth)]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_every_digit_has_its_own_exact_threshold(scale: Fraction) -> None:
    """Digit i has 1 / (1 + exp(2**i / scale)), and the tail exp(-2**n / scale), for the scale as it is."""
    from decimal import Decimal, localcontext

    n_digits, depth = digits_below_tail(scale), 60
    table = threshold_digits(scale, n_digits, depth)
    with localcontext() as context:
        context.prec = 60
        for row in range(n_digits + 1):
            e = (-(1 << row) * Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
            exact = int((e / (1 + e) if row < n_digits else e) * 2**depth)
            assert [int(word) for word in table[row] & np.uint64(1)] == [
                exact >> (depth - 1 - place) & 1 for place in range(depth)
            ]


def test_system_noise_is_new_each_time_and_seeded_noise_is_not() -> None:
    scale = Fraction(1 << 20)
    assert not np.array_equal(SystemNoise().laplace(8, scale), SystemNoise().laplace(8, scale))
    assert np.array_equal(SeededNoise(1).laplace(8, scale), SeededNoise(1).laplace(8, scale))
    assert not np.array_equal(SeededNoise(1).laplace(8, scale), SeededNoise(2).laplace(8, scale))
    noise = SeededNoise(1)
    assert not np.array_equal(noise.laplace(8, scale), noise.laplace(8, scale))
    assert not NoNoise().laplace(8, scale).any()


def test_a_stream_cannot_be_copied_or_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    words = RandomWords(b"k" * 32)
    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        for stream in (words, _LaplaceSampler(words)):
            with pytest.raises(TypeError, match="cannot be copied"):
                copying(stream)
    sampler = _LaplaceSampler(words)
    sampler.draw(8, Fraction(10))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    for draw in (lambda: words.take(1), lambda: sampler.draw(1, Fraction(10))):
        with pytest.raises(RuntimeError, match="forked"):
            draw()


def test_a_fork_cannot_draw_what_its_parent_draws() -> None:
    """Words that were taken before the fork wait in both processes; neither may be used twice."""
    code = """
import os
from fractions import Fraction
from privtrace.privacy.noise import SystemNoise
noise = SystemNoise()
noise.laplace(8, Fraction(1000))
child = os.fork()
if child == 0:
    try:
        noise.laplace(8, Fraction(1000))
    except RuntimeError:
        os._exit(7)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "7"


@pytest.mark.parametrize("scale", [Fraction(0), MAX_SCALE + 1])
def test_scales_out_of_range_are_refused(scale: Fraction) -> None:
    with pytest.raises(SettingsError, match="out of range"):
        SeededNoise(1).laplace(1, scale)
