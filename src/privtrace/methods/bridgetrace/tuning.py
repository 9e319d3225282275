"""Name the numbers that BridgeTrace was tuned by, each with its reason.

`Tuning` has those that a fit alone uses, to make walks from noisy numbers. They are no settings and in no file;
`python -m experiments.defaults --method bridgetrace --tuning` sweeps them. What the walks of a finished model
depend on (`LOSSES` here, how lines are drawn, how many walks are tried) is part of what a model file means: a
constant beside the code that uses it. To change one changes the samples of every file.
"""

from __future__ import annotations

from dataclasses import dataclass

from privtrace.empirical_bayes import Prior

#: The part of its weight that a walk loses on a step across a twentieth of the region, level by level: each
#: loses less than half of the one before, from walks that hardly leave the shortest way to walks that wander.
LOSSES = (0.7, 0.3, 0.13, 0.055, 0.023, 0.01)

#: Put under what is divided by, where it may be zero: no number of trajectories that matters is as small.
TINY = 1e-12

#: Put under what has to be positive, since it is multiplied later or something is expected in proportion to it.
POSITIVE = 1e-9


@dataclass(frozen=True, kw_only=True)
class Tuning(Prior):
    """Hold the numbers by which a fit makes walks from noisy numbers."""

    # --- weights of cells, by which visits are measured ---

    #: The least density by which a cell is weighted, as part of the mean: below it, density is all noise, and
    #: the weight of a cell where nobody is would take all of a path's.
    least_density: float = 0.05

    # --- initialization ---

    #: The least visits of a cell, as part of the mean: a cell of none could never be walked to.
    least_visits: float = 0.01
    #: The least steps of a kind (straight, turn, back, ...), as part of all: noise may leave none.
    least_kind: float = 0.003
    #: The least that is expected of a shape, as part of the mean: where its neighbors are empty by noise, it
    #: need not be.
    least_shape: float = 1e-3
    #: The least starts and ends of a zone, in trajectories: proportional fitting cannot lift a row of none.
    least_ends: float = 1e-6
    #: The least trips of a pair of zones, as part of what was expected: calibration multiplies, and could not
    #: bring back what is zero.
    least_trips: float = 1e-3
    #: The least trips of a class of distance, as part of those that starts and ends alone let expect: noise may
    #: leave less than none.
    least_class: float = 0.05
    #: Rounds of fitting trips to classes of distance, each after proportional fitting to starts and ends.
    class_rounds: int = 4
    #: Rounds of proportional fitting, rows and columns in turn: each brings both nearer to their sums.
    proportional_rounds: int = 10

    # --- calibration: walks of a round ---

    #: Walks of a round, at most: twice as many make density 3 % better and a fit a third slower.
    walks: int = 8192
    #: Walks are drawn in blocks, one for so many trips and one at least; a task walks one.
    walks_per_block: int = 1024
    #: The share of walks that is drawn at any level of discount: else what shapes a level makes would no longer
    #: be known once it is not drawn.
    exploring: float = 0.2

    # --- calibration: what is compared, and by how much parameters change ---

    #: The power of a ratio that is made up for in a round: all of it would overshoot, since visits, moves and
    #: starts of a cell are adjusted at once for one difference.
    damping: float = 0.7
    #: The same of trips, which are measured themselves: they follow visits slowly.
    trips_damping: float = 0.3
    #: The most by which a round multiplies or divides: few walks make ratios that are chance.
    most_ratio: float = 10.0
    #: The most that a walk counts for its shape, in walks: few walks of a shape that is called for often would
    #: decide all else.
    most_wanted: float = 10.0
    #: Groups of cells with a prior for visits of their own, by how many are expected: else empty cells are
    #: lifted to what dense ones suggest (density at epsilon 0.2: 0.22 instead of 0.15).
    visit_groups: int = 4
    #: Visits are expected to be more than those of walks by this part of them, ...
    more_visits: float = 0.02
    #: ... or of this part of the mean, where walks have less: a cell that no walk came to by chance may have
    #: some.
    more_visits_of_mean: float = 0.05
    #: The least ratio of a coarse cell's visits to those of walks: below, its cells could not recover.
    least_coarse: float = 1e-3
    #: Added to the visits of walks by which an estimate is divided, as part of their mean: where hardly a walk
    #: comes, the ratio is chance.
    ratio_visits: float = 1e-3
    #: Walks that are added to every row of the table of steps, stepping as the parameters say: few walks take a
    #: rare step, and none is no reason to forbid it.
    more_walks: float = 0.5
    #: The least steps that are expected of a row, as part of those of a mean link: walks may never have come.
    least_steps: float = 0.02

    # --- calibration: levels of discount, and which walks are kept ---

    #: Rounds of expectation maximization of the levels' chances, which begin all alike.
    level_rounds: int = 60
    #: Added to the share of walks that a shape has: one that hardly a walk makes would decide all levels.
    level_doubt: float = 1e-7
    #: Added to the share that a shape should have and to that which walks have: the ratio of two that are next
    #: to nothing is one.
    shape_doubt: float = 1e-5
    #: Walks drawn for one that is kept, where they are called for as often as they are drawn: more would follow
    #: shapes more closely, and sampling would take as much longer.
    draws_for_one: float = 1.5
    #: The least chance to keep a walk: one of a shape that is called for next to never must not be tried
    #: forever.
    least_kept: float = 0.02
