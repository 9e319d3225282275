"""Plans, budget files and users, run as a user runs them."""

from __future__ import annotations

import json
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import typer
from tests.cli.running import run

import privtrace as pt
from privtrace.cli.screen import guarded
from privtrace.cli.spending import ledger
from privtrace.privacy.unit import Unit

BOX = "--region=0,0,10,10"


@pytest.fixture
def folder(tmp_path: Path, wanderers: pt.Trajectories) -> Path:
    users = np.arange(600) // 20
    pt.Trajectories(wanderers.points, wanderers.offsets, users=users, crs="planar").write(tmp_path / "t.csv")
    return tmp_path


def test_a_plan_touches_no_data_and_speaks_plainly(tmp_path: Path) -> None:
    arguments = ["--region=-8.70,41.10,-8.54,41.22", "--epsilon=1", "--count=25000", "--max-states=100"]
    for options, off in ((["--no-sampling"], 18), (["--no-times"], 19), ([], 22)):
        shown = run("plan", *arguments, *options, cwd=tmp_path)
        assert f"a trip from zone to zone is off by about ±{off} trips" in shown.stdout
        assert ("an hour of the week is off by about ±40 trips" in shown.stdout) == (not options)
    assert "0.5" in shown.stdout and "MB" in shown.stdout and "No data was read" in shown.stdout
    assert "--max-states (max_states) limits the model to 100 states" in shown.stderr
    assert not list(tmp_path.iterdir())


def test_a_plan_warns_of_what_a_fit_would_refuse(tmp_path: Path) -> None:
    arguments = ["--epsilon=1", "--count=1000"]
    assert "pole" in run("plan", "--region=10,87,20,89", *arguments, cwd=tmp_path).stderr
    assert "pole" not in run("plan", "--region=0,0,2000,870", *arguments, cwd=tmp_path).stderr


def test_a_plan_for_users_says_what_the_cap_costs(tmp_path: Path) -> None:
    arguments = ["--region=0,0,1,1", "--epsilon=1", "--count=25000", "--unit=user", "--max-per-user=5"]
    shown = run("plan", *arguments, cwd=tmp_path)
    assert "multiplies the noise by 5" in shown.stderr and "per user" in shown.stdout
    facts = json.loads(run("plan", *arguments, "--json", cwd=tmp_path).stdout)
    assert facts["unit"] == {"kind": "user", "contributions": 5}
    (density,) = (stage for stage in facts["stages"] if stage["stage"] == "density")
    assert density["noise_scale"] == pytest.approx(100.0 / 0.825)  # points and times take 0.175 of epsilon
    facts = json.loads(run("plan", *arguments, "--no-sampling", "--json", cwd=tmp_path).stdout)
    assert facts["stages"][1] | {"stage": "density", "noise_scale": 100.0} == facts["stages"][1]
    assert [other["epsilon"] for other in facts["instead"]] == ["0.5", "2"]


def test_users_are_protected_and_charged(folder: Path) -> None:
    arguments = [
        "fit", "t.csv", BOX, "--epsilon=0.5", "--unit=user", "--max-per-user=4", "--budget-file=t.ledger",
    ]  # fmt: skip
    assert "--limit" in run(*arguments, "--output=a.model", cwd=folder, code=2).stderr
    assert not (folder / "t.ledger").exists()
    done = run(*arguments, "--limit=1", "--output=a.model", cwd=folder)
    assert "epsilon = 0.5 per user" in done.stdout
    run(*arguments, "--output=b.model", cwd=folder)
    refused = run(*arguments, "--output=c.model", cwd=folder, code=2)
    assert "1 of 1 is spent" in refused.stderr and not (folder / "c.model").exists()
    shown = run("ledger", "t.ledger", cwd=folder).stdout
    assert "Spent 1 of 1 in 2 fits; 0 is left" in shown and "a.model" in shown
    facts = json.loads(run("ledger", "t.ledger", "--json", cwd=folder).stdout)
    assert (facts["spent"], facts["left"], len(facts["fits"])) == ("1", "0", 2)
    release = pt.load(folder / "a.model").release
    assert release.unit.contributions == 4
    assert "all trajectories of one user together" in dict(release.statement())["Protected unit"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--unit=user"], "--max-per-user"),
        (["--max-per-user=3"], "--unit user"),
        (["--unit=user", "--max-per-user=0"], "--max-per-user"),
        (["--limit=3"], "--budget-file"),
        (["--budget-file=t.csv"], "not a budget file"),
        (["--budget-file=a.ledger", "--limit=x"], "limit"),
        (["--budget-file=a.ledger", "--limit=9", "--noise-seed=1"], "NOT PRIVATE"),
        (["--max-states=3"], "--max-states"),
        (["--method=privtrace", "--K=3", "--c=4"], "--K (K) and --c (c)"),
        (["--K=50", "--max-states=5000"], "at least 10,000 states"),
        (["--spacing=0"], "--spacing (spacing) must be a positive"),
        (["--order=1"], "use --method privtrace"),
        (["--visits-share=0.9"], "add up"),
    ],
)
def test_mistakes_end_with_2_and_words(folder: Path, arguments: list[str], words: str) -> None:
    done = run("fit", "t.csv", BOX, "--epsilon=1", "--output=a.model", *arguments, cwd=folder, code=2)
    assert words in " ".join(done.stderr.split())
    assert [path.name for path in folder.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "t.csv", BOX, "--output=t.csv"], "--output and the input"),
        (["fit", "t.csv", "--region=r.geojson", "--output=./r.geojson"], "--output and --region"),
        (["fit", "t.csv", BOX, "--output=l", "--budget-file=l", "--limit=1"], "--output and --budget-file"),
        (["synth", "t.csv", BOX, "--output=s.csv", "--model=s.csv"], "--model and --output"),
        (["synth", "t.csv", BOX, "--output=s.csv", "--model=t.csv"], "--model and the input"),
    ],
)
def test_no_output_takes_the_place_of_another_file(folder: Path, arguments: list[str], words: str) -> None:
    """Not even with --force, and before anything is spent."""
    (folder / "r.geojson").write_text('{"type": "Polygon", "coordinates": [[[0, 0], [9, 0], [0, 9], [0, 0]]]}')
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = run(*arguments, "--epsilon=1", "--force", cwd=folder, code=2)
    assert f"{words} are the same file" in done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_model_is_not_overwritten_by_what_it_makes(folder: Path) -> None:
    run("fit", "t.csv", BOX, "--epsilon=1", "--output=m.csv", cwd=folder)
    done = run("generate", "m.csv", "--output=m.csv", "--force", cwd=folder, code=2)
    assert "--output and the model are the same file" in done.stderr


def test_a_count_beyond_any_disk_is_refused(folder: Path) -> None:
    run("fit", "t.csv", BOX, "--epsilon=1", "--output=a.model", cwd=folder)
    done = run("generate", "a.model", "--output=s.csv", f"--count={10**22}", cwd=folder, code=2)
    assert "from 0 to 549755813888" in done.stderr and not (folder / "s.csv").exists()


def test_users_need_a_column_of_users(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("tid,x,y\n1,2,3\n")
    arguments = ["--epsilon=1", "--unit=user", "--max-per-user=2", "--output=a.model"]
    assert "user" in run("fit", "t.csv", BOX, *arguments, cwd=tmp_path, code=2).stderr


def test_a_ledger_that_is_not_there(tmp_path: Path) -> None:
    assert "no budget file" in run("ledger", "x.ledger", cwd=tmp_path, code=2).stderr


def test_a_ledger_tells_what_became_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.ledger"

    def shown(content: bytes, code: int = 0) -> str:
        path.write_bytes(content)
        with pytest.raises(typer.Exit) if code else nullcontext():
            guarded(ledger)(path)
        return " ".join("".join(capsys.readouterr()).split())

    contents = []
    for _ in range(2):
        pt.BudgetFile(path, limit=4).charge(Fraction(1), Unit(), "dpt")
        contents.append(path.read_bytes())
    one, two = contents
    assert shown(two).endswith("Spent 2 of 4 in 2 fits; 2 is left")
    assert "its end is missing" in shown(two.rpartition(b'{"when"')[0], code=2)
    assert "is empty" in shown(b"", code=2)
    assert "that fit never started" in shown(two + b'{"when": "20')
    unfinished = shown(one[: one.index(b"\n")] + two[two.index(b"\n") :])
    assert "Spent 2 of 4" in unfinished and "1 fit at the end stopped right after being charged" in unfinished
