"""Open what a fit reads: a file here, or Parquet that Spark reads, with a session while the command runs."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

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
    from privtrace.frames.spark import SparkSource
    from privtrace.frames.telling import asking

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
        with asking(trips):
            frame = spark.read.parquet(trips)
        with SparkSource(frame, options.declared(), persist=options.persist, place=trips) as source:
            yield source


@contextmanager
def _session(master: str | None) -> Iterator[Any]:
    """Start Spark for the command alone, and stop it, however the command ends."""
    from privtrace.io.extras import require

    sql = require("pyspark.sql", "--engine spark", "spark")
    remote = os.environ.get("SPARK_REMOTE", "") if master is None else master
    if remote.startswith("sc://"):
        with _starting():
            spark = sql.SparkSession.builder.remote(remote).getOrCreate()
            _greet(spark)
        try:
            yield spark
        finally:
            spark.stop()
        return
    with _driver(master) as context:
        yield sql.SparkSession(context)


def _greet(spark: Any) -> None:
    """Ask a server of Spark Connect for something: not before is it seen whether one is there, and answers.

    By itself, pyspark would try for ten minutes.
    """
    from pyspark.sql.connect.client.retries import DefaultPolicy

    usual = spark.client.get_retry_policies()
    spark.client.set_retry_policies([DefaultPolicy(max_retries=3)])
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")  # the error says so; and it tries again at exit
    spark.range(0).count()
    spark.client.set_retry_policies(usual)


@contextmanager
def _driver(master: str | None) -> Iterator[Any]:
    """Start Spark's driver, which is Java, and end it with the command.

    What it writes to standard error goes into a file without a name: its log would run into the progress of a
    fit, and may quote rows. An interrupt ends Java first, as pyspark waits for jobs where no interrupt reaches
    it; while Java starts, an interrupt waits, as it would leave Java behind.
    """
    from privtrace.errors import MissingExtra

    if not shutil.which("java") and "JAVA_HOME" not in os.environ:
        raise MissingExtra(
            "--engine spark needs Java 17 or newer: install it, for example with apt-get install "
            "openjdk-17-jre-headless, or set JAVA_HOME"
        )
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    # Workers of this machine run this Python; the page of Spark would show to others what is running.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    configured = SparkConf().setAppName("privtrace")
    configured.setAll([("spark.ui.enabled", "false"), ("spark.ui.showConsoleProgress", "false")])
    if master is not None:
        configured.setMaster(master)
    logging.getLogger().addHandler(logging.NullHandler())  # py4j logs an interrupt to it, with a traceback
    with tempfile.TemporaryFile() as log, _Interrupts() as interrupts:
        with _starting(log):
            gateway = launch_gateway(configured, {"stderr": log})
            interrupts.end(gateway.proc)
            context = SparkContext(conf=configured, gateway=gateway)
        interrupts.take()  # pyspark has put its own handler there
        try:
            yield context
        except Exception:
            if interrupts.came:  # then it is of a connection that broke, and says nothing
                raise KeyboardInterrupt from None
            raise
        finally:
            if not interrupts.came:
                context.stop()
            elif hasattr(context, "_accumulatorServer"):  # it would tell that its connection broke
                context._accumulatorServer.handle_error = lambda *_: None


class _Interrupts:
    """Take interrupts, and polite kills, while Spark runs: they end Java, and then the command."""

    def __init__(self) -> None:
        self.came = False
        self._java: subprocess.Popen[bytes] | None = None
        self._is_starting = True
        self._before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def __enter__(self) -> Self:
        self.take()
        return self

    def take(self) -> None:
        """Handle them from here on, but those that a shell said to ignore."""
        for number, before in self._before.items():
            signal.signal(number, signal.SIG_IGN if before is signal.SIG_IGN else self._interrupt)

    def end(self, java: subprocess.Popen[bytes] | None) -> None:
        """Say which process to end; there is none if spark-submit started this command."""
        self._java, self._is_starting = java, False
        if self.came:
            self._interrupt()

    def _interrupt(self, *_: object) -> None:
        is_first, self.came = not self.came, True
        if self._is_starting and is_first:
            return
        if self._java is not None:
            self._java.terminate()
        raise KeyboardInterrupt

    def __exit__(self, *_: object) -> None:
        if self.came and self._java is not None:
            try:
                self._java.wait(timeout=20)  # it removes what it keeps on disk
            except subprocess.TimeoutExpired:
                self._java.kill()
        for number, before in self._before.items():
            signal.signal(number, before)


@contextmanager
def _starting(log: IO[bytes] | None = None) -> Iterator[None]:
    """Say why Spark did not start, in its own words: it has read no row yet."""
    from privtrace.errors import DataError
    from privtrace.frames.telling import is_of_spark

    try:
        yield
    except Exception as error:
        if not is_of_spark(error):
            raise
        thrown = getattr(error, "java_exception", None)
        words = str(error if thrown is None else thrown.getMessage())
        detailed = _DETAILS.search(words)
        words = words if detailed is None else detailed[1]
        if log is not None:
            log.seek(0)
            ended = _ENDED.search(log.read().decode(errors="replace"))
            words = words if ended is None else ended[1]
        raise DataError(
            f"--engine spark: Spark did not start ({words.strip().partition(chr(10))[0].rstrip('.')}); check "
            "--master, and that Java and the cluster can be reached"
        ) from None


#: How a server of Spark Connect says what is wrong.
_DETAILS = re.compile(r'details = "(.+)"')

#: How Java says why it ended.
_ENDED = re.compile(r'^Exception in thread "main" [\w.$]+: (.+)$', re.MULTILINE)
