"""The command line, the example, and Spark Connect, as users run them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.spark.conftest import needs_spark
from tests.spark.test_equality import file_of, walks

from privtrace.cli import engine

ROOT = Path(__file__).parents[2]


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    told = {**os.environ, "PYTHONPATH": "", **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=500, env=told, check=False)


def privtrace(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return run("-m", "privtrace", *arguments, **environment)


FIT = ["--region=0,0,10,10", "--epsilon=8", "--noise-seed=3", "--unit=user", "--max-per-user=2"]


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    for some in words:
        assert some in done.stderr, done.stderr


@pytest.mark.spark
@pytest.mark.parametrize("more", [[], ["--persist", "--method=dpt"]], ids=["plain", "persisted"])
def test_a_folder_is_fitted_on_spark(more: list[str], tmp_path: Path) -> None:
    needs_spark()
    path = file_of(walks(), tmp_path)
    (tmp_path / "lake").mkdir()
    for number in range(3):
        file_of(walks().slice(number * 7000, 7000 if number < 2 else None), tmp_path / "lake").rename(
            tmp_path / "lake" / f"{number}.parquet"
        )
    there, here = tmp_path / "there.model", tmp_path / "here.model"
    local = [option for option in more if option != "--persist"]
    on_spark = ["--engine=spark", "--master=local[2]", "-o", there]
    few = "--conf spark.sql.shuffle.partitions=8 pyspark-shell"
    done = privtrace("fit", tmp_path / "lake", *FIT, *more, *on_spark, PYSPARK_SUBMIT_ARGS=few)
    assert done.returncode == 0, done.stderr
    assert "Model written to" in done.stdout
    assert not {"WARN", "ERROR", "org.apache", "[Stage"} & {*done.stderr.replace(":", " ").split()}, done.stderr
    assert privtrace("fit", path, *FIT, *local, "-o", here).returncode == 0
    assert there.read_bytes() == here.read_bytes()


@pytest.mark.spark
def test_what_spark_cannot_read_is_refused(tmp_path: Path) -> None:
    needs_spark()
    fit = [
        "fit",
        tmp_path / "nothing here",
        *FIT,
        "--engine=spark",
        "--master=local[1]",
        "-o",
        tmp_path / "a.model",
    ]
    refused(privtrace(*fit), "nothing here: Spark failed (PATH_NOT_FOUND); check the path")
    said = "Spark did not start (Master must either be yarn or start with spark, k8s, or local); check --master"
    refused(privtrace(*fit[:-4], "--engine=spark", "--master=nowhere", *fit[-2:]), said)
    damaged = file_of(walks(), tmp_path)
    damaged.write_bytes(damaged.read_bytes()[:9000] + b"PAR1")
    fit[1] = damaged
    done = privtrace(*fit)
    refused(done, "trips.parquet: Spark failed (")
    assert "org.apache" not in done.stderr
    assert not (tmp_path / "a.model").exists()


def marked(mark: str) -> list[str]:
    """List the processes that have a mark among their variables."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().decode())
    return found


@pytest.mark.spark
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "kill"])
@pytest.mark.parametrize("moment", ["as Java starts", "as Spark starts", "in a pass"])
def test_an_interrupt_ends_it_all(moment: str, number: signal.Signals, tmp_path: Path) -> None:
    """With one sentence, at once, and nothing goes on: neither Java nor its workers."""
    needs_spark()
    path, mark = file_of(walks(), tmp_path), f"test-{uuid.uuid4().hex}"
    command = [sys.executable, "-m", "privtrace", "fit", str(path), "--region=0,0,10,10", "--epsilon=8"]
    command += ["--engine=spark", "--master=local[2]", "-o", str(tmp_path / "a.model")]
    environment = {**os.environ, "PYTHONPATH": "", "PRIVTRACE_TEST": mark}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        assert process.stdout is not None and process.stderr is not None
        while len(marked(mark)) < 2:  # Java, or the shell that will be it
            time.sleep(0.01)
        if moment == "as Spark starts":
            while not any("PythonGatewayServer" in line or "spark-shell" in line for line in marked(mark)):
                time.sleep(0.01)
            time.sleep(1.5)
        if moment == "in a pass":
            assert process.stdout.readline().startswith("Trips get times")  # before the first
            time.sleep(1.5)
        process.send_signal(number)
        told = process.stderr.read()
        assert process.wait(60) == 130, told
    lines = [line for line in told.splitlines() if line.startswith("error:")]
    assert len(lines) == 1 and "interrupted; no incomplete file is left behind; no noise was drawn" in lines[0]
    assert "Traceback" not in told and "Exception" not in told, told
    time.sleep(0.5)
    assert not marked(mark) and not (tmp_path / "a.model").exists()


@pytest.mark.spark
def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    done = privtrace(
        "fit", "x", *FIT, "--engine=spark", "--master=sc://localhost:1", "-o", tmp_path / "a.model"
    )
    refused(done, "--engine spark: Spark did not start (", "; check --master")
    assert "Warning" not in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.spark
def test_without_java_it_says_so(tmp_path: Path) -> None:
    needs_spark()
    bare = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    command = [
        sys.executable,
        "-m",
        "privtrace",
        "fit",
        "x",
        *FIT,
        "--engine=spark",
        "-o",
        str(tmp_path / "a.model"),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, env=bare | {"PATH": str(tmp_path)}, check=False
    )
    refused(done, "--engine spark needs Java 17 or newer: install it")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--master=local[2]"], "--master only applies to --engine spark"),
        (["--persist"], "--persist only applies to --engine spark"),
        (["--engine=spark", "--strict"], "--strict does not go with it"),
        (["--engine=spark", "--format=csv"], "--format does not go with it"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_options_that_do_not_fit_are_refused(options: list[str], words: str, tmp_path: Path) -> None:
    refused(privtrace("fit", "trips.parquet", *FIT, *options, "-o", tmp_path / "a.model"), words)


def test_without_spark_it_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "pyspark.py").write_text("raise ImportError\n")
    fit = ["fit", "trips.parquet", *FIT, "--engine=spark", "-o", tmp_path / "a.model"]
    refused(privtrace(*fit, PYTHONPATH=str(tmp_path)), "--engine spark needs the spark extra", "pip install")


@pytest.mark.spark
def test_the_example_runs(tmp_path: Path) -> None:
    needs_spark()
    done = run(ROOT / "examples" / "spark.py", tmp_path, PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "the same model: True" in done.stdout and "20,000 trips" in done.stdout
    assert (tmp_path / "city.model").exists()


class Java:
    """Stand in for the process of Java."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def terminate(self) -> None:
        self.done.append("terminated")

    def wait(self, timeout: float) -> None:
        self.done.append("waited")
        if "never ends" in self.done:
            raise subprocess.TimeoutExpired("java", timeout)

    def kill(self) -> None:
        self.done.append("killed")


def test_an_interrupt_waits_for_java_and_then_ends_it() -> None:
    """But the second does not wait, for Java may take long to start."""
    before, java = signal.getsignal(signal.SIGINT), Java()
    with pytest.raises(KeyboardInterrupt), engine._Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        assert interrupts.came and java.done == []
        interrupts.end(java)  # type: ignore[arg-type]
    assert java.done == ["terminated", "waited"]
    with pytest.raises(KeyboardInterrupt), engine._Interrupts():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    stubborn = Java()
    stubborn.done.append("never ends")
    with pytest.raises(KeyboardInterrupt), engine._Interrupts() as interrupts:
        interrupts.end(stubborn)  # type: ignore[arg-type]
        signal.raise_signal(signal.SIGTERM)
    assert stubborn.done[1:] == ["terminated", "waited", "killed"]
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_that_a_shell_ignores_stays_ignored() -> None:
    before, java = signal.signal(signal.SIGINT, signal.SIG_IGN), Java()
    try:
        with engine._Interrupts() as interrupts:
            interrupts.end(java)  # type: ignore[arg-type]
            signal.raise_signal(signal.SIGINT)
        assert not interrupts.came and java.done == []
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


CONNECT = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
import privtrace as pt
from privtrace.models import to_bytes
from privtrace.testing.data import REGIONS

spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert "connect" in type(spark).__module__, type(spark)
frame = spark.read.parquet(sys.argv[1])
for method in (pt.BridgeTrace, pt.DPT):
    settings = method(epsilon=8, region=REGIONS["polygon"], times=True, unit="user", max_per_user=2)
    here = settings.fit(sys.argv[1], noise=pt.SeededNoise(1))
    there = settings.fit(pt.SparkSource.of(frame, partitions=3), noise=pt.SeededNoise(1))
    assert to_bytes(there) == to_bytes(here)
    made = there.sample_spark(spark, 5000, seed=3).toArrow()
    assert made.num_rows == here.sample(5000, seed=3).n_points
    parts = pt.Trajectories.end_to_end([*pt.read(frame).parts()])
    assert len(parts) == 600
try:
    pt.read(spark.read.parquet(sys.argv[1] + " or another"))
except pt.DataError as error:
    assert "Spark failed (PATH_NOT_FOUND); check the path" in str(error), error
try:
    zebras = "cast(concat('Zebra', user_id) as double) as x"
    settings.fit(frame.selectExpr("traj_id", "user_id", "t", zebras, "y"))
except pt.DataError as error:
    assert "Zebra" not in str(error) and "CAST_INVALID_INPUT" in str(error), error
    print("all the same")
spark.stop()
"""


@pytest.mark.spark
def test_spark_connect_gives_the_same(tmp_path: Path) -> None:
    """As on Databricks: there is no context, and all goes through a client."""
    needs_spark()
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    path = file_of(walks(), tmp_path)
    done = run("-c", CONNECT, path, PYSPARK_PYTHON=sys.executable)
    assert "all the same" in done.stdout, done.stderr[-3000:]
