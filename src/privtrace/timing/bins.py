"""Name the public bins and classes by which points and times are measured: fixed, whatever the data."""

from __future__ import annotations

import math

import numpy as np

from privtrace.compiling import inlined
from privtrace.searching import first_above
from privtrace.space.region import Region
from privtrace.space.shapes import half_octaves
from privtrace.trajectories import Floats, Integers

# --- points ---

#: Points of a trip in half octaves: 1, 2, 3, 4 to 5, 6 to 7, 8 to 11, ... These are the fewest of each bin.
POINTS: Integers = np.concatenate([[1], np.ceil(half_octaves(2.0, 31) - 1e-9)]).astype(np.int64)
N_POINTS = len(POINTS)
#: Points of a trip at most: where the last bin begins.
MOST_POINTS = int(POINTS[-1])

# --- seconds ---

#: The longest trip, in seconds: a week. A point that is reported later has no time.
LONGEST_S = 604_800

#: Seconds in half octaves, below 0.14 s, and up to beyond a week. Round numbers of seconds and minutes are not
#: near an edge. These are the lower edges.
SECONDS: Floats = np.concatenate([[0.0], half_octaves(1.14 / 8, 45)])
N_SECONDS = len(SECONDS)

#: What round numbers of seconds are multiples of, the roundest first.
_ROUND = (86_400, 43_200, 21_600, 10_800, 3600, 1800, 900, 600, 300, 120, 60, 30, 20, 15, 10, 5, 2, 1)
_PARTS_OF_ONE = (0.5, 0.1, 0.05)


def _roundest(low: float, high: float) -> float:
    """Find the roundest number of seconds in a bin, and of several the one nearest to its middle."""
    middle = math.sqrt(low * high) if low > 0 else high / 2
    for unit in (*_ROUND, *_PARTS_OF_ONE):
        nearest = unit * max(round(middle / unit), 1)
        for seconds in (nearest, nearest - unit, nearest + unit):
            if low < seconds < high:
                return float(seconds)
    return middle


#: The tick of each bin of seconds: clocks report at round numbers of them.
TICKS: Floats = np.array([_roundest(low, high) for low, high in zip(SECONDS, [*SECONDS[1:], 1e6], strict=True)])

#: Classes of the stretch, the mean gap over the tick: upper edges. A trip with a stretch of one ticks evenly.
STRETCHES: Floats = np.array([0.98, 1.02, 1.25, 1.7, 2.5, 5.0, 12.0])
N_STRETCHES = len(STRETCHES) + 1
EVEN = 1  # the class that ticks evenly
#: From where to where stretches of a class go.
STRETCHES_FROM: Floats = np.concatenate([[0.6], STRETCHES])
STRETCHES_TO: Floats = np.concatenate([STRETCHES, [40.0]])

#: A quarter octave below one, 2**-0.25: written out, since machines may round powers apart.
_QUARTER = 0.8408964152537145

#: Gaps over the tick, in half octaves around one: lower edges. The bin of one is the tick itself.
RATIOS: Floats = np.concatenate([[0.0], half_octaves(_QUARTER / 128, 41)])
N_RATIOS = len(RATIOS)
TICK = int(np.searchsorted(RATIOS, 1.0, side="right")) - 1

# --- meters ---

#: Classes of the variation of gaps, their standard deviation over their mean: upper edges of all but the first
#: and the last. The first is of trips with one or two gaps, whose variation says nothing.
VARIATIONS: Floats = np.array([0.15, 0.35, 0.6, 0.8, 1.1, 1.6, 2.5])
N_VARIATIONS = len(VARIATIONS) + 2
FEW_GAPS = 2

#: Kinds of gaps by their seconds over the tick: upper edges. Without times, all are of the kind of the tick.
KINDS: Floats = np.array([0.5, _QUARTER, math.sqrt(2) * _QUARTER, 2.0, 4.0])
N_KINDS = len(KINDS) + 1
TICK_KIND = 2

#: Gaps over the mean gap of their trip, in half octaves: lower edges. What is below the second is no movement.
METERS: Floats = np.concatenate([[0.0], half_octaves(1 / 128, 30)])
N_METERS = len(METERS)

#: Bins of jumps, the meters between points: below the first edge, then half octaves up to twice the region's
#: shorter side. Edges are as those of seconds.
N_JUMPS = 37
N_MOVES = 2  # times that jumps are moved to where they should be, and scaled to the line again
_EDGE = 1.14
_LONGEST_JUMP = 2.0


def jump_edges(region: Region) -> Floats:
    """Give the lower edges of the bins of jumps, in meters (or planar units): (N_JUMPS,)."""
    most = _LONGEST_JUMP * region.shorter_side_m
    first = _EDGE * 2.0 ** (math.frexp(most / _EDGE)[1] - N_JUMPS // 2)  # exact: a power of two
    return np.concatenate([[0.0], half_octaves(first, N_JUMPS - 1)])


# --- speeds, hours and parts of the day ---

#: Meters per second (or planar units) in half octaves: lower edges.
SPEEDS: Floats = np.concatenate([[0.0], half_octaves(0.1, 31)])
N_SPEEDS = len(SPEEDS)

HOURS = 168  # of a week

#: Parts of the day, of four hours each.
N_PARTS = 6
HOURS_OF_PART = 4


# A positive number of 64 bits is 1 and a fraction, times two to an exponent, which is kept with a bias.
_FRACTION_BITS, _BIAS = 52, 1023
_FRACTION = (1 << _FRACTION_BITS) - 1
#: The fraction of the square root of two: from here on, a number is in the upper half octave.
_ROOT_TWO = int(np.float64(2 * math.sqrt(0.5)).view(np.int64)) & _FRACTION

#: Parts of an octave that are told apart at the finest.
OCTAVE_PARTS = 16
_PART_BITS = _FRACTION_BITS - 4


@inlined
def half_octave(value, edges):  # type: ignore[no-untyped-def]
    """Find the bin of a value that is not below 0, by half octaves from the second edge on.

    As `bin_of`, but by the number's own bits, which is thirty times as fast.
    """
    bits = np.float64(value / edges[1]).view(np.int64)
    place = 2 * ((bits >> _FRACTION_BITS) - _BIAS) + (1 if bits & _FRACTION < _ROOT_TWO else 2)
    return min(max(place, 0), len(edges) - 1)


@inlined
def part_of_octave(value):  # type: ignore[no-untyped-def]
    """Find in which part of an octave a number is, counted from 1 on: OCTAVE_PARTS equal ones to an octave."""
    return (np.float64(value).view(np.int64) >> _PART_BITS) - OCTAVE_PARTS * _BIAS


@inlined
def bin_of(value, edges):  # type: ignore[no-untyped-def]
    """Find the bin of a value that is not below the first lower edge."""
    return first_above(edges, value) - 1


@inlined
def class_of(value, edges):  # type: ignore[no-untyped-def]
    """Find the class of a value by the upper edges of all classes but the last."""
    return first_above(edges, value)
