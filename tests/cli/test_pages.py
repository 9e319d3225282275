"""Pages from the command line: names, refusals before anything is spent, and what programs are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.running import run
from tests.report.reading import walks
from typer.testing import CliRunner

import privtrace as pt
from privtrace.cli.commands import app_for

BOX = "--region=0,0,10,10"
REGION = pt.Region.box(0, 0, 10, 10)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make trips, a model whose fit is in a budget file, and a seeded one."""
    folder, settings = tmp_path_factory.mktemp("pages"), pt.PrivTrace(epsilon=1, region=REGION)
    walks(100).write(folder / "trips.parquet")
    budget_file = pt.BudgetFile(folder / "t.ledger", limit=9)
    settings.fit(walks(100), budget_file=budget_file).save(folder / "a.model")
    settings.fit(walks(100), noise=pt.SeededNoise(1)).save(folder / "seeded.model")
    return folder


@pytest.fixture
def folder(shared: Path, tmp_path: Path) -> Path:
    for file in shared.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_page_about_a_model(folder: Path) -> None:
    done = run("report", "a.model", "--output=a.html", "--title=Trips & <more>", cwd=folder)
    assert "Page written to a.html" in done.stdout and "epsilon = 1 per trajectory" in done.stdout
    assert done.stderr == ""
    expected = pt.load(folder / "a.model").report(title="Trips & <more>")
    assert (folder / "a.html").read_text() == expected.html
    again = run("report", "a.model", "--output=a.html", "--force", "--json", cwd=folder)
    told = json.loads(again.stdout)
    assert told["files"] == {"report": "a.html"} and told["private"] is True
    assert "Synthetic trips by PrivTrace" in (folder / "a.html").read_text()


def test_a_page_about_a_seeded_model_is_warned_of(folder: Path) -> None:
    done = run("report", "seeded.model", "--output=a.html", "--quiet", cwd=folder)
    assert done.stdout == "" and done.stderr.startswith("warning: NOT PRIVATE")
    assert "<title>NOT PRIVATE" in (folder / "a.html").read_text()


def test_synth_writes_both_pages(folder: Path) -> None:
    done = run(
        "synth", "trips.parquet", BOX, "--epsilon=1", "--output=s.parquet", "--model=b.model", "--seed=3",
        "--report=b.html", "--evaluation=compared.html", "--title=Spring", "--json", cwd=folder,
    )  # fmt: skip
    assert json.loads(done.stdout)["files"] == {
        "synthetic": "s.parquet",
        "model": "b.model",
        "report": "b.html",
        "evaluation": "compared-NOT-PRIVATE.html",
    }
    assert not (folder / "compared.html").exists()
    assert (folder / "b.html").read_text() == pt.load(folder / "b.model").report(title="Spring").html
    compared = pt.evaluate(walks(100), pt.read(folder / "s.parquet"), region=REGION, profile="all")
    page = (folder / "compared-NOT-PRIVATE.html").read_text()
    assert page == compared.report(title="Spring").html and "<title>NOT PRIVATE: Spring</title>" in page


def test_evaluate_writes_a_page_under_a_name_that_warns(folder: Path) -> None:
    walks(80, seed=2).write(folder / "made.csv")
    given = ["evaluate", "trips.parquet", "made.csv", BOX, "--output=x.html", "--title=Spring"]
    done = run(*given, cwd=folder)
    assert "Page written to x-NOT-PRIVATE.html. NOT PRIVATE: keep it with the data" in done.stdout
    expected = pt.evaluate(walks(100), pt.read(folder / "made.csv"), region=REGION).report(title="Spring")
    assert (folder / "x-NOT-PRIVATE.html").read_text() == expected.html
    assert not (folder / "x.html").exists()
    told = json.loads(run(*given, "--force", "--json", "--profile=adatrace", cwd=folder).stdout)
    assert told["page"] == "x-NOT-PRIVATE.html" and "query" in told["metrics"]


SYNTH = ["synth", "trips.parquet", BOX, "--epsilon=1", "--output=s.csv", "--budget-file=t.ledger"]
EVALUATE = ["evaluate", "trips.parquet", "a.csv", BOX]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*SYNTH, "--report=here.html"], "here.html: exists; pass --force"),
        ([*SYNTH, "--evaluation=there.html"], "there-NOT-PRIVATE.html: exists; pass --force"),
        ([*SYNTH, "--report=no/a.html"], "no such folder"),
        ([*SYNTH, "--force", "--report=trips.parquet"], "--report and the input are the same file"),
        ([*SYNTH, "--force", "--report=t.ledger"], "--report and --budget-file are the same file"),
        (
            [*SYNTH, "--report=a-NOT-PRIVATE.html", "--evaluation=a.html"],
            "--evaluation and --report are the same file",
        ),
        (["report", "a.model", "--output=here.html"], "here.html: exists; pass --force"),
        (["report", "a.model", "--output=a.model", "--force"], "--output and the model are the same file"),
        (["report", "a.model", "--output=no/a.html"], "no such folder"),
        (["report", "a.model", "--output=a.pdf"], "a.pdf: a page is HTML"),
        ([*SYNTH, "--report=a.pdf"], "a.pdf: a page is HTML"),
        ([*SYNTH, "--evaluation=a.pdf"], "a-NOT-PRIVATE.pdf: a page is HTML"),
        ([*EVALUATE, "--output=a.pdf"], "a-NOT-PRIVATE.pdf: a page is HTML"),
        (["report", "trips.parquet", "--output=a.html"], "not a privtrace model"),
        (["report", "a.model"], "--output"),
        ([*EVALUATE, "--output=there.html"], "there-NOT-PRIVATE.html: exists; pass --force"),
        (
            ["evaluate", "there-NOT-PRIVATE.html", "a.csv", BOX, "--output=there.html", "--force"],
            "--output and REAL are the same file",
        ),
    ],
)
def test_mistakes_cost_nothing(
    folder: Path, arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file changes, and so no epsilon is spent: the budget file is as it was."""
    for name in ("here.html", "there-NOT-PRIVATE.html", "a.csv"):
        (folder / name).write_text("precious")
    before = files(folder)
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(
        app_for(arguments), arguments
    )  # in this process: there are many, and none gets far
    assert done.exit_code == 2 and done.stdout == ""
    assert words in " ".join(done.stderr.split())
    assert files(folder) == before
