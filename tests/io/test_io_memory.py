"""Reading holds a few batches, however long the file is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import privtrace as pt

READ = """
import sys, pyarrow as pa, privtrace as pt
for part in pt.read(sys.argv[1]).parts():
    pass
print(pa.default_memory_pool().max_memory())
"""


def repeated(n_times: int) -> pt.Source:
    """Give 250,000 points in 1,000 trajectories, again and again."""
    part = pt.Trajectories(np.random.default_rng(0).random((250_000, 2)), np.arange(0, 250_001, 250))

    class Repeated:
        crs = part.crs
        n_points = n_times * part.n_points

        def parts(self):
            return iter([part] * n_times)

    return Repeated()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv.gz"])
def test_a_file_five_times_as_long_takes_no_more_memory(suffix: str, tmp_path: Path) -> None:
    peaks = []
    for n_times in (8, 40):  # the first one fills all that is read ahead
        pt.write(repeated(n_times), tmp_path / f"{n_times}.{suffix}")
        command = [sys.executable, "-c", READ, str(tmp_path / f"{n_times}.{suffix}")]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert peaks[1] < 1.5 * max(peaks[0], 1 << 24)  # all rows would take fifteen times as much
