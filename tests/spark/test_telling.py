"""What Spark writes to its logs, and what errors say, quotes nothing of the data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.conftest import needs_spark
from tests.spark.fake import FakeFrame
from tests.spark.test_equality import FrameOf, file_of, walks

import privtrace as pt
from privtrace.frames import telling
from privtrace.frames.spark import SparkSource
from privtrace.testing.data import REGIONS

#: What only rows say.
USER, TRIP, PLACE = "Zebra Quagga", "trip to the quagmire", 7.123456789

BOX = REGIONS["box"]


def secret_rows() -> pa.Table:
    table = walks().select(["x", "y", "t"]).slice(0, 4000)
    x = pa.array([PLACE, *table["x"].to_pylist()[1:]])
    users = pa.array([f"{USER} {place % 90}" for place in range(4000)])
    trips = pa.array([f"{TRIP} {place % 90}" for place in range(4000)])
    return table.set_column(0, "x", x).append_column("user_id", users).append_column("traj_id", trips)


SCRIPT = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
import privtrace as pt
from privtrace.frames.spark import SparkSource
from privtrace.privacy.choosing import Chooser
from privtrace.testing.data import REGIONS
from privtrace.within import Derived
from privtrace.trajectories import each

path, folder = sys.argv[1:]
settings = {
    "spark.ui.enabled": "false", "spark.log.level": "INFO", "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.dir": folder, "spark.sql.shuffle.partitions": "3",
}
spark = SparkSession.builder.master("local[2,2]").config(map=settings).getOrCreate()

class Failing(Derived):
    def parts(self):
        def fail(part):
            raise ValueError(f"{part.users.tolist()} {part.points.tolist()} {part.ids.tolist()}")
        return each(self.source.parts(), fail)

method = pt.PrivTrace(epsilon=1, region=REGIONS["box"], unit="user", max_per_user=2)
method.fit(spark.read.parquet(path)).sample_spark(spark, 10, seed=1).count()
try:
    method.fit(Failing(SparkSource.of(spark.read.parquet(path))))
except Exception as error:
    print("ended with", type(error).__name__, error)
print("key", Chooser(2, bytes(16)))
spark.stop()
"""


@pytest.mark.spark
def test_logs_and_events_quote_no_row(tmp_path: Path) -> None:
    needs_spark()
    path, folder = file_of(secret_rows(), tmp_path), tmp_path / "events"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path), str(folder)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = done.stdout + done.stderr
    events = "".join(found.read_text() for found in folder.rglob("*") if found.is_file())
    assert "ended with RuntimeError" in told and "ValueError in fail, line" in told
    assert "mapInArrow" in events or "MapInArrow" in events
    assert "TaskSetManager" in told  # Spark has logged what it did, and the error
    for text in (told, events):
        for secret in (USER, TRIP, "Zebra", "quagmire", str(PLACE)):
            assert secret not in text, text[max(0, text.index(secret) - 500) :][:1000]
    assert "key Chooser(per_user=2)" in told


def test_an_error_on_a_worker_is_told_in_our_words() -> None:
    def fail(part: pt.Trajectories) -> Any:
        raise ValueError(f"cannot use {part.points.tolist()}")

    source = SparkSource.of(FakeFrame.of(walks()))
    parts = source.parts().each(fail)  # type: ignore[attr-defined]

    class Source:
        crs, n_points, gap_minutes, engine = source.crs, 0, None, "spark"

        def parts(self) -> Any:
            return parts

    with pytest.raises(RuntimeError, match=r"^the Spark DataFrame: ValueError in fail, line \d+\. This is"):
        pt.PrivTrace(epsilon=1, region=BOX).fit(Source())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ModuleNotFoundError: No module named 'privtrace'", "has no privtrace, or another version"),
        ("AttributeError: Can't get attribute '_Partition' on <module", "has no privtrace, or another version"),
        ("is bigger than spark.driver.maxResultSize (1024.0 MiB)", "raise spark.driver.maxResultSize"),
        (
            f"[CAST_INVALID_INPUT] The value '{USER}' cannot be cast",
            r"Spark failed \(PythonException\); its",
        ),
        (
            f"calling o7.getResult.\n: org.apache.spark.SparkException: [DIVIDE_BY_ZERO] Task of {USER} failed",
            r"Spark failed \(DIVIDE_BY_ZERO\); its",
        ),
        (
            f": org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Error while reading file:///{USER}",
            r"Spark failed \(FAILED_READ_FILE.NO_HINT\); a file of it is damaged",
        ),
    ],
)
def test_what_spark_says_is_not_quoted(text: str, words: str) -> None:
    class Failing(FakeFrame):
        def mapInArrow(self, work: Any, schema: Any) -> Any:
            from tests.spark.fake import PythonException

            raise PythonException(text)

    Failing.__module__, Failing.__name__ = FakeFrame.__module__, FakeFrame.__name__
    with pytest.raises(pt.DataError, match=f"^the Spark DataFrame: .*{words}") as raised:
        pt.PrivTrace(epsilon=1, region=BOX).fit(Failing.of(walks()))
    assert USER not in str(raised.value) and raised.value.__cause__ is None


def test_an_interrupt_is_one() -> None:
    """Pyspark ends its jobs, and what these say then comes instead."""

    class Interrupted(FakeFrame):
        def mapInArrow(self, work: Any, schema: Any) -> Any:
            from tests.spark.fake import PythonException

            try:
                raise KeyboardInterrupt
            finally:
                raise PythonException("the job was cancelled")

    Interrupted.__module__, Interrupted.__name__ = FakeFrame.__module__, FakeFrame.__name__
    with pytest.raises(KeyboardInterrupt):
        pt.PrivTrace(epsilon=1, region=BOX).fit(Interrupted.of(walks()))


@pytest.mark.spark
def test_a_query_that_fails_is_named_by_its_condition(spark_frame_of: FrameOf) -> None:
    frame = spark_frame_of(secret_rows()).selectExpr("traj_id", "cast(user_id as bigint) as t", "x", "y")
    with pytest.raises(pt.DataError, match=r"Spark failed \(CAST_INVALID_INPUT\)") as raised:
        pt.PrivTrace(epsilon=1, region=BOX).fit(frame)
    assert "Zebra" not in str(raised.value)


@pytest.mark.spark
def test_workers_of_another_version_are_refused(
    spark_frame_of: FrameOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "version", lambda name: "0.0.9")
    with pytest.raises(pt.DataError, match=r"workers have privtrace .*, and the driver has 0\.0\.9; install"):
        pt.PrivTrace(epsilon=1, region=BOX).fit(spark_frame_of(walks()))
