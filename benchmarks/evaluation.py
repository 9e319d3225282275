"""Print time and memory of an evaluation: the paper's metrics on 200,000 against 200,000 trajectories.

    .venv/bin/python -m benchmarks.evaluation

Both sets have 2 million points, ten a trajectory. Time is in units of one sort of the real x coordinates, with
and without limit and baseline; memory is the peak above what the process held after all imports, over the size
of the two sets' arrays, which it includes.
"""

from __future__ import annotations

import numpy as np

import privtrace as pt
from benchmarks.measuring import best_of, peak_mb, resident_mb
from privtrace.evaluation.reference import Reference

N_TRAJECTORIES, N_POINTS = 200_000, 10
REGION = pt.Region.box(0, 0, 10, 10)


def main() -> None:
    few = pt.Trajectories(np.ones((4, 2)), np.array([0, 2, 4]), crs="planar")
    pt.evaluate(few, few, region=REGION)  # loads the compiler, which is not to be counted
    before = resident_mb()
    real, synthetic = walks(1), walks(2)
    arrays_mb = sum(x.points.nbytes + x.offsets.nbytes for x in (real, synthetic)) / 2**20
    compare(real, synthetic)
    without_mb = peak_mb() - before
    pt.evaluate(real, synthetic, region=REGION, figures=False)
    with_mb = peak_mb() - before
    pt.evaluate(real, synthetic, region=REGION)
    drawn_mb = peak_mb() - before
    x = real.points[:, 0].copy()
    unit = best_of(5, lambda: np.sort(x, kind="stable"))
    seconds = best_of(3, lambda: compare(real, synthetic))
    all_seconds = best_of(3, lambda: pt.evaluate(real, synthetic, region=REGION, figures=False))
    drawn_seconds = best_of(3, lambda: pt.evaluate(real, synthetic, region=REGION))
    print(f"evaluating {N_TRAJECTORIES:,} against {N_TRAJECTORIES:,} trajectories, the paper's metrics")
    print(f"unit (one sort of x)            {unit:8.4f} s")
    print(f"without limit and baseline       {seconds:8.4f} s   {seconds / unit:6.2f} units")
    print(f"with them                       {all_seconds:8.4f} s   {all_seconds / unit:6.2f} units")
    print(f"and with figures for the page   {drawn_seconds:8.4f} s   {drawn_seconds / unit:6.2f} units")
    print(
        f"peak memory without them        {without_mb:8.0f} MB  {without_mb / arrays_mb:6.2f} times the arrays"
    )
    print(f"peak memory with them           {with_mb:8.0f} MB  {with_mb / arrays_mb:6.2f} times the arrays")
    print(f"and with figures                {drawn_mb:8.0f} MB  {drawn_mb / arrays_mb:6.2f} times the arrays")


def compare(real: pt.Trajectories, synthetic: pt.Trajectories) -> dict[str, float]:
    """Evaluate without limit and baseline."""
    reference = Reference.of(real, REGION)
    return reference.values(reference.measure(synthetic))


def walks(seed: int) -> pt.Trajectories:
    """Make random walks, a few at a time, so that making them needs no memory to speak of."""
    rng = np.random.default_rng(seed)
    points = np.empty((N_TRAJECTORIES, N_POINTS, 2))
    for some in np.split(points, 20):
        some[:] = rng.normal(0, 0.3, some.shape)
        some[:, 0] = 10 * rng.beta(2, 4, (len(some), 2))
        np.cumsum(some, axis=1, out=some)
        np.clip(some, 0, 10, out=some)
    offsets = np.arange(N_TRAJECTORIES + 1) * N_POINTS
    return pt.Trajectories(points.reshape(-1, 2), offsets, crs="planar")


if __name__ == "__main__":
    main()
