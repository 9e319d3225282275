"""Every method on the command line: the same verbs, the same files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.cli.running import run

import privtrace as pt
from privtrace.methods import registry

BOX = "--region=0,0,10,10"
STAGES = {
    "bridgetrace": ["count", "density", "visits", "moves", "trips", "shapes"],
    "privtrace": ["count", "density", "first order", "second order"],
    "adatrace": ["count", "density", "fine density", "transitions", "trips", "lengths"],
    "dpt": ["count", "systems", "starts", "level 1", "level 2", "level 3"],
}
#: What is measured first of points, and of times where a table has them.
FIRST = {"bridgetrace": ["points", "gaps", "jumps"]}
CLOCK = ["departures", "ticks", "stretches", "paces", "pauses", "speeds", "tempos", "parts"]


@pytest.fixture
def folder(tmp_path: Path, wanderers: pt.Trajectories) -> Path:
    wanderers.write(tmp_path / "trips.parquet")
    return tmp_path


@pytest.mark.parametrize("method", STAGES)
def test_plan_fit_generate_and_explain(method: str, folder: Path) -> None:
    named = (BOX, "--epsilon=1", f"--method={method}")
    stages = FIRST.get(method, []) + STAGES[method]
    for option in ("--no-times", "--times"):
        planned = json.loads(run("plan", *named, option, "--count=600", "--json", cwd=folder).stdout)
        first = FIRST.get(method, []) if option == "--no-times" else ["points", "gaps", "jumps", *CLOCK]
        assert planned["method"] == method
        assert [stage["stage"] for stage in planned["stages"]] == first + STAGES[method]
    fitted = run("fit", "trips.parquet", *named, "--output=a.model", "--json", "--quiet", cwd=folder)
    facts = json.loads(fitted.stdout)
    assert facts["method"] == method and facts["private"] is True
    assert [charge["stage"] for charge in facts["ledger"]] == stages
    assert f"{registry.find(method).label}, privtrace version" in run("inspect", "a.model", cwd=folder).stdout
    run("generate", "a.model", "--count=300", "--seed=7", "--output=s.parquet", cwd=folder)
    table = pq.read_table(folder / "s.parquet")
    assert table.schema.metadata[b"privtrace.method"] == method.encode()
    assert len(np.unique(table["traj_id"])) == 300
    explained = run(
        "explain", "trips.parquet", BOX, f"--method={method}", "--epsilons=1", "--runs=1", cwd=folder
    )
    assert "NOT PRIVATE" in explained.stdout and "+structure" in explained.stdout


@pytest.mark.parametrize(
    ("method", "setting"),
    [("bridgetrace", "--rounds=1"), ("privtrace", "--order=1"), ("adatrace", "--N=5"), ("dpt", "--height=2")],
)
def test_synth_with_a_setting_of_the_method(method: str, setting: str, folder: Path) -> None:
    arguments = (
        BOX,
        "--epsilon=1",
        f"--method={method}",
        setting,
        "--output=s.csv",
        "--model=m.model",
        "--json",
    )
    settings = json.loads(run("synth", "trips.parquet", *arguments, cwd=folder).stdout)["settings"]
    name, _, value = setting.removeprefix("--").partition("=")
    assert settings[name] == int(value) == pt.load(folder / "m.model").release.settings[name]


def test_a_setting_of_another_method_ends_with_2(folder: Path) -> None:
    done = run(
        "fit",
        "trips.parquet",
        BOX,
        "--epsilon=1",
        "--output=a.model",
        "--method=dpt",
        "--K=5",
        cwd=folder,
        code=2,
    )
    assert "--K is a setting of bridgetrace and privtrace, and the method is dpt" in done.stderr
    assert not (folder / "a.model").exists()


def test_a_budget_file_tells_the_methods_apart(folder: Path) -> None:
    for number, method in enumerate(STAGES):
        limit = ("--limit=4",) if number == 0 else ()
        run(
            "fit", "trips.parquet", BOX, "--epsilon=1", f"--method={method}", f"--output={method}.model",
            "--budget-file=a.ledger", *limit, cwd=folder,
        )  # fmt: skip
    fits = json.loads(run("ledger", "a.ledger", "--json", cwd=folder).stdout)["fits"]
    assert [fit["method"] for fit in fits] == [*STAGES]
