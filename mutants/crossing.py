"""Breakages of the crossing, which would let something private through: without bound, noise or charge."""

from __future__ import annotations

from mutants.mutant import Mutant

_CLIPPING = "space/test_clip.py"
_ACCUMULATOR = "privacy/test_accumulator.py"
_LEDGER = "privacy/test_ledger.py"
_PURITY = "privacy/test_purity.py"
_REPLAY = "privacy/test_sensitivity.py"
_USERS = "privacy/test_user_sensitivity.py"
_TIMES = "privacy/test_times.py"
_TIMING = "timing/test_counts.py"

CLIPPING = (
    Mutant(
        "runs-by-place",
        "how far a line may go outside depends on how many trajectories come before it in the part",
        "space/clip.py",
        "start, stop = _longest_run(points, first, last, area, scale_m, limit_m, meetings)",
        "start, stop = _longest_run(points, first, last, area, scale_m, limit_m * trajectory, meetings)",
        (_CLIPPING,),
    ),
    Mutant(
        "all-runs-kept",
        "a trajectory keeps all its runs, from the first to the last point inside",
        "space/clip.py",
        "            best_start, best_stop, best_length = start, p + 1, length",
        "            best_stop, best_length = p + 1, length",
        (_CLIPPING,),
    ),
    Mutant(
        "lines-over-lakes",
        "a run goes on however far its line is outside the polygon",
        "space/clip.py",
        "                if meters > limit_m and _outside",
        "                if meters < 0 and _outside",
        (_CLIPPING,),
    ),
    Mutant(
        "stretches-outside-add-up",
        "many short stretches outside end a run as one long one does",
        "space/clip.py",
        "                stretch = 0.0\n",
        "                pass\n",
        (_CLIPPING,),
    ),
)

ACCUMULATOR = (
    Mutant(
        "trajectories-not-stopped",
        "a kernel may add as much as it likes for one trajectory",
        "privacy/accumulator.py",
        "min(np.int64(weights[entry]), left)",
        "np.int64(weights[entry])",
        (_ACCUMULATOR,),
    ),
    Mutant(
        "a-stop-for-the-part",
        "the trajectories of a part are stopped together, so one takes from the others",
        "privacy/accumulator.py",
        "    n = 0\n    for trajectory in range(len(offsets) - 1):\n        left = most\n",
        "    n, left = 0, most\n    for trajectory in range(len(offsets) - 1):\n",
        (_ACCUMULATOR,),
    ),
    Mutant(
        "negative-weights-count",
        "what one entry takes away, another may add beyond the bound",
        "privacy/accumulator.py",
        "if left > 0 and weights[entry] > 0 and 0 <= codes[entry] < size:",
        "if left > 0 and 0 <= codes[entry] < size:",
        (_ACCUMULATOR,),
    ),
    Mutant(
        "weights-rounded-up",
        "the entries of a path weigh more than one trajectory together",
        "privacy/contributions.py",
        "(WEIGHT // np.maximum(n_entries + n_more, 1))",
        "(-(-WEIGHT // np.maximum(n_entries + n_more, 1)))",
        (_ACCUMULATOR,),
    ),
    Mutant(
        "any-number-of-trajectories",
        "a kernel may pass one trajectory for many, each with a bound of its own",
        "privacy/accumulator.py",
        "if len(offsets) != n_trajectories + 1 or len(codes) != len(weights):",
        "if len(codes) != len(weights):",
        (_ACCUMULATOR,),
    ),
    Mutant(
        "counts-for-everybody",
        "whoever likes makes counts that were never bounded",
        "privacy/accumulator.py",
        "if seal is not _SEAL:",
        "if seal is None:",
        (_LEDGER,),
    ),
    Mutant(
        "kernel-sees-neighbors",
        "visits are weighed down by how many others a part holds",
        "methods/bridgetrace/counts.py",
        "emitted_weights[n] = weight * weights[cells[p]] // total",
        "emitted_weights[n] = weight * weights[cells[p]] // (total + len(offsets))",
        (_PURITY,),
    ),
)

LEDGER = (
    Mutant(
        "sensitivity-halved",
        "noise is made for half of what a unit can change",
        "privacy/ledger.py",
        "self.unit.kind, self.unit.sensitivity, epsilon)",
        "self.unit.kind, self.unit.sensitivity // 2, epsilon)",
        (_LEDGER,),
    ),
    Mutant(
        "zeros-without-noise",
        "an entry without noise tells that nobody was there",
        "privacy/ledger.py",
        "np.clip(counts + noise, -CLAMP, CLAMP)",
        "np.clip(np.where(counts == 0, 0, counts + noise), -CLAMP, CLAMP)",
        (_LEDGER,),
    ),
    Mutant(
        "counts-of-any-unit",
        "counts of trajectories get the noise of one, where users are protected",
        "privacy/ledger.py",
        "if type(counts) is not Counts or counts.unit != self.unit:",
        "if type(counts) is not Counts:",
        (_LEDGER,),
    ),
    Mutant(
        "charged-after-drawing",
        "what the budget does not allow is refused once it was spent",
        "privacy/ledger.py",
        "        scale = self._charge(counts, stage, statistic, epsilon)\n        return self._noisy(",
        "        self._noisy(counts.dense(0, counts.size), self.unit.sensitivity / epsilon)\n"
        "        scale = self._charge(counts, stage, statistic, epsilon)\n        return self._noisy(",
        (_LEDGER,),
    ),
    Mutant(
        "budget-not-kept",
        "stages may spend more than epsilon together",
        "privacy/ledger.py",
        "if epsilon > left:",
        "if epsilon > self.epsilon:",
        (_LEDGER,),
    ),
    Mutant(
        "blocks-free-of-charge",
        "a table that is drawn block by block is never written down as spent",
        "privacy/ledger.py",
        "        scale = self._charge(counts, stage, statistic, epsilon)\n        starts",
        "        scale = self.unit.sensitivity / epsilon\n        starts",
        (_LEDGER,),
    ),
    Mutant(
        "seeded-noise-is-private",
        "a fit whose noise anybody can subtract says that it is private",
        "privacy/ledger.py",
        "return type(self._noise) is SystemNoise",
        "return self._noise is not None",
        (_LEDGER, "contract/test_synthesizers.py"),
    ),
)

CROSSING = (
    Mutant(
        "shapes-without-noise",
        "one of four tables of a pass is released as counted",
        "privacy/crossing.py",
        "return noisy.reshape(table.shape)",
        "return (counts.dense(0, counts.size) if table.stage == 'shapes' else noisy).reshape(table.shape)",
        (_REPLAY,),
    ),
    Mutant(
        "empty-entries-left-out",
        "an entry that nobody contributed to stays empty in the release",
        "privacy/crossing.py",
        "return noisy.reshape(table.shape)",
        "return (noisy * (counts.dense(0, counts.size) > 0)).reshape(table.shape)",
        (_REPLAY,),
    ),
    Mutant(
        "everybody-counts",
        "all trajectories of a user count, and the noise is for a few",
        "privacy/crossing.py",
        "task(choice.within(part, first))",
        "task(part)",
        (_USERS, "privacy/test_selection.py"),
    ),
    Mutant(
        "passes-may-differ",
        "a source that yields other trajectories in a later pass is not noticed",
        "privacy/crossing.py",
        "if n_seen != choice.n_trajectories:",
        "if n_seen > choice.n_trajectories:",
        ("privacy/test_selection.py",),
    ),
    Mutant(
        "exact-count",
        "the number of trajectories is told as it is",
        "methods/common/measure.py",
        "return float(max(crossing.noisy(counted)[0], 0)) / WEIGHT if public is None else float(public)",
        "return float(sum(map(len, crossing.passes.source.parts())))",
        (_REPLAY,),
    ),
    Mutant(
        "sizes-from-an-exact-count",
        "a grid is as fine as the exact number of trajectories allows",
        "methods/privtrace/recipe.py",
        "coarse = Grid.uniform(fitting.region, settings.coarse_size(n_trajectories))",
        "coarse = Grid.uniform(fitting.region, settings.coarse_size("
        "float(sum(map(len, fitting.crossing.passes.source.parts())) ** 2)))",
        (_REPLAY,),
    ),
    Mutant(
        "zones-from-raw-data",
        "the zones of a model follow the data and not its noisy density",
        "methods/bridgetrace/recipe.py",
        '"zones": space.zone_of.astype(np.int32)',
        '"zones": (space.zone_of + sum(map(len, fitting.crossing.passes.source.parts()))).astype(np.int32) '
        "% space.n_zones",
        (_REPLAY,),
    ),
    Mutant(
        "one-key-for-all-choices",
        "which trajectories of a user count is drawn by a key that all fits share",
        "privacy/selection.py",
        "key = noise.selection_key()",
        "key = bytes(16)",
        ("privacy/test_selection.py",),
    ),
    Mutant(
        "gap-forgotten",
        "the statement is silent about the rule by which logs were cut",
        "methods/fitting.py",
        "replace(settings.protected, gap_minutes=source.gap_minutes)",
        "settings.protected",
        ("privacy/test_unit.py",),
    ),
    Mutant(
        "declared-private",
        "every release says that it is private",
        "methods/fitting.py",
        "private=ledger.private,",
        "private=True,",
        ("contract/test_synthesizers.py",),
    ),
)

#: Kernels and sizes of points and times.
TIMING = (
    Mutant(
        "one-trip-emitted-twice",
        "a kernel says that a trip is two, and leaves it to the accumulator to stop it",
        "timing/counts.py",
        "    return once(codes[present], present)\n",
        "    found = once(codes[present], present)\n    return found._replace(weights=2 * found.weights)\n",
        (_TIMING,),
    ),
    Mutant(
        "gaps-of-others-counted",
        "the usual gap of a trip is the usual one of all before it in the part",
        "timing/counts.py",
        "    in_bins[:] = 0\n",
        "",
        (_TIMING, _TIMES),
    ),
    Mutant(
        "zones-from-the-exact-count",
        "zones of trips by part of the day follow from how many trajectories there are",
        "timing/measure.py",
        'per_side = zones_per_side(n_trips, errors["parts"])',
        "per_side = 1 + sum(map(len, crossing.passes.source.parts())) % 6",
        (_TIMES,),
    ),
    Mutant(
        "the-last-day-counts",
        "trajectories of the day after a period count, and are charged to no other period",
        "within.py",
        "(days < period.days.stop)",
        "(days <= period.days.stop)",
        ("test_within.py", _TIMES),
    ),
    Mutant(
        "absurd-times-measured",
        "times before 1970, or that do not rise, are measured as times",
        "timing/counts.py",
        "if time < 0 or time <= latest or (first >= 0 and time - first > 1000 * LONGEST_S):",
        "if time == _NONE:",
        (_TIMING,),
    ),
)

MUTANTS = (*CLIPPING, *ACCUMULATOR, *LEDGER, *CROSSING, *TIMING)
