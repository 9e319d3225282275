"""Deliberate breakages of the code, each of which a test must notice. `python -m mutants` runs them all.

    mutant     Mutant: one text of one file replaced by another, and the test files that must fail
    tree       Tree: a copy of the project that is broken and mended
    crossing   what would let something private through the crossing
    privacy    what else would void the promise
    reading    what would void it at the doors: files, times, units, accounts
    spark      what would void it, or change counts, on a cluster
    quality    what would keep it, and make worse synthetic data
    comparing  what would keep it, and say wrong things about methods

To add one, add a `Mutant` to the file that it belongs in: a few lines.
"""

from __future__ import annotations

from mutants import comparing, crossing, privacy, quality, reading, spark
from mutants.mutant import Mutant

ALL: tuple[Mutant, ...] = (
    *crossing.MUTANTS,
    *privacy.MUTANTS,
    *reading.MUTANTS,
    *spark.MUTANTS,
    *quality.MUTANTS,
    *comparing.MUTANTS,
)

__all__ = ["ALL", "Mutant"]
