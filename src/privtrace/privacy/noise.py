"""Draw discrete Laplace noise exactly: no floating-point number decides a draw.

The distribution is P(X = x) proportional to exp(-|x| / t) over the integers, for an exact rational scale t.

Why the sampler is exact
------------------------
1. Let G be geometric, P(G = g) proportional to q**g with q = exp(-1/t). Writing g in binary, q**g is the
   product of q**(2**i) over the digits that are 1, so *the digits are independent*, and digit i is 1 with
   probability q**(2**i) / (1 + q**(2**i)) = 1 / (1 + exp(2**i / t)). Digits below I are drawn one by one. The
   rest, 2**I * J, has P(J >= j + 1 | J >= j) = exp(-2**I / t): J counts successes until the first failure.
2. A Bernoulli(p) event is "U < p" for a uniform U. The binary digits of U are random bits, and the first one
   that differs from p's digit decides. p's digits come from integer interval arithmetic (`thresholds`), as
   many as a draw asks for: p is irrational, since exp of a non-zero rational is transcendental, so U = p
   has probability zero and each comparison ends. 64 comparisons run side by side, one in each bit of a word.
3. X is G with a random sign. Minus zero is redrawn; keeping it would double P(0).

Running out of prepared digits of p, or of random words, only pauses a draw: it resumes *on the same random
bits*, so no outcome is favored by being quick to decide.

G is held in 62 bits and J stops growing there. A count is below 2**60 and the ledger clamps the *sum* to
+-2**60, which it would reach with the true G as well: the release is the same.

Randomness is the key stream of AES-256 in counter mode, its key from the operating system. The guarantee is
pure epsilon for ideal random bits, and computational for the cipher's. Noise that is
seeded or off is in `unsafe_noise`, and a model that was fitted with it says NOT PRIVATE.
"""

from __future__ import annotations

import os
import threading
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled
from privtrace.errors import SettingsError
from privtrace.privacy.unit import MAX_SCALE
from privtrace.trajectories import Integers

_LANES = 64
_CHUNK_WORDS = 1 << 14
_MOST_GROUPS = 1 << 10  # drawn at once: what a cache holds, and little memory beside the result
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)


class Noise(Protocol):
    """Give all that is random in a fit. Only `SystemNoise` protects anyone; the ledger looks at its type."""

    def laplace(self, n_draws: int, scale: Fraction) -> Integers:
        """Draw discrete Laplace noise of the given scale."""
        ...

    def selection_key(self) -> bytes:
        """Give the 16 bytes by which the trajectories of users are chosen, asked for once per fit."""
        ...


class KeyedNoise:
    """Draw noise from the stream of one key."""

    def __init__(self, key: bytes) -> None:
        self._sampler = _LaplaceSampler(RandomWords(key))
        self.drew = False  # told to whoever must say what a fit that ended early has spent

    def laplace(self, n_draws: int, scale: Fraction) -> Integers:
        """Draw discrete Laplace noise of the given scale."""
        self.drew = True
        return self._sampler.draw(n_draws, scale)


class SystemNoise(KeyedNoise):
    """Draw noise from a key that the operating system gives, new for each instance and never stored."""

    def __init__(self) -> None:
        super().__init__(os.urandom(32))

    def selection_key(self) -> bytes:
        """Take a new key from the operating system; nothing ties it to the noise's."""
        return os.urandom(16)


class _Stream:
    """Be used by one owner in one process: a copy or a fork would give the same noise twice."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError("a stream of noise must not be used in a forked process: both would repeat it")

    def __reduce__(self) -> str:
        raise TypeError("a stream of noise cannot be copied: the copy would repeat it")


class RandomWords(_Stream):
    """Stream 64-bit words of the AES-256-CTR key stream of one key."""

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        super().__init__()
        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def take(self, n_words: int) -> npt.NDArray[np.uint64]:
        """Take the next words of the stream."""
        self._check_process()
        words = bytearray(8 * n_words)
        self._encryptor.update_into(bytes(8 * n_words), words)
        return np.frombuffer(words, dtype="<u8")


class _LaplaceSampler(_Stream):
    """Turn random words into discrete Laplace draws, 64 at a time."""

    def __init__(self, words: RandomWords, depth: int = 64) -> None:
        super().__init__()
        self._source = words
        self._depth = depth
        self._words = words.take(0)  # taken from the stream, not yet used
        self._lock = threading.Lock()  # two threads must not use the same words

    def draw(self, n_draws: int, scale: Fraction) -> Integers:
        """Draw discrete Laplace noise."""
        self._check_process()  # here as well: words that were taken before a fork wait in both processes
        with self._lock:
            return self._draw(n_draws, scale)

    def _draw(self, n_draws: int, scale: Fraction) -> Integers:
        n_digits = digits_below_tail(scale)
        table = threshold_digits(scale, n_digits, self._depth)
        draws = np.empty(n_draws, np.int64)
        done = 0
        while done < n_draws:
            groups = min(-(-(n_draws - done) // _LANES), _MOST_GROUPS)
            block = np.zeros((groups, _LANES), np.int64)
            minus_zero = np.zeros((groups, _LANES), np.bool_)
            group = 0
            while group < groups:
                group, used, exhausted = _draw_groups(block, minus_zero, group, self._words, table)
                self._words = self._words[used:]
                if exhausted:
                    table = threshold_digits(scale, n_digits, 2 * table.shape[1])
                elif group < groups:
                    self._words = np.concatenate([self._words, self._source.take(_CHUNK_WORDS)])
            kept = block[~minus_zero][: n_draws - done]
            draws[done : done + len(kept)] = kept
            done += len(kept)
        return draws


@compiled
def _bernoulli(words, position, digits):  # type: ignore[no-untyped-def]
    """Compare 64 uniform numbers with one threshold, digit by digit.

    Returns the word of outcomes, the new position, and whether words or digits ran out (1 or 2).
    """
    undecided = _ALL
    outcome = np.uint64(0)
    for depth in range(len(digits)):
        if position == len(words):
            return outcome, position, 1
        differs = words[position] ^ digits[depth]
        position += 1
        outcome |= undecided & differs & digits[depth]  # U's digit is 0 where the threshold's is 1: U < p
        undecided &= ~differs
        if undecided == np.uint64(0):
            return outcome, position, 0
    return outcome, position, 2


@compiled
def _draw_groups(block, minus_zero, group, words, table):  # type: ignore[no-untyped-def]
    """Fill groups of 64 draws until all are done or something ran out.

    `table` (n_digits + 1, depth) holds the thresholds' digits as words of zeros or ones; its last row is the
    tail's. Returns the next group to do, the words used by finished groups, and whether digits ran out.
    """
    n_digits = table.shape[0] - 1
    most_tail = (np.int64(1) << np.int64(62 - n_digits)) - 1
    used = 0
    while group < len(block):
        position = used
        draws = block[group]
        draws[:] = 0
        for digit in range(n_digits):
            outcome, position, status = _bernoulli(words, position, table[digit])
            if status:
                return group, used, status == 2
            for lane in range(_LANES):
                draws[lane] |= np.int64((outcome >> np.uint64(lane)) & _ONE) << np.int64(digit)
        active = _ALL
        tail = 0
        while active:
            outcome, position, status = _bernoulli(words, position, table[n_digits])
            if status:
                return group, used, status == 2
            active &= outcome
            tail += 1
            if active and tail <= most_tail:
                for lane in range(_LANES):
                    draws[lane] += np.int64((active >> np.uint64(lane)) & _ONE) << np.int64(n_digits)
        if position == len(words):
            return group, used, False
        signs = words[position]
        used = position + 1
        for lane in range(_LANES):
            if (signs >> np.uint64(lane)) & _ONE:
                minus_zero[group, lane] = draws[lane] == 0
                draws[lane] = -draws[lane]
        group += 1
    return group, used, False


def digits_below_tail(scale: Fraction) -> int:
    """Choose how many digits are drawn one by one: the tail then starts between 4 and 8 scales out."""
    if not 0 < scale <= MAX_SCALE:
        raise SettingsError(
            f"a noise scale of {float(scale):.3g} is out of range: epsilon or one of its shares is too small"
        )
    n_digits = 0
    while 1 << n_digits < 4 * scale:
        n_digits += 1
    return n_digits


def threshold_digits(scale: Fraction, n_digits: int, depth: int) -> npt.NDArray[np.uint64]:
    """List the binary digits of each digit's probability and of the tail's, as words of zeros or ones."""
    table = np.zeros((n_digits + 1, depth), np.uint64)
    for row, bits in enumerate(thresholds(scale, n_digits, depth)):
        table[row, [digit == "1" for digit in f"{bits:0{depth}b}"]] = _ALL
    return table


def thresholds(scale: Fraction, n_digits: int, depth: int) -> list[int]:
    """Compute floor(2**depth * p) of each digit's probability, 1 / (1 + exp(2**i / scale)), and of the tail's.

    Each exp(-2**i / scale) is the square of the one before. Intervals of integers hold them, and are made
    narrower until all are told.
    """
    precision = depth + n_digits + 32  # a square is known to a digit less
    while True:
        one, bounds = 1 << precision, [_exp_minus(1 / scale, precision)]
        for _ in range(n_digits):
            low, high = bounds[-1]
            bounds.append((low * low >> precision, -(-high * high >> precision)))
        for row, (low, high) in enumerate(bounds[:-1]):  # p = e / (1 + e) rises with e
            bounds[row] = (low << precision) // (one + low), -(-(high << precision) // (one + high))
        found = [low >> (precision - depth) for low, _ in bounds]
        if found == [high >> (precision - depth) for _, high in bounds]:
            return found
        precision *= 2


def _exp_minus(x: Fraction, precision: int) -> tuple[int, int]:
    """Bound 2**precision * exp(-x) from both sides by integers."""
    halvings = max(0, (2 * x.numerator // x.denominator).bit_length())
    y = x / (1 << halvings)  # at most 1/2, so the series alternates and falls
    one = 1 << precision
    low = high = term_low = term_high = one
    order = 0
    while term_high > 1:
        order += 1
        term_low = term_low * y.numerator // (y.denominator * order)
        term_high = -(-term_high * y.numerator // (y.denominator * order))
        if order % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    low, high = low - 1, high + 1  # the terms left out sum to at most the last one
    for _ in range(halvings):
        low, high = low * low >> precision, -(-high * high >> precision)
    return low, high
