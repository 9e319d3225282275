"""Draw how a trip along a line is reported: by how many points, how far apart in meters and in seconds.

Everything is drawn from the trajectory's own stream of random numbers, so that it is the same wherever and in
whatever order trajectories are made. Tables are looked up by quantile: of 1024 equal parts of a distribution,
the value in the middle of each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.compiling import borrowing, compiled, inlined
from privtrace.random import PLACING, REPORTING, philox, random_words, uniform
from privtrace.searching import first_above
from privtrace.timing.bins import (
    EVEN,
    FEW_GAPS,
    KINDS,
    LONGEST_S,
    N_POINTS,
    N_SECONDS,
    N_STRETCHES,
    OCTAVE_PARTS,
    POINTS,
    STRETCHES_FROM,
    STRETCHES_TO,
    TICK_KIND,
    TICKS,
    bin_of,
    part_of_octave,
)
from privtrace.timing.clean import clock_weights
from privtrace.trajectories import Floats, Integers

# Points of a finished model depend on these: they are the same for every file.

#: Parts of a distribution that are looked up: ten random bits choose one.
N_QUANTILES = 1024
_BITS, _TWICE, _MASK = np.uint64(10), np.uint64(20), np.uint64(1023)
_1 = np.uint64(1)

#: Where and how steeply a jump moves that stays.
STAY = (0.0, 1.0)

#: Gaps of a line at most: fewer than a whole number can count, and more than fit in memory.
_MOST_GAPS = 1e9

#: Gaps that share the bits of one random word, each with ten for meters and ten for seconds.
_GAPS_PER_WORD = 3

#: Steps of the stream before those of the gaps.
_NUMBER, _TICK, _VARIATION, _FIRST_GAP = 0, 1, 2, 8

#: How far the place of a number of points in its bin may be from the place of the length in its own.
_COUPLED = 0.5

#: Gaps that are no ticks are shortened or lengthened by these factors at most, to come to the trip's stretch.
_SHORTENED, _LENGTHENED = 1 / 16, 256.0
_PAUSE = 2.0  # one that is not there by its table, over the tick, before that

#: The mean speed of a trip at most, as part of the greatest speed.
LEISURE = 0.9


class Draws(NamedTuple):
    """Hold what reports are drawn by, for kernels."""

    edges: Floats  # (N_BINS,): of the bins of length
    points: Integers  # (N_BINS, N_POINTS): running sums of weights, row by row
    variations: Integers  # (N_VARIATIONS,): running sums of weights; the first is 0
    meters: Floats  # (N_VARIATIONS, N_KINDS, N_QUANTILES): over the mean
    least_jump: float  # what is shorter is no movement
    moves: (
        Floats  # (N_MOVES, n, 2): where and how steeply jumps move, by parts of octaves; none where they stay
    )
    every_s: float  # the tick, where it is public, else 0
    ticks: Floats  # (N_SECONDS,): weights; none where there is no clock
    there: Integers  # the ticks that weigh anything
    paces: Floats  # (N_BINS, N_SECONDS): weights
    stretches: Floats  # (N_STRETCHES,): weights
    seconds: Floats  # (N_STRETCHES, N_QUANTILES): over the tick
    kinds: npt.NDArray[np.int8]  # (N_STRETCHES, N_QUANTILES): of these
    steady: npt.NDArray[np.bool_]  # (N_STRETCHES,): whether all of these are the tick itself
    fastest: float  # meters per second
    most_points: int


class Placed(NamedTuple):
    """Hold the points of trajectories."""

    points: Floats  # (n, 2)
    offsets: Integers  # (n_trajectories + 1,)
    seconds: Floats  # (n,): from departure; none where no clock was measured


class Reports(NamedTuple):
    """Hold scratch memory for the points that one trip is reported by."""

    along_m: Floats  # from the line's start
    seconds: Floats  # from departure
    weights: Floats  # (N_SECONDS, N_STRETCHES)
    words: npt.NDArray[np.uint64]  # random bits of gaps


#: Stands where nothing of reports was measured.
NO_DRAWS = Draws(
    edges=np.zeros(0),
    points=np.zeros((0, 0), np.int64),
    variations=np.zeros(0, np.int64),
    meters=np.zeros((0, 0, 0)),
    least_jump=0.0,
    moves=np.zeros((0, 0, 2)),
    every_s=0.0,
    ticks=np.zeros(0),
    there=np.zeros(0, np.int64),
    paces=np.zeros((0, 0)),
    stretches=np.zeros(0),
    seconds=np.zeros((0, 0)),
    kinds=np.zeros((0, 0), np.int8),
    steady=np.zeros(0, np.bool_),
    fastest=np.inf,
    most_points=0,
)


@compiled
def reports_for(n_points):  # type: ignore[no-untyped-def]
    """Make scratch memory for up to so many points."""
    n_words = n_points // _GAPS_PER_WORD + 2
    n_gaps = _GAPS_PER_WORD * n_words + 1
    weights = np.empty((N_SECONDS, N_STRETCHES))
    return Reports(np.empty(n_gaps), np.empty(n_gaps), weights, np.empty(n_words, np.uint64))


def quantiles(weights: Integers, lower: Floats, upper: Floats) -> Floats:
    """Find the values in the middle of equal parts of a distribution in bins, even within each: (N_QUANTILES,).

    Only sums and products are used, so every machine comes to the same numbers.
    """
    sums = np.cumsum(weights)
    targets = (np.arange(N_QUANTILES) + 0.5) * (int(sums[-1]) / N_QUANTILES)
    bins = np.minimum(np.searchsorted(sums, targets, side="right"), len(weights) - 1)
    share = (targets - (sums[bins] - weights[bins])) / np.maximum(weights[bins], 1)
    values: Floats = lower[bins] + np.clip(share, 0.0, 1.0) * (upper[bins] - lower[bins])
    return values


def moves(edges: Floats, made: Floats, wanted: Floats) -> Floats:
    """Prepare moving jumps to where wanted ones are, in order of size, each time as they come then.

    Between parts of octaves it is done by straight lines, and what is shorter than the first part stays. Only
    sums, products and quotients are used, so every machine comes to the same numbers.
    """
    ends = np.append(edges[1:], 2 * edges[-1])
    octaves = edges[1] * 2.0 ** np.arange(len(edges) // 2 + 2)
    parts = np.outer(octaves, 1 + np.arange(OCTAVE_PARTS) / OCTAVE_PARTS).ravel()
    there = np.flatnonzero(wanted[1:])
    goals = np.concatenate([[0.0], np.cumsum(wanted[1:][there])])
    tables = []
    for come in made:
        below = np.concatenate([[0.0], np.cumsum(come[1:])])
        shares = np.interp(parts, ends, below / below[-1]) * goals[-1]
        bins = np.clip(np.searchsorted(goals, shares) - 1, 0, len(there) - 1)
        within = (shares - goals[bins]) / (goals[bins + 1] - goals[bins])
        low, high = ends[there[bins]], ends[there[bins] + 1]
        become = low + within * (high - low)
        slopes = np.append(np.diff(become) / np.diff(parts), 0.0)
        tables.append(np.vstack([STAY, np.stack([become - slopes * parts, slopes], axis=1)]))
    return np.stack(tables)


def kinds_of(ratios: Floats) -> npt.NDArray[np.int8]:
    """Find the kinds of gaps by their seconds over the tick."""
    return np.searchsorted(KINDS, ratios, side="right").astype(np.int8)


@inlined
def has_clock(draws):  # type: ignore[no-untyped-def]
    """Tell whether reports have times."""
    return len(draws.ticks) > 0 or draws.every_s > 0.0


@borrowing
def spaced_reports(reports, length_m, spacing_m, stream):  # type: ignore[no-untyped-def]
    """Report a line by points that are about spacing_m apart; return their number.

    The memory is for as many as `most_spaced` says.
    """
    # Rounded up or down at random, so that spacing is right on average.
    words = philox(stream.seed, stream.trajectory, np.uint64(2), np.uint64(PLACING))
    n_gaps = max(1, int(min(length_m / spacing_m, _MOST_GAPS) + uniform(words[1])))
    for gap in range(n_gaps + 1):
        reports.along_m[gap] = length_m * gap / n_gaps
    return n_gaps + 1


@inlined
def most_spaced(length_m, spacing_m):  # type: ignore[no-untyped-def]
    """Bound the points of a line that are about spacing_m apart."""
    return 2 + int(min(length_m / spacing_m, _MOST_GAPS))


@borrowing
def draw_reports(reports, n_points, length_m, reported_m, draws, stream):  # type: ignore[no-untyped-def]
    """Draw where on a line, and when, a trip is reported by so many points: it is reported_m long by them.

    Return their number: where the tick is public, more may be needed. The memory is for the most points.
    """
    if n_points > 1 and draws.every_s > 0.0:
        # All gaps are as long, so whoever would be too fast needs more of them.
        needed = min(length_m / (LEISURE * draws.fastest * draws.every_s), 1.0 * draws.most_points)
        n_points = min(max(n_points, 2 + np.int64(needed)), draws.most_points)
    along_m, seconds = reports.along_m, reports.seconds
    along_m[0], seconds[0] = 0.0, 0.0
    if n_points == 1:
        return 1
    n_gaps, in_time = n_points - 1, has_clock(draws)
    tick_s, stretch, wanted = draws.every_s, EVEN, 1.0
    words = philox(stream.seed, stream.trajectory, np.uint64(_TICK), np.uint64(REPORTING))
    if len(draws.ticks):
        tick, stretch = _tick(
            reports.weights, bin_of(reported_m, draws.edges), n_points, draws, uniform(words[0])
        )
        low, high = STRETCHES_FROM[stretch], STRETCHES_TO[stretch]
        tick_s, wanted = TICKS[tick], low + uniform(words[1]) * (high - low)
    words = philox(stream.seed, stream.trajectory, np.uint64(_VARIATION), np.uint64(REPORTING))
    variation, pausing = 0, uniform(words[1])
    if n_gaps > FEW_GAPS:
        target = uniform(words[0]) * draws.variations[-1]
        variation = first_above(draws.variations, target)
    meters, ticking, others = _draw_gaps(reports, n_gaps, (variation, stretch), draws, stream)
    total_s = 0.0
    if in_time:
        change = 1.0
        if stretch != EVEN:
            if others <= 0.0:  # all are ticks: one of them is not
                pause = 1 + np.int64(pausing * n_gaps)
                seconds[pause], ticking, others = _PAUSE, ticking - 1.0, _PAUSE
            change = min(max((wanted * n_gaps - ticking) / others, _SHORTENED), _LENGTHENED)
        total_s = _set_clock(seconds, n_gaps, tick_s, change)
        if draws.every_s == 0.0:
            _slow_down(seconds, n_gaps, total_s, length_m / (LEISURE * draws.fastest))
    for move in range(len(draws.moves)):
        if meters > 0.0:
            meters = _move(along_m, n_gaps, reported_m / meters, draws.least_jump, draws.moves[move])
    _spread(along_m, seconds, n_gaps, (length_m, meters), draws.fastest if in_time else np.inf)
    return n_points


@inlined
def _draw_gaps(reports, n_gaps, classes, draws, stream):  # type: ignore[no-untyped-def]
    """Draw meters over their mean and seconds over the tick, into the memory.

    Return the sum of the meters, and of the seconds of ticks and of others.
    """
    along_m, seconds, words = reports.along_m, reports.seconds, reports.words
    variation, stretch = classes
    by_kind, n_words = draws.meters[variation], (n_gaps + _GAPS_PER_WORD - 1) // _GAPS_PER_WORD
    random_words(words, n_words, stream, _FIRST_GAP, REPORTING)
    ticking, others, gap = 1.0 * n_gaps, 0.0, np.uint64(0)
    # There is memory for all gaps of the last word, whether they are needed or not.
    if has_clock(draws) and not draws.steady[stretch]:
        kinds, over_ticks, ticking = draws.kinds[stretch], draws.seconds[stretch], 0.0
        for word in range(n_words):
            bits = words[word]
            for _ in range(_GAPS_PER_WORD):
                gap += _1
                kind, over_tick = np.uint64(kinds[bits & _MASK]), over_ticks[bits & _MASK]
                seconds[gap], along_m[gap] = over_tick, by_kind[kind, (bits >> _BITS) & _MASK]
                counted = over_tick if gap <= n_gaps else 0.0
                ticking += counted if kind == TICK_KIND else 0.0
                others += counted if kind != TICK_KIND else 0.0
                bits >>= _TWICE
    else:
        ticks = by_kind[TICK_KIND]
        for word in range(n_words):
            bits = words[word] >> _BITS
            for _ in range(_GAPS_PER_WORD):
                gap += _1
                seconds[gap], along_m[gap] = 1.0, ticks[bits & _MASK]
                bits >>= _TWICE
    return _sum(along_m, n_gaps), ticking, others


@inlined
def _sum(along_m, n_gaps):  # type: ignore[no-untyped-def]
    """Add gaps up, four sums side by side: each needs not wait for the others."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    gap = 1
    while gap + 3 <= n_gaps:
        a += along_m[gap]
        b += along_m[gap + 1]
        c += along_m[gap + 2]
        d += along_m[gap + 3]
        gap += 4
    for last in range(gap, n_gaps + 1):
        a += along_m[last]
    return (a + b) + (c + d)


@borrowing
def number_of_points(reported_m, draws, stream):  # type: ignore[no-untyped-def]
    """Draw the number of points of a trip that is so long: a bin of numbers, and one of it.

    The longer trips of their bin have about as much larger numbers of theirs: so the spacing between points,
    which is what trips of all lengths share, is blurred less than by numbers that do not look at the length.
    """
    row = bin_of(reported_m, draws.edges)
    words = philox(stream.seed, stream.trajectory, np.uint64(_NUMBER), np.uint64(REPORTING))
    sums = draws.points[row]
    points = first_above(sums, uniform(words[0]) * sums[-1])
    if points + 1 >= N_POINTS:
        return POINTS[N_POINTS - 1]
    share = _COUPLED * (uniform(words[1]) - 0.5)
    if row + 1 < len(draws.edges):
        share += (reported_m - draws.edges[row]) / (draws.edges[row + 1] - draws.edges[row])
    return POINTS[points] + np.int64((share % 1.0) * (POINTS[points + 1] - POINTS[points]))


@borrowing
def _tick(weights, row, n_points, draws, share):  # type: ignore[no-untyped-def]
    """Draw the tick and the class of the stretch of a trip with so many points."""
    total = clock_weights(weights, row, n_points, draws.there, draws.ticks, draws.paces, draws.stretches)
    target, reached = share * total, 0.0
    chosen, chosen_stretch = np.int64(-1), EVEN
    for tick in draws.there:
        for stretch in range(N_STRETCHES):
            if weights[tick, stretch] > 0.0 and reached <= target:
                reached += weights[tick, stretch]
                chosen, chosen_stretch = np.int64(tick), stretch
    if chosen < 0:  # no tick makes such a trip
        chosen = np.int64(np.argmax(draws.ticks))
    return chosen, chosen_stretch


@inlined
def _set_clock(seconds, n_gaps, tick_s, change):  # type: ignore[no-untyped-def]
    """Turn gaps over the tick into seconds, whole ones if the tick is a second or more; return their sum.

    Gaps that are no ticks change by a factor. What is left in `seconds` are gaps still.
    """
    total = 0.0
    for gap in range(1, n_gaps + 1):
        over_tick, gap_s = seconds[gap], tick_s
        if over_tick != 1.0:
            is_tick = KINDS[TICK_KIND - 1] <= over_tick < KINDS[TICK_KIND]
            gap_s *= over_tick if is_tick else over_tick * change
            gap_s = max(np.floor(_parts(tick_s) * gap_s + 0.5), 1.0) / _parts(tick_s)
        seconds[gap] = gap_s
        total += gap_s
    return total


@inlined
def _parts(seconds):  # type: ignore[no-untyped-def]
    """Say in how many parts of a second to round: one, or thousands of what is shorter than one."""
    return 1.0 if seconds >= 1.0 else 1000.0


@inlined
def _slow_down(seconds, n_gaps, total_s, least_s):  # type: ignore[no-untyped-def]
    """Let a trip that is too fast as a whole take longer; but none takes longer than the longest."""
    change = min(max(least_s, total_s), 1.0 * LONGEST_S) / total_s
    if change != 1.0:
        for gap in range(1, n_gaps + 1):
            parts = _parts(seconds[gap])
            gap_s = parts * change * seconds[gap]
            seconds[gap] = (np.ceil(gap_s) if change > 1.0 else max(np.floor(gap_s), 1.0)) / parts


@inlined
def _move(along_m, n_gaps, scale, least, moves):  # type: ignore[no-untyped-def]
    """Scale gaps, and move them to where jumps are; those that are no movement stay. Return their sum."""
    per_least, last = 1.0 / least, len(moves) - 1
    for gap in range(1, n_gaps + 1):
        meters = scale * along_m[gap]
        part = np.uint64(min(max(part_of_octave(meters * per_least) + 1, 0), last))
        along_m[gap] = moves[part, 0] + moves[part, 1] * meters
    return _sum(along_m, n_gaps)


@inlined
def _spread(along_m, seconds, n_gaps, meters, fastest):  # type: ignore[no-untyped-def]
    """Scale gaps to the length of the line, nobody faster than the fastest, and add gaps up to places."""
    length_m, total_m = meters
    is_still = total_m <= 0.0  # all gaps were drawn as none: they are even then
    scale = length_m / n_gaps if is_still else length_m / total_m
    excess, left = 0.0, 0.0
    for gap in range(1, n_gaps + 1):
        along_m[gap] = scale if is_still else scale * along_m[gap]
        if fastest < np.inf:
            spare = fastest * seconds[gap] - along_m[gap]
            left += max(spare, 0.0)
            excess += max(-spare, 0.0)
    # What is too fast is made up for elsewhere, if it can be.
    share = excess / left if 0.0 < excess < left else 0.0
    if share > 0.0:
        for gap in range(1, n_gaps + 1):
            spare = fastest * seconds[gap] - along_m[gap]
            along_m[gap] += share * spare if spare > 0.0 else spare
    place_m, place_s = 0.0, 0.0
    for gap in range(1, n_gaps + 1):
        place_m, place_s = place_m + along_m[gap], place_s + seconds[gap]
        along_m[gap], seconds[gap] = place_m, place_s
    along_m[n_gaps] = length_m
