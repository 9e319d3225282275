"""Processes: two find what one does; they may die, talk and be killed; a script needs no guard."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.examples.lines import FOLDER, lines
from tests.study import methods as given
from tests.study import setups

import privtrace as pt
from privtrace.errors import PrivTraceError
from privtrace.methods import registry
from privtrace.study import comparing, workers
from privtrace.study.study import Study


def compare(trips: pt.Trajectories, area: pt.Region, **settings: Any) -> Study:
    """Compare methods of all kinds, one of which this process alone has registered."""
    methods = {"lines": lines.StraightLines, "privtrace": "privtrace", "mine": given.Factory()}
    return setups.compare(trips, area, methods=methods, epsilons=[0.5, 1], files={"f": trips[::2]}, **settings)


def test_two_processes_find_what_one_does(
    trips: pt.Trajectories, area: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what this one does, without any other."""
    monkeypatch.syspath_prepend(FOLDER)  # where another process finds the class
    pt.register(lines.METHOD)
    try:
        side_by_side = compare(trips, area, workers=2, maps=True)
        monkeypatch.setattr(comparing, "Workers", setups.Here)
        setups.Here.ran = []
        alone = compare(trips, area, workers=1, maps=True)
    finally:
        del registry._registered["straight-lines"]
    assert side_by_side.to_dict() == alone.to_dict() and len(setups.Here.ran) == 3 + 3 * 2 * 2 + 1
    assert all(np.array_equal(side_by_side.heats[label], alone.heats[label]) for label in alone.heats)
    assert {entry.label: entry.what for entry in alone.entries} == {
        "lines": "StraightLines",
        "privtrace": "PrivTrace",
        "mine": "tests.study.methods.Factory",
        "f": "finished files",
    }


def test_a_method_may_end_its_process_or_talk(
    trips: pt.Trajectories, area: pt.Region, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that ends the process does not end those of others; what is printed does not get between answers."""
    path = tmp_path / "results.parquet"
    started: list[subprocess.Popen[bytes]] = []
    start = workers.Workers._started

    def noting(self: workers.Workers) -> subprocess.Popen[bytes]:
        started.append(start(self))
        return started[-1]

    monkeypatch.setattr(workers.Workers, "_started", noting)
    with pytest.raises(PrivTraceError) as ended:
        setups.compare(trips, area, given.Ending, given.Talking, given.Leaving, results=path)
    line = given.Leaving.fit.__code__.co_firstlineno + 1
    assert str(ended.value) == (
        "Ending failed: at epsilon 1, run 0: its process ended before it answered (exit code 7); often memory "
        "is too small: use fewer with --workers (workers=...); Leaving failed: at epsilon 1, run 0: "
        f"SystemExit: no licence (methods.py, line {line}). The results of all others are kept in {path}"
    )
    assert len(started) == 2 and all(process.returncode is not None for process in started)
    study = setups.compare(trips, area, given.Talking, results=path)
    assert study.mean("Talking", 1, "length").runs == 2 and len(started) == 2  # nothing was left to do


def test_costs_are_measured(trips: pt.Trajectories, area: pt.Region) -> None:
    study = setups.compare(trips, area, given.shifted, costs=True)
    cost = study.costs["shifted"]
    assert 0 < cost.fit_s < 60 and 0 < cost.sample_s < 60 and not cost.memory_mb < 0


#: What somebody may write: a class and a call, without a guard. It kills itself after some results.
SCRIPT = """
import os, signal
import privtrace as pt
from privtrace.study import store

store.EVERY_S, store.TIMES_WRITING = 0, 0
AT, add = int(os.environ["AT"]), store.Store.add

def adding(kept, key, *found):
    add(kept, key, *found)
    if sum(one.kind == "score" for one in kept._found) == AT:
        os.kill(os.getpid(), signal.SIGKILL)

store.Store.add = adding

class Mine:
    def __init__(self, epsilon, region):
        self.epsilon = epsilon

    def fit(self, trips, seed):
        with open("fits-" + os.environ["AT"], "a") as file:
            file.write(f"{self.epsilon} {seed}\\n")
        return trips[seed % 7 :]

study = pt.compare(
    "trips.parquet", region=pt.Region.read("area.geojson"), methods=[Mine], epsilons="0.5,1", runs=3,
    results="results.parquet", workers=1, maps=False, costs=False,
)
print(study.mean("Mine", 1, "density").runs, study.entries[0].what)
"""


def test_a_script_that_is_killed_goes_on_where_it_was(
    trips: pt.Trajectories, area: pt.Region, tmp_path: Path
) -> None:
    """Without a guard, and with a class of its own; results that are there are not made again."""
    trips.write(tmp_path / "trips.parquet")
    corners = [
        [area.west, area.south],
        [area.east, area.south],
        [area.east, area.north],
        [area.west, area.north],
    ]
    ring = [*corners, corners[0]]
    (tmp_path / "area.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))

    def run(at: int) -> subprocess.CompletedProcess[str]:
        (tmp_path / "script.py").write_text("\n" * at + SCRIPT)  # it may be edited elsewhere
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "AT": str(at)}
        command = [sys.executable, "script.py"]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )

    killed = run(3)
    assert killed.returncode == -9 and (killed.stdout, killed.stderr) == ("", "")
    partly = Study.read(tmp_path / "results.parquet")
    assert [len(partly.values("Mine", epsilon, "length")) for epsilon in ("0.5", "1")] == [2, 1]
    assert "nan" not in repr(partly)
    done = run(99)
    assert done.returncode == 0 and done.stdout.split() == ["3", "__main__.Mine"], done.stderr
    made, again = (setups.fits(tmp_path / f"fits-{at}") for at in (3, 99))
    assert len(again) == 3 and len({*made[:3], *again}) == 6
    whole = Study.read(tmp_path / "results.parquet")
    assert whole.values("Mine", 1, "length")[0] == partly.values("Mine", 1, "length")[0]


def test_a_process_that_cannot_begin_says_why(
    trips: pt.Trajectories, area: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_path", lambda: ["/nowhere"])
    with pytest.raises(
        PrivTraceError, match="a process for the comparison could not begin: ModuleNotFoundError"
    ):
        setups.compare(trips, area, partial(given.Shifted, log=None))
