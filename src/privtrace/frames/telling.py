"""Tell what goes wrong on a Spark cluster in words of ours: those of Spark may quote a row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version

import pyarrow as pa

from privtrace import errors
from privtrace.errors import DataError, PrivTraceError


class EngineFault(Exception):
    """Say that an engine, or what is here for it, does not what it must; the words quote nothing."""


#: How an error of ours is written where Spark hands over its text alone.
_OURS = "privtrace says, {kind}: {text} (end)"
_SAID = re.compile(r"privtrace says, (\w+): (.*?) \(end\)", re.DOTALL)

#: How Spark names what went wrong, before it quotes anything, in the text of an error of Java.
_CONDITION = re.compile(r"org\.apache\.spark\.\w*Exception: \[([A-Z0-9]+_[A-Z0-9_.]+)\] ")


@dataclass(frozen=True)
class Guarded:
    """Run on a worker, and fail in words of ours: others may quote a row, and Spark writes them to its logs."""

    work: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    software: str = field(default_factory=lambda: version("privtrace"))

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do the work on one partition."""
        try:
            if self.software != version("privtrace"):
                raise DataError(
                    f"the workers have privtrace {version('privtrace')}, and the driver has {self.software}; "
                    "install the same version on both"
                )
            yield from self.work(batches)
        except PrivTraceError as error:
            raise RuntimeError(_OURS.format(kind=type(error).__name__, text=error)) from None
        except Exception as error:
            where = error.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            line = "" if where is None else f" in {where.tb_frame.f_code.co_name}, line {where.tb_lineno}"
            text = str(error) if isinstance(error, EngineFault) else f"{type(error).__name__}{line}"
            raise RuntimeError(_OURS.format(kind="RuntimeError", text=text)) from None


#: What to do about conditions that name a mistake.
_CURES = {
    "PATH_NOT_FOUND": "check the path, and that Spark may read it",
    "TABLE_OR_VIEW_NOT_FOUND": "check the name of the table",
    "UNABLE_TO_INFER_SCHEMA": "check that there is Parquet in it",
    "FAILED_READ_FILE": "a file of it is damaged, or is no Parquet; restore it, or leave it out",
}

#: What to do where Spark fails otherwise: nothing of what it says is repeated here.
_LOOK = "its log says why, and so does a query in a session of your own; both may quote private rows"


@contextmanager
def asking(place: str) -> Iterator[None]:
    """Ask Spark for something, and say what went wrong without its words, which may quote a row."""
    try:
        yield
    except PrivTraceError:
        raise
    except Exception as error:
        if not is_of_spark(error):
            raise
        if _is_interrupt(error):
            raise KeyboardInterrupt from None
        raise _told(place, error) from None


def is_of_spark(error: Exception) -> bool:
    """Tell whether an error comes from Spark, or from what it talks through."""
    packages = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return bool(packages & {"pyspark", "py4j", "grpc"})


def _is_interrupt(error: BaseException | None) -> bool:
    """Tell whether an interrupt is behind an error: jobs that pyspark ends for it fail."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _told(place: str, error: Exception) -> Exception:
    """Say in our words what an error of Spark is about."""
    text = str(error)
    ours = _SAID.search(text)
    if ours is not None:
        kind: type[Exception] = getattr(errors, ours[1], RuntimeError)
        words = f"{place}: {ours[2]}"
        if kind is RuntimeError:
            return RuntimeError(f"{words}. This is a fault of privtrace or of an engine; please report it")
        return kind(words)
    if "No module named 'privtrace" in text or "Can't get attribute" in text:
        return DataError(
            f"{place}: the Python of Spark's workers has no privtrace, or another version; install it there "
            "too (PYSPARK_PYTHON says which Python that is)"
        )
    if "maxResultSize" in text:
        return DataError(
            f"{place}: the counts are larger than the driver may receive; raise spark.driver.maxResultSize, or "
            "limit the size of the model"
        )
    named = _CONDITION.search(text)
    condition = getattr(error, "getCondition", lambda: None)() or (named[1] if named else type(error).__name__)
    cure = next((known for name, known in _CURES.items() if condition.startswith(name)), _LOOK)
    return DataError(f"{place}: Spark failed ({condition}); {cure}")
