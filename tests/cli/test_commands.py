"""The command line, run as a user runs it: exit codes, files, words."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.cli.running import COMMAND, run

import privtrace as pt
from privtrace.observer import Silent

BOX = "0,0,10,10"


@pytest.fixture
def folder(tmp_path: Path, wanderers: pt.Trajectories) -> Path:
    wanderers.write(tmp_path / "trips.parquet")
    return tmp_path


def test_fit_inspect_generate(folder: Path) -> None:
    # At epsilon 1, one fit in 600 counts no trips, and warns of it.
    done = run("fit", "trips.parquet", f"--region={BOX}", "--epsilon", "4", "--output", "a.model", cwd=folder)
    assert "epsilon = 4 per trajectory" in done.stdout and "shapes" in done.stdout
    assert done.stderr == ""  # no terminal, no progress
    shown = run("inspect", "a.model", cwd=folder).stdout
    for word in ("Protected unit", "Ledger", "moves given the previous one", "Fitting twice"):
        assert word in shown
    facts = json.loads(run("inspect", "a.model", "--json", cwd=folder).stdout)
    assert facts["private"] is True and facts["epsilon"] == "4"
    stages = ["points", "gaps", "jumps", "count", "density", "visits", "moves", "trips", "shapes"]
    assert [charge["stage"] for charge in facts["ledger"]] == stages
    assert facts["region"] == {"box": [0.0, 0.0, 10.0, 10.0], "crs": "planar"}
    for name in ("one.parquet", "two.parquet"):
        run("generate", "a.model", "--count", "1000", "--seed", "7", "--output", name, cwd=folder)
    assert (folder / "one.parquet").read_bytes() == (folder / "two.parquet").read_bytes()
    table = pq.read_table(folder / "one.parquet")
    assert table.column_names == ["traj_id", "x", "y"] and table.schema.field("traj_id").type == pa.int64()
    ids = table["traj_id"].to_numpy()
    assert ids[0] == 0 and ids[-1] == 999 and np.isin(np.diff(ids), (0, 1)).all()
    points = np.stack([table["x"].to_numpy(), table["y"].to_numpy()])
    assert points.min() >= 0 and points.max() <= 10
    assert table.schema.metadata[b"privtrace.private"] == b"true"


def test_synth_in_one_go(folder: Path) -> None:
    done = run(
        "synth", "trips.parquet", f"--region={BOX}", "--epsilon=1", "--output=s.csv", "--model=m.model",
        "--count=50", "--seed=3", "--json", cwd=folder,
    )  # fmt: skip
    result = json.loads(done.stdout)
    assert result["files"] == {"model": "m.model", "synthetic": "s.csv", "report": None, "evaluation": None}
    table = pa.csv.read_csv(folder / "s.csv")
    assert table.column_names == ["traj_id", "x", "y"] and len(table["traj_id"].unique()) == 50
    run("generate", "m.model", "--count=50", "--seed=3", "--output=again.csv", "--quiet", cwd=folder)
    assert (folder / "again.csv").read_bytes() == (folder / "s.csv").read_bytes()


def test_settings_reach_the_model(folder: Path) -> None:
    run(
        "fit", "trips.parquet", f"--region={BOX}", "--epsilon=0.5", "--output=a.model", "--method=privtrace",
        "--order=1", "--K=3", "--no-second-layer", "--no-trip-estimation", "--theta2=3", "--max-steps=9",
        "--public-count=600", "--grid-share=0.3", "--first-order-share=0.3", "--threads=1", cwd=folder,
    )  # fmt: skip
    facts = json.loads(run("inspect", "a.model", "--json", cwd=folder).stdout)
    wanted = {
        "order": 1,
        "K": 3,
        "second_layer": False,
        "trip_estimation": False,
        "theta2": 3.0,
        "max_steps": 9,
    }
    assert facts["settings"].items() >= wanted.items()
    assert facts["public_count"] == 600 and facts["epsilon"] == "0.5"
    assert [charge["epsilon"] for charge in facts["ledger"]] == ["0.15", "0.35"]


def test_a_noise_seed_repeats_and_stamps(folder: Path) -> None:
    for name, threads in (("a.model", "1"), ("b.model", "2")):
        done = run(
            "fit", "trips.parquet", f"--region={BOX}", "--epsilon=1", "--noise-seed=5", f"--output={name}",
            f"--threads={threads}", "--quiet", cwd=folder,
        )  # fmt: skip
        assert "NOT PRIVATE" in done.stderr and done.stdout == ""
    assert (folder / "a.model").read_bytes() == (folder / "b.model").read_bytes()
    assert "NOT PRIVATE" in run("inspect", "a.model", cwd=folder).stdout
    done = run("generate", "a.model", "--output=s.parquet", cwd=folder)
    assert "NOT PRIVATE" in done.stderr
    metadata = pq.read_schema(folder / "s.parquet").metadata
    assert b"privtrace.private" not in metadata and b"NOT PRIVATE" in metadata[b"privtrace.guarantee"]


EACH = "the promise protects each {} separately, not all {} of a person together"


@pytest.mark.parametrize("command", ["fit", pytest.param("synth", marks=pytest.mark.slow)])
def test_who_is_protected_is_said_where_the_header_has_users(command: str, folder: Path) -> None:
    """A line, from the header alone: also where all users are unknown, and no row counts."""
    header, clock = "traj_id,x,y", "2024-01-01T10:00:00Z"
    (folder / "users.csv").write_text(f"user_id,{header},datetime\n,1,20,20,{clock}\n")
    (folder / "nobody.csv").write_text(f"{header}\n1,2,2\n")

    def said(file: str, *options: str) -> str:
        output = "a.model" if command == "fit" else "a.csv"
        arguments = [command, file, f"--region={BOX}", "--epsilon=1", f"--output={output}", "--force"]
        return run(*arguments, "--method=privtrace", *options, cwd=folder).stdout

    text = said("users.csv")
    assert EACH.format("trajectory", "trajectories") in text and "--unit user --max-per-user K" in text
    assert EACH.format("trip", "trips") in said("users.csv", "--gap=30")
    for others in (("nobody.csv",), ("users.csv", "--unit=user", "--max-per-user=2"), ("users.csv", "--quiet")):
        assert "has users" not in said(*others)
    json.loads(said("users.csv", "--json"))  # and nothing else


def test_the_same_is_said_to_an_observer(wanderers: pt.Trajectories, caplog: pytest.LogCaptureFixture) -> None:
    class Listener(Silent):
        def __init__(self) -> None:
            self.said: list[str] = []

        def say(self, text: str) -> None:
            self.said.append(text)

    with_users, listener = replace(wanderers, users=np.zeros(600, int)), Listener()
    for source in (wanderers, with_users):
        pt.PrivTrace(epsilon=1, region=pt.Region.box(0, 0, 10, 10)).fit(source, observer=listener)
    assert len(listener.said) == 1 and EACH.format("trajectory", "trajectories") in listener.said[0]
    caplog.clear()
    pt.PrivTrace(epsilon=1, region=pt.Region.box(0, 0, 10, 10)).fit(with_users)
    assert not caplog.records  # nobody asked


def test_longitude_and_latitude_stay_so(tmp_path: Path, city: tuple[pt.Trajectories, pt.Region]) -> None:
    trips, region = city
    trips[:500].write(tmp_path / "city.csv")
    arguments = ("synth", "city.csv", f"--region={region}", "--epsilon=1", "--timezone=Europe/Berlin")
    done = run(*arguments, "--no-times", "--output=s.parquet", cwd=tmp_path)
    assert "have no times" in done.stdout or "get no times" in done.stdout
    assert pq.read_schema(tmp_path / "s.parquet").names == ["traj_id", "lon", "lat"]
    done = run(*arguments, "--output=t.parquet", cwd=tmp_path)
    assert "Trips get times" in done.stdout and "no times" not in done.stdout
    schema = pq.read_schema(tmp_path / "t.parquet")
    assert schema.names == ["traj_id", "lon", "lat", "t"]
    assert schema.field("t").type == pa.timestamp("ms", "Europe/Berlin")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "trips.parquet", "--epsilon=1", "--output=a"], "Do not take it from the data"),
        (["fit", "trips.parquet", f"--region={BOX}", "--output=a"], "--epsilon (epsilon) is required"),
        (["fit", "trips.parquet", f"--region={BOX}", "--epsilon=-1", "--output=a"], "positive"),
        (["fit", "trips.parquet", f"--region={BOX}", "--epsilon=1e-9", "--output=a"], "too small"),
        (["fit", "trips.parquet", "--region=1,2,3", "--epsilon=1", "--output=a"], "four numbers"),
        (["fit", "trips.parquet", "--region=0,5,1,600", "--crs=lonlat", "--epsilon=1", "--output=a"], "degree"),
        (["fit", "none.parquet", f"--region={BOX}", "--epsilon=1", "--output=a"], "no such file"),
        (["fit", "other.parquet", f"--region={BOX}", "--epsilon=1", "--output=a"], "traj_id"),
        (["fit", "junk.parquet", f"--region={BOX}", "--epsilon=1", "--output=a"], "junk.parquet"),
        (["fit", "trips.parquet", f"--region={BOX}", "--epsilon=1", "--output=here"], "--force"),
        (["fit", "trips.parquet", f"--region={BOX}", "--epsilon=1", "--output=no/a"], "no such folder"),
        (["synth", "trips.parquet", f"--region={BOX}", "--epsilon=1", "--output=a.txt"], "unknown format"),
        (
            ["synth", "trips.parquet", f"--region={BOX}", "--epsilon=1", "--output=a.csv", "--model=a.csv"],
            "same file",
        ),
        (["generate", "none.model", "--output=s.csv"], "cannot be read"),
        (["generate", "trips.parquet", "--output=s.csv"], "not a privtrace model"),
        (["inspect", "junk.parquet"], "not a privtrace model"),
        (["fit", "trips.parquet", f"--region={BOX}", "--epsilon=1", "--output=a", "--method=magic"], "magic"),
        (["fit", "trips.parquet", f"--region={BOX}", "--epsilon=1", "--output=a", "--threads=0"], "threads"),
    ],
)  # fmt: skip
def test_mistakes_end_with_2_and_words(folder: Path, arguments: list[str], words: str) -> None:
    (folder / "junk.parquet").write_bytes(b"this is no table")
    (folder / "here").write_bytes(b"precious")
    pq.write_table(pa.table({"name": [1], "lon": [2.0], "lat": [3.0]}), folder / "other.parquet")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = run(*arguments, cwd=folder, code=2)
    assert words in " ".join(done.stderr.split())
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_nothing_usable_is_said_loudly_and_still_fits(folder: Path) -> None:
    done = run(
        "fit", "trips.parquet", "--region=500,500,600,600", "--epsilon=1", "--output=a.model", "-q", cwd=folder
    )
    assert "0 of 600 trajectories" in done.stderr and (folder / "a.model").exists()


def test_nothing_asked_for_is_an_empty_table(folder: Path) -> None:
    run(
        "synth",
        "trips.parquet",
        f"--region={BOX}",
        "--epsilon=1",
        "--output=s.parquet",
        "--count=0",
        cwd=folder,
    )
    assert pq.read_table(folder / "s.parquet").num_rows == 0
    assert pq.read_schema(folder / "s.parquet").names == ["traj_id", "x", "y"]


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing_half_written(folder: Path, signal_number: int) -> None:
    run("fit", "trips.parquet", f"--region={BOX}", "--epsilon=1", "--output=a.model", cwd=folder)
    (folder / "s.csv").write_text("precious")
    # Far more than can be written in the meantime.
    arguments = ["generate", "a.model", "--count=500000000", "--output=s.csv", "--force"]
    process = subprocess.Popen([*COMMAND, *arguments], cwd=folder, stderr=subprocess.PIPE, text=True)
    while not any(path.name.startswith(".privtrace") for path in folder.iterdir()):
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(signal_number)
    try:
        errors = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    assert process.returncode == 130 and "interrupted" in errors and "Traceback" not in errors
    assert {path.name for path in folder.iterdir()} == {"trips.parquet", "a.model", "s.csv"}
    assert (folder / "s.csv").read_text() == "precious"


def test_progress_is_shown_on_a_terminal(folder: Path) -> None:
    import pty

    master, slave = pty.openpty()
    arguments = ["fit", "trips.parquet", f"--region={BOX}", "--epsilon=1", "--output=a.model"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen([*COMMAND, *arguments], cwd=folder, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 4096):
            shown += chunk
    except OSError:  # the terminal closed with the process
        pass
    assert process.wait() == 0
    for words in (
        b"Measuring points and gaps",
        b"Measuring where",
        b"Fitting walks to what was measured",
        b"curator only, NOT PRIVATE",
    ):
        assert words in shown


def test_help_and_version(tmp_path: Path) -> None:
    assert "synth" in run("--help", cwd=tmp_path).stdout
    assert run("--version", cwd=tmp_path).stdout.startswith("privtrace 0")


@pytest.mark.slow  # the examples of help run it too
def test_the_demo(tmp_path: Path) -> None:
    done = run("demo", "--output", "made", cwd=tmp_path)
    made = tmp_path / "made"
    pages = {name: made / name for name in ("release.html", "evaluation-NOT-PRIVATE.html")}
    for name, page in pages.items():
        assert name in done.stdout and page.stat().st_size < 6_000_000
        assert ("<title>NOT PRIVATE" in page.read_text()) == ("NOT-PRIVATE" in name)
    model = pt.load(made / "city.model")
    assert model.release.private
    assert pages["release.html"].read_text() == model.report(title="Trips in an invented city").html
    run("demo", "--output", "made", cwd=tmp_path, code=2)
    (tmp_path / "file").write_text("no folder")
    assert "file" in run("demo", "--output", "file/made", cwd=tmp_path, code=2).stderr
