"""--threads 1 keeps one core busy: no command makes a thread of ours, and no library more than one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import privtrace as pt

# Run each command as a user does, all in one process, since most of a run is loading. A pool of threads fails.
COMMANDS = """
import json, sys
import pyarrow as pa
from threadpoolctl import threadpool_info
from privtrace import cli
from privtrace.backends import cores, local

class NoPool:
    def __init__(self, *arguments):
        raise SystemExit("a pool of threads was made")

local.ThreadPoolExecutor = NoPool
for arguments in json.loads(sys.argv[1]):
    pa.set_cpu_count(2)
    cores._limit.clear()
    sys.argv = ["privtrace", *arguments, "--threads=1"]
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    pools = {library["num_threads"] for library in threadpool_info()}
    assert (code, pa.cpu_count(), pools) == (0, 1, {1}), (arguments, code, pa.cpu_count(), pools)
"""

AREA = "--region=0,0,10,10"


def test_one_thread_is_one_thread_in_every_command(tmp_path: Path, wanderers: pt.Trajectories) -> None:
    wanderers.write(tmp_path / "t.parquet")
    commands = [
        ["fit", "t.parquet", AREA, "--epsilon=1", "--output=m"],
        ["generate", "m", "--output=s.csv"],
        [
            "synth",
            "t.parquet",
            AREA,
            "--epsilon=1",
            "--output=s.parquet",
            "--report=r.html",
            "--evaluation=e.html",
        ],
        ["report", "m", "--output=p.html"],
        ["export", "m", "--what=od", "--output=od.csv"],
        ["evaluate", "t.parquet", "s.parquet", AREA],
        ["explain", "t.parquet", AREA, "--epsilons=1", "--runs=1"],
        ["convert", "t.parquet", "t.csv"],
        ["check", "t.csv", AREA],
    ]
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(commands)],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
