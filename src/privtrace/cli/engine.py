"""Open what a fit reads: a file here, or Parquet that Spark reads, with a session while the command runs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privtrace.cli.options import EngineName, FitOptions, FormatName

if TYPE_CHECKING:
    from privtrace.io.source import ReadSource


@contextmanager
def opened(trips: str, options: FitOptions) -> Iterator[ReadSource]:
    """Open the input where the options say."""
    from privtrace.errors import SettingsError

    if options.engine is EngineName.spark:
        with _on_spark(trips, options) as there:
            yield there
        return
    for option, given in {"--master": options.master, "--persist": options.persist}.items():
        if given:
            raise SettingsError(
                f"{option} only applies to --engine spark; leave it out, or pass --engine spark"
            )
    with options.source(Path(trips)) as here:
        yield here


@contextmanager
def _on_spark(trips: str, options: FitOptions) -> Iterator[ReadSource]:
    from privtrace.errors import SettingsError
    from privtrace.frames.spark import SparkSource, asking

    refused = {
        "--strict": options.strict,
        "--format": options.format not in (None, FormatName.parquet),
        "standard input": trips == "-",
    }
    for what, is_given in refused.items():
        if is_given:
            raise SettingsError(
                f"--engine spark reads Parquet, and drops bad rows; {what} does not go with it. Convert the "
                "data with privtrace convert, or read it with --engine local"
            )
    with _session(options.master) as spark:
        with asking(trips, "check the path, and that it is Parquet which Spark may read"):
            frame = spark.read.parquet(trips)
        with SparkSource(frame, options.declared(), persist=options.persist, place=trips) as source:
            yield source


@contextmanager
def _session(master: str | None) -> Iterator[Any]:
    """Start Spark for the command alone, and stop it."""
    from privtrace.errors import MissingExtra
    from privtrace.io.extras import require

    sql = require("pyspark.sql", "--engine spark", "spark")
    is_remote = (master or os.environ.get("SPARK_REMOTE", "")).startswith("sc://")
    if not is_remote and not shutil.which("java") and "JAVA_HOME" not in os.environ:
        raise MissingExtra(
            "--engine spark needs Java 17 or newer: install it, for example with apt-get install "
            "openjdk-17-jre-headless, or set JAVA_HOME"
        )
    builder = sql.SparkSession.builder.appName("privtrace")
    if is_remote:
        builder = builder.remote(master) if master else builder
    else:
        # Those of this machine run this Python; the page of Spark would show to others what is running.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        quiet = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
        }
        builder = builder.config(map=quiet)
        builder = builder.master(master) if master else builder
    spark = _started(builder)
    try:
        yield spark
    finally:
        spark.stop()


def _started(builder: Any) -> Any:
    from privtrace.frames.spark import asking

    with asking("--engine spark", "check --master, and that Java and the cluster can be reached"):
        return builder.getOrCreate()
