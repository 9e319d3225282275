"""Say what trajectories contribute to tables: the form in which kernels hand it to the accumulator.

A kernel is a pure function of a part: what it emits for a trajectory depends on that trajectory and on public
or released things, never on another trajectory or on totals. Whatever it emits, the accumulator bounds it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.privacy.unit import WEIGHT
from privtrace.trajectories import Integers


class Contributions(NamedTuple):
    """Hold what each trajectory of a part adds to a flat table. Private."""

    codes: npt.NDArray[Any]  # (n,), whole numbers: entries of the table
    weights: npt.NDArray[Any]  # (n,), whole numbers: what is added there, in weights of 2**-20 trajectories
    offsets: Integers  # (n_trajectories + 1,): trajectory t adds to codes[offsets[t]:offsets[t + 1]]


def evenly(codes: npt.NDArray[Any], offsets: Integers, n_more: int = 0) -> Contributions:
    """Weigh ragged entries floor(2**20 / (entries + n_more)) each; n_more entries are not told."""
    n_entries = np.diff(offsets)
    weights = (WEIGHT // np.maximum(n_entries + n_more, 1)).astype(np.int32)
    return Contributions(codes, np.repeat(weights, n_entries), offsets)


def once(codes: npt.NDArray[Any], present: npt.NDArray[np.bool_]) -> Contributions:
    """Weigh one entry with 2**20 for each trajectory that has one; codes are those of these alone."""
    return Contributions(codes, np.full(len(codes), WEIGHT), np.concatenate([[0], np.cumsum(present)]))
