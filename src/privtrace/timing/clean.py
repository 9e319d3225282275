"""Make chances of noisy tables: judge which entries are there at all, estimate those, and fit them together.

A noisy table of mostly empty entries has long tails of noise, and one trip in a hundred with a thousand times
the points would spoil them all. So entries count only where they and their neighbors stand out of the noise,
and where they are joined to others that do. All of this is post-processing.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privtrace.compiling import borrowing, compiled, inlined
from privtrace.empirical_bayes import Prior, posterior_means
from privtrace.space.region import Region
from privtrace.space.shapes import N_BINS, shape_edges
from privtrace.timing.bins import (
    EVEN,
    LONGEST_S,
    METERS,
    N_PARTS,
    N_POINTS,
    N_RATIOS,
    N_SECONDS,
    N_SPEEDS,
    N_STRETCHES,
    POINTS,
    RATIOS,
    SECONDS,
    STRETCHES_FROM,
    STRETCHES_TO,
    TICK,
    TICKS,
    half_octave,
)
from privtrace.trajectories import Floats, Integers

#: The weight of a chance of one.
CERTAIN = 1 << 30

#: Entries stand out where they and their neighbors do by so many errors; joined to them, by so many. Where too
#: much does little harm, by fewer.
_SURE, _LIKELY, _PERHAPS = 5.0, 2.0, 1.5
_AT_ALL = 3.0  # for one of a few dozen sums, where that is all that there is

#: Neighbors are averaged with weights 1, 2, 1 so many times.
_BLURS = 2

#: Half octaves that trips longer than all that stand out may have more points and take longer.
_LONGER = 2

#: The least that is expected of an entry, as part of the mean of all: where noise left none, there may be some.
_LEAST = 1e-3

#: Harmonics of the week stay whose power is more than so many times that of noise, less as much of them; and
#: the least that is expected of an hour, as part of the mean.
_HARMONIC, _QUIET = 3.0, 0.02

#: Differences of jumps stay, at each scale, whose power is more than so many times that of noise, less as much
#: of them; averaged over so many shifts. And the least jumps, as part of what was expected.
_SCALE, _SHIFTS, _LEAST_JUMPS = 5.0, 8, 0.02
_ROOT_HALF = math.sqrt(0.5)

#: Shares of all that noise may hide beyond the greatest speeds, before these are taken to be a bin greater.
_HIDDEN = (0.03, 0.1)

#: The part of all trips whose speeds must be up to the greatest, else noise hides too many to know it.
_NEARLY_ALL = 0.9

#: The least trips in a part of the day, as part of what was expected: noise may leave none.
_LEAST_PART = 0.02

#: Rounds of fitting ticks, paces and stretches to each other: each brings all nearer to their tables.
_ROUNDS = 30

#: Rounds of balancing the parts of the day: each brings them nearer to departures.
_BALANCING = 5

#: How many times larger or smaller the fitted weights may become than they began; and what durations begin
#: with that are not there by their table.
_REACH, _SELDOM = 100.0, 1e-3

#: Numbers of points of a bin by which durations are foreseen, at most.
_SOME = 4

#: Where nothing stands out, it is as if trips had a point each time they are so much of the region's side
#: farther, evenly in meters and seconds, and usual gaps from a second to five minutes: public, and moderate.
_SPACING = 1 / 160
_CLOSEST = 8  # half octaves more points than that, where trips of all lengths are taken to be alike
_EVEN_METERS = (METERS >= 0.5) & (METERS < 2.0)
_USUAL_TICKS = (TICKS >= 1.0) & (TICKS <= 300.0)

#: The gap over the tick of each bin, on average.
_RATIOS = np.where(np.arange(N_RATIOS) == TICK, 1.0, (RATIOS + np.append(RATIOS[1:], 2 * RATIOS[-1])) / 2)

_PRIOR = Prior()
_TINY = 1e-12

Flags = npt.NDArray[np.bool_]


def in_weights(chances: Floats) -> Integers:
    """Turn chances of which the largest is 1 at most into whole weights; what is possible stays so."""
    weights: Integers = np.maximum(np.round(chances * CERTAIN), chances > 0).astype(np.int64)
    return weights


def clean_points(noisy: Floats, error: float) -> tuple[Floats, Floats]:
    """Estimate the chances of lengths, (N_BINS,), and of the number of points of each: (N_BINS, N_POINTS)."""
    cloud = _cloud(noisy, error, most=_CLOSEST)
    return _normalized(cloud.sum(axis=1)), _rows(cloud) if cloud.any() else _points_by_spacing()


def clean_gaps(noisy: Floats, error: float) -> tuple[Floats, Floats]:
    """Estimate the chances of the variation of gaps, and of their meters by variation and kind."""
    likely = np.zeros(noisy.shape)
    likely[:, :, 1:] = [_lines(rows, error) for rows in noisy[:, :, 1:]]
    likely[:, :, 0] = _still(noisy[:, :, 0], likely.sum(axis=2), error)
    variations = likely.sum(axis=(1, 2))
    if not variations[1:].any():
        variations[1:] = 1.0
    for variation, rows in enumerate(likely):
        for kind, row in enumerate(rows):
            if not row.any():  # as others of the kind, as others of the variation, or as all are
                alike = (likely[:, kind].sum(axis=0), likely[variation].sum(axis=0), likely.sum(axis=(0, 1)))
                likely[variation, kind] = next((one for one in alike if one.any()), _EVEN_METERS)
    return variations / variations.sum(), likely / likely.sum(axis=2, keepdims=True)


def _still(noisy: Floats, moving: Floats, error: float) -> Floats:
    """Estimate the gaps without movement of each row, expecting the same share of all that have others."""
    there = moving > 0
    together, spread = float(noisy[there].sum()), error * np.sqrt(np.count_nonzero(there))
    still = np.zeros(noisy.shape)
    if together > _LIKELY * spread:
        expected = together * moving[there] / moving[there].sum()
        still[there] = posterior_means(noisy[there], expected, error, _PRIOR)
    return still


def clean_jumps(noisy: Floats, made: Floats, error: float) -> Floats:
    """Estimate the chances of the meters between points that move, expecting them as they come: (N_JUMPS,).

    There may be more or fewer of single jumps, or of all that are short. So differences count at every scale,
    as far as they stand out of the noise. One jump that is too long takes all of a trip: longer ones than come
    count only where they stand out by themselves.
    """
    likely = np.zeros(noisy.shape)
    expected = made[1:] * max(float(noisy[1:].sum()), 1.0)
    likely[1:] = np.maximum(expected + _at_scales(noisy[1:] - expected, error), _LEAST_JUMPS * expected)
    is_there = (made > _LEAST) | (noisy > _SURE * error)
    likely[int(np.flatnonzero(is_there)[-1]) + 1 :] = 0.0
    return _normalized(likely)


def _at_scales(noisy: Floats, error: float) -> Floats:
    """Keep of differences what stands out of the noise: wavelet shrinkage by Haar, averaged over shifts."""
    size = 2 * (1 << (len(noisy) - 1).bit_length())
    kept = np.zeros(len(noisy))
    for shift in range(_SHIFTS):
        sums = np.zeros(size)
        sums[shift : shift + len(noisy)] = noisy
        details = []
        while len(sums) > 1:
            even, odd = sums[::2], sums[1::2]
            details.append(_shrunk((even - odd) * _ROOT_HALF, error))
            sums = (even + odd) * _ROOT_HALF
        sums = _shrunk(sums, error)
        for detail in reversed(details):
            pairs = np.stack([sums + detail, sums - detail], axis=1)
            sums = pairs.ravel() * _ROOT_HALF
        kept += sums[shift : shift + len(noisy)] / _SHIFTS
    return kept


def _shrunk(noisy: Floats, error: float) -> Floats:
    """Take from each coefficient what noise may have made of it."""
    kept: Floats = noisy * np.maximum(1.0 - _SCALE * error**2 / np.maximum(noisy**2, _TINY), 0.0)
    return kept


def clean_departures(noisy: Floats, error: float) -> Floats:
    """Estimate the chances of the hours of the week: (HOURS,).

    Days and weeks repeat themselves. So harmonics of the week stay as far as they stand out of the noise, and
    each hour is estimated from what they let expect.
    """
    harmonics = np.fft.rfft(noisy)
    power, noise = np.abs(harmonics) ** 2, len(noisy) * error**2
    kept = np.maximum(1.0 - _HARMONIC * noise / np.maximum(power, _TINY), 0.0)
    kept[0] = 1.0  # the mean
    expected = np.fft.irfft(kept * harmonics, len(noisy))
    least = _QUIET * max(float(noisy.mean()), 1.0)
    return _normalized(_estimated(noisy, np.maximum(expected, least), error))


def clean_stretches(noisy: Floats, error: float) -> Floats:
    """Estimate the chances of classes of stretches: (N_STRETCHES,)."""
    return _normalized(np.where(noisy > _LIKELY * error, noisy, 0.0), np.arange(N_STRETCHES) == EVEN)


def clean_pauses(noisy: Floats, error: float) -> Floats:
    """Estimate the chances of seconds over the tick, row by row of stretches: (N_STRETCHES, N_RATIOS)."""
    likely = _lines(noisy, error)
    tick = np.arange(noisy.shape[1]) == TICK
    for row in likely:
        if not row.any():
            row += likely.sum(axis=0) if likely.any() else tick
    return _as_stretched(likely / likely.sum(axis=1, keepdims=True))


def _as_stretched(chances: Floats) -> Floats:
    """Leave as much of long gaps as lets the gaps of each row be as long, on average, as its stretch says.

    It is so for all trips of a stretch, and noise knows nothing of it: one entry that stands out by chance
    may be gaps of a thousand ticks.
    """
    excess = (_RATIOS - STRETCHES_TO[:, np.newaxis]) * chances
    above, below = (np.maximum(side, 0.0).sum(axis=1, keepdims=True) for side in (excess, -excess))
    possible = np.where(below > 0, np.minimum(below / np.maximum(above, _TINY), 1.0), 1.0)
    chances = np.where(excess > 0, possible, 1.0) * chances
    rows: Floats = chances / chances.sum(axis=1, keepdims=True)
    return rows


def clean_ticks(noisy: Floats, error: float) -> Floats:
    """Estimate the chances of ticks: (N_SECONDS,)."""
    return _normalized(_lines(noisy[np.newaxis], error)[0], _USUAL_TICKS)


def clean_paces(noisy: Floats, error: float) -> Floats:
    """Estimate the chances of durations, row by row of length: (N_BINS, N_SECONDS)."""
    return _rows(_cloud(noisy, error, _PERHAPS))


def clean_parts(noisy: Floats, departures: Floats, error: float) -> tuple[Floats, Floats]:
    """Estimate the chances of the parts of the day for each trip from zone to zone, (N_PARTS, n, n), and trips.

    Expected are the same trips all day, as many in each part as depart then.
    """
    total = noisy.sum(axis=0)
    starts, goals = (np.maximum(total.sum(axis=axis), 1.0) for axis in (1, 0))
    expected = np.outer(starts, goals) / starts.sum()
    return _by_part(noisy, departures, expected, error)


def clean_tempos(noisy: Floats, departures: Floats, error: float) -> tuple[Floats, Floats]:
    """Estimate how much likelier than by the hours alone each part of the day is for trips of each speed.

    Expected are the same speeds all day. Return also how many there are of each.
    """
    together, by_parts = noisy.sum(axis=0), error * np.sqrt(N_PARTS)
    speeds = np.maximum(_lines(together[np.newaxis], by_parts)[0], _LEAST)
    chances, trips = _by_part(noisy, departures, speeds, error)
    ratios = chances / _of_parts(departures)[:, np.newaxis]
    return ratios / ratios.max(), trips


def balanced(parts: Floats, trips: Floats, tempos: Floats, speeds: Floats, departures: Floats) -> Floats:
    """Let as many trips depart in each part of the day as were measured: change the tempos of each by a factor.

    Where trips lead and how fast they are says when they happen, each by itself as often as is right, but both
    together not. It is right for trips between zones, and of speeds, that are as many as were measured.
    """
    both = parts.reshape(N_PARTS, -1, 1) * np.maximum(tempos, _TINY)[:, np.newaxis]
    often = np.outer(trips / trips.sum(), speeds / speeds.sum())
    factors, wanted = np.ones((N_PARTS, 1, 1)), _of_parts(departures)
    for _ in range(_BALANCING):
        made = (often * (both * factors) / (both * factors).sum(axis=0)).sum(axis=(1, 2))
        factors *= (wanted / np.maximum(made, _TINY))[:, np.newaxis, np.newaxis]
    changed = tempos * factors[:, :, 0]
    likelier: Floats = changed / changed.max()
    return likelier


def _by_part(noisy: Floats, departures: Floats, expected: Floats, error: float) -> tuple[Floats, Floats]:
    """Estimate the chances of the parts of the day for each kind of trip, of which so many are expected.

    Return also how many there are.
    """
    of_parts, total = _of_parts(departures), noisy.sum(axis=0).ravel()
    summed = error * np.sqrt(N_PARTS)
    trips = posterior_means(total, expected.ravel() + _LEAST, summed, _PRIOR, noise="normal") + _LEAST
    alike = of_parts[:, np.newaxis] * trips
    by_part = posterior_means(noisy.ravel(), np.maximum(alike, _LEAST).ravel(), error, _PRIOR)
    by_part = np.maximum(by_part.reshape(alike.shape), _LEAST_PART * alike)
    for _ in range(_ROUNDS):  # in turn, as many in each part as depart then, and as many of each trip
        by_part *= (of_parts * trips.sum() / by_part.sum(axis=1))[:, np.newaxis]
        by_part *= trips / by_part.sum(axis=0)
    return (by_part / by_part.sum(axis=0)).reshape(noisy.shape), trips


def _of_parts(departures: Floats) -> Floats:
    """Add up the chances of the hours of each part of the day."""
    of_parts: Floats = np.maximum(departures.reshape(7, N_PARTS, -1).sum(axis=(0, 2)), _TINY)
    return of_parts


def last_speed(noisy: Floats, error: float, n_trips: float, otherwise: int = N_SPEEDS - 1) -> int:
    """Find the bin of the greatest speeds: the last that stands out, or some more if noise may hide them.

    It bounds all speeds: one that is too great does little harm, one that is too small slows everybody down.
    So where speeds up to it are not those of nearly all trips, it is at least what it is otherwise.
    """
    there = np.flatnonzero(_lines(noisy[np.newaxis], error)[0])
    if not len(there):
        return otherwise
    hidden = _PERHAPS * error / max(float(noisy.sum()), _TINY)
    more = sum(hidden > share for share in _HIDDEN)
    last = min(int(there[-1]) + more, len(noisy) - 1)
    return last if noisy[: last + 1].sum() >= _NEARLY_ALL * n_trips else max(last, otherwise)


def fitted_clock(
    lengths: Floats, points: Floats, ticks: Floats, paces: Floats, stretches: Floats
) -> tuple[Floats, ...]:
    """Fit weights of ticks, of durations by length and of stretches, so that trips have all three as given.

    A trip of n points has a duration of (n - 1) ticks times its stretch. The number of points follows its
    table whatever the weights: this is iterative proportional fitting with the number of points held fixed.
    """
    given = [ticks, np.where(paces > 0, 1.0, _SELDOM), stretches]
    weights = [*given]
    points = points * lengths[:, np.newaxis]
    for _ in range(_ROUNDS):
        for which, wanted in ((1, paces * lengths[:, np.newaxis]), (0, ticks), (2, stretches)):
            made = _made(points, *weights)[which]
            wanted = wanted * (made.sum() / max(wanted.sum(), _TINY))
            ratio = np.where(made > 0, wanted / np.maximum(made, _TINY), 1.0)
            # Noisy tables may contradict each other: weights stay within reach of where they began.
            weights[which] = np.clip(weights[which] * ratio, given[which] / _REACH, given[which] * _REACH)
    return tuple(one / one.max() for one in weights)


def _cloud(noisy: Floats, error: float, likely: float = _LIKELY, most: int | None = None) -> Floats:
    """Estimate a table by length whose entries lie together in one cloud: of several, the largest.

    Where none stands out, trips of all lengths are taken to be alike: by diagonals, up to `most` past the main.
    """
    blurred, part = _blurred(noisy, _BLURS, range(noisy.ndim))
    labels, sure = _standing_out(blurred / (part * error), np.ones((3, 3)), likely)
    if not len(sure):
        return _alike(noisy, error, noisy.shape[1] if most is None else most)
    largest = max(sure.tolist(), key=lambda label: float(noisy[labels == label].sum()))
    return np.where(labels == largest, _estimated(noisy, blurred, error), 0.0)


def _alike(noisy: Floats, error: float, most: int) -> Floats:
    """Estimate a table by length from sums along its diagonals: a trip twice as long has twice as much.

    Of the diagonals, those count that lie together around the one that stands out most; there may be none.
    """
    from scipy import ndimage

    n_rows, n_columns = noisy.shape
    diagonal = np.arange(n_columns) - np.arange(n_rows)[:, np.newaxis] + n_rows - 1
    sums = np.bincount(diagonal.ravel(), noisy.ravel()).astype(np.float64)
    # In the corners diagonals are short, and one entry could stand for all: they count as if they were not.
    errors = error * np.sqrt(np.maximum(np.bincount(diagonal.ravel()), n_rows / 2))
    blurred, part = _blurred(sums, _BLURS, [0])
    standing = blurred / (part * errors) * (np.arange(len(sums)) < n_rows + most)
    highest = int(np.argmax(standing))
    if standing[highest] <= _AT_ALL:
        return np.zeros(noisy.shape)
    labels, _ = ndimage.label(standing > _LIKELY)
    shares = np.where(labels == labels[highest], np.maximum(blurred, _TINY), 0.0)
    rows: Floats = np.maximum(noisy.sum(axis=1, keepdims=True), 1.0) * shares[diagonal]
    return rows


def _lines(noisy: Floats, error: float) -> Floats:
    """Estimate a table whose entries lie together along the last axis, row by row; a row may have none."""
    blurred, part = _blurred(noisy, 1, [noisy.ndim - 1])
    along = np.zeros((3,) * noisy.ndim)
    along[(1,) * (noisy.ndim - 1)] = 1
    # A row may have its all in one entry, or spread over many.
    standing = np.maximum(blurred / (part * error), noisy / error)
    labels, sure = _standing_out(standing, along, _PERHAPS)
    return np.where(np.isin(labels, sure), _estimated(noisy, blurred, error), 0.0)


def _standing_out(errors: Floats, joined: Floats, likely: float) -> tuple[Integers, Integers]:
    """Label what is joined and likely to be there; return the labels, and which of them are sure to be."""
    from scipy import ndimage

    labels, _ = ndimage.label(errors > likely, structure=joined)
    sure = np.unique(labels[errors > _SURE])
    return labels, sure[sure > 0]


def _blurred(noisy: Floats, times: int, axes: range | list[int]) -> tuple[Floats, float]:
    """Average entries with their neighbors along some axes; also give what part of the error is left."""
    from scipy import ndimage

    weights = np.array([1.0])
    for _ in range(times):
        weights = np.convolve(weights, [0.25, 0.5, 0.25])
    blurred = noisy
    for axis in axes:
        blurred = ndimage.convolve1d(blurred, weights, axis=axis, mode="constant")
    return blurred, float(np.sqrt((weights**2).sum()) ** len(axes))


def _estimated(noisy: Floats, expected: Floats, error: float) -> Floats:
    least = _LEAST * float(np.abs(noisy).mean()) + _TINY
    means = posterior_means(noisy.ravel(), np.maximum(expected, least).ravel(), error, _PRIOR)
    return means.reshape(noisy.shape)


def _rows(table: Floats) -> Floats:
    """Make chances of the rows of a table by length; one that is empty is like the nearest, moved along.

    Rows and columns are half octaves: a trip twice as long has twice the points, and takes twice the time.
    """
    filled = np.flatnonzero(table.any(axis=1))
    if not len(filled):
        return np.full(table.shape, 1.0 / table.shape[1])
    chances, last = np.zeros(table.shape), int(np.flatnonzero(table.any(axis=0))[-1])
    for row in range(len(table)):
        nearest = int(filled[np.argmin(np.abs(filled - row))])
        columns = np.flatnonzero(table[nearest])
        moved = np.clip(columns + row - nearest, 0, min(last + _LONGER, table.shape[1] - 1))
        np.add.at(chances[row], moved, table[nearest, columns])
    rows: Floats = chances / chances.sum(axis=1, keepdims=True)
    return rows


def _points_by_spacing() -> Floats:
    """Make chances of the number of points by length, for points that are all as far apart."""
    edges = shape_edges(Region.box(0, 0, 1, 1, crs="planar"))
    middles = (edges + np.append(edges[1:], 2 * edges[-1])) / 2
    bins = np.searchsorted(POINTS, 2 + (middles / _SPACING).astype(np.int64), side="right") - 1
    chances: Floats = (np.arange(N_POINTS) == bins[:, np.newaxis]).astype(np.float64)
    return chances


def _normalized(table: Floats, otherwise: Flags | None = None) -> Floats:
    """Make chances of a table; of an empty one, by those entries that are likely otherwise, or all."""
    if not table.any():
        table = np.ones(table.shape) if otherwise is None else otherwise.astype(np.float64)
    chances: Floats = table / table.sum()
    return chances


@compiled
def _made(points, ticks, paces, stretches):  # type: ignore[no-untyped-def]
    """Find the ticks, durations by length and stretches of trips with such points, drawn by these weights."""
    made_ticks, made_stretches = np.zeros(N_SECONDS), np.zeros(N_STRETCHES)
    made_paces = np.zeros((N_BINS, N_SECONDS))
    weights, there = np.empty((N_SECONDS, N_STRETCHES)), np.flatnonzero(ticks > 0.0)
    for length in range(N_BINS):
        for points_bin in range(1, N_POINTS):
            if points[length, points_bin] <= 0.0:
                continue
            fewest = POINTS[points_bin]
            beyond = POINTS[points_bin + 1] if points_bin + 1 < N_POINTS else fewest + 1
            n_some = min(_SOME, beyond - fewest)
            for some in range(n_some):
                n_points = fewest + (beyond - fewest) * (2 * some + 1) // (2 * n_some)
                total = clock_weights(weights, length, n_points, there, ticks, paces, stretches)
                if total <= 0.0:
                    continue
                share = points[length, points_bin] / n_some / total
                for tick in there:
                    for stretch in range(N_STRETCHES):
                        weight = weights[tick, stretch] * share
                        if weight > 0.0:
                            made_ticks[tick] += weight
                            made_stretches[stretch] += weight
                            duration = _duration(n_points, tick, stretch)
                            made_paces[length, half_octave(duration, SECONDS)] += weight
    return made_ticks, made_paces, made_stretches


@inlined
def _duration(n_points, tick, stretch):  # type: ignore[no-untyped-def]
    """Foresee how long so many points take, by their tick and the class of their stretch."""
    middle = 1.0 if stretch == EVEN else 0.5 * (STRETCHES_FROM[stretch] + STRETCHES_TO[stretch])
    return (n_points - 1) * TICKS[tick] * middle


@borrowing
def clock_weights(weights, length, n_points, there, ticks, paces, stretches):  # type: ignore[no-untyped-def]
    """Weigh the ticks `there` and stretches of a trip with such a length and so many points; return their sum.

    None weighs anything by which it would take longer than the longest.
    """
    total = 0.0
    for tick in there:
        for stretch in range(N_STRETCHES):
            weight = 0.0
            # One gap is as long as its own tick.
            if stretches[stretch] > 0.0 and (n_points > 2 or stretch == EVEN):
                duration = _duration(n_points, tick, stretch)
                if duration <= LONGEST_S:
                    weight = ticks[tick] * stretches[stretch] * paces[length, half_octave(duration, SECONDS)]
            weights[tick, stretch] = weight
            total += weight
    return total
