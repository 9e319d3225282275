"""Give each test a Spark: a stand-in in this process, and with `make test-spark` the real one."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.fake import FakeFrame

#: Two executors with a core each; else threads that try a failed task again, as plain `local` never does.
MASTERS = ("local-cluster[2,1,1024]", "local[2,4]")


def needs_spark() -> None:
    """Skip where there is no Spark, or no Java to run it."""
    pytest.importorskip("pyspark", reason="these tests need privtrace[spark]; make test-spark")
    if not shutil.which("java") and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java here; make test-spark installs it where apt-get may")


def started(master: str, **configured: str) -> Any:
    """Start Spark, and see that it works."""
    from pyspark.sql import SparkSession

    quiet = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "America/New_York",  # of no meaning to a fit
    }
    builder = SparkSession.builder.appName("tests").master(master).config(map=quiet | configured)
    spark = builder.getOrCreate()
    count: list[int] = []
    trial = threading.Thread(target=lambda: count.append(spark.range(4).count()), daemon=True)
    trial.start()
    trial.join(90)
    if count != [4]:
        spark.stop()
        raise RuntimeError(f"{master} runs no job")
    return spark


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Start a cluster of two executors on this machine, or else local threads."""
    needs_spark()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = None
    for master in MASTERS:
        try:
            session = started(master)
            break
        except Exception as error:
            print(f"{master}: {type(error).__name__}", file=sys.stderr)
    if session is None:
        pytest.skip("Spark does not start here")
    yield session
    session.stop()


@pytest.fixture
def spark_frame_of(spark: Any, tmp_path: Path) -> Callable[[pa.Table], Any]:
    """Give a function that makes a real DataFrame of a table, its rows in no order."""

    def made(table: pa.Table) -> Any:
        folder = tmp_path / f"table {len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        for number, part in enumerate(FakeFrame.of(table).partitions):
            pq.write_table(part, folder / f"{number}.parquet")
        return spark.read.parquet(str(folder))

    return made


@pytest.fixture(params=["stand-in", pytest.param("spark", marks=pytest.mark.spark)])
def frame_of(request: pytest.FixtureRequest) -> Callable[[pa.Table], Any]:
    """Give a function that makes a DataFrame, or what stands in for one."""
    return FakeFrame.of if request.param == "stand-in" else request.getfixturevalue("spark_frame_of")
