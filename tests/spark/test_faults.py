"""Workers that are killed, tasks that run twice, tables that change: counts stay the same, or the fit ends."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.fake import FakeFrame
from tests.spark.test_equality import FrameOf, file_of, walks

import privtrace as pt
from privtrace.backends import spark as spark_backend
from privtrace.frames.spark import SparkSource
from privtrace.models import to_bytes
from privtrace.testing.data import REGIONS
from privtrace.trajectories import each
from privtrace.within import Derived

SETTINGS = pt.BridgeTrace(epsilon=8, region=REGIONS["box"], unit="user", max_per_user=2)

pytestmark = pytest.mark.filterwarnings("ignore:.*walks reached")


@dataclass(frozen=True)
class Disturbed(Derived):
    """Do something to workers in a pass, once they have a part."""

    disturb: Callable[[pt.Trajectories], Iterable[pt.Trajectories]]

    def parts(self) -> Iterable[pt.Trajectories]:
        return each(self.source.parts(), self.disturb)


def attempts_of(folder: Path, name: str) -> int:
    return len([*folder.glob(f"{name}-*")])


def disturbed(source: SparkSource, folder: str, at: int, disturbance: str) -> Disturbed:
    """Disturb the worker that has the trajectory of id 300, in the `at`-th pass: once."""

    def disturb(part: Any) -> Any:
        import os
        import signal
        import time
        import uuid
        from pathlib import Path

        if part.ids is not None and 300 in part.ids.tolist():
            Path(folder, f"attempt-{uuid.uuid4().hex}").touch()
            if len([*Path(folder).glob("attempt-*")]) == at:
                Path(folder, "worker").write_text(f"{os.getpid()} {os.getppid()}")
                if disturbance == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(120)
        return [part]

    return Disturbed(source, disturb)


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def name_of(process: int) -> str:
    return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()


@pytest.fixture
def expected(tmp_path: Path) -> bytes:
    return to_bytes(SETTINGS.fit(file_of(walks(), tmp_path), noise=pt.SeededNoise(4)))


@pytest.mark.spark
@pytest.mark.parametrize("at", [1, 3])
def test_a_python_worker_is_killed_in_a_pass(
    at: int, spark: Any, spark_frame_of: FrameOf, tmp_path: Path, expected: bytes
) -> None:
    folder = tmp_path / "attempts"
    folder.mkdir()
    with SparkSource.of(spark_frame_of(walks()), partitions=4) as source:
        fitted = SETTINGS.fit(disturbed(source, str(folder), at, "kill"), noise=pt.SeededNoise(4))
    assert to_bytes(fitted) == expected
    assert attempts_of(folder, "attempt") == 4  # three passes, and one again


@pytest.mark.spark
def test_an_executor_is_killed_in_a_pass(
    spark: Any, spark_frame_of: FrameOf, tmp_path: Path, expected: bytes
) -> None:
    """Its rows of the shuffle are lost with it, and made again."""
    if not spark.sparkContext.master.startswith("local-cluster"):
        pytest.skip("there are no executors of their own")

    folder = tmp_path / "attempts"
    folder.mkdir()
    killed: list[str] = []

    def kill() -> None:
        while not (folder / "worker").exists():
            time.sleep(0.05)
        time.sleep(0.1)
        process = int((folder / "worker").read_text().split()[0])
        while "CoarseGrainedExecutorBackend" not in name_of(process):
            process = parent_of(process)
        killed.append(name_of(process))
        os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    with SparkSource.of(spark_frame_of(walks()), partitions=4) as source:
        fitted = SETTINGS.fit(disturbed(source, str(folder), 2, "wait"), noise=pt.SeededNoise(4))
    killer.join(10)
    assert to_bytes(fitted) == expected
    assert len(killed) == 1 and attempts_of(folder, "attempt") == 4


@pytest.mark.spark
def test_a_worker_is_killed_when_its_sums_are_sent(
    spark_frame_of: FrameOf, tmp_path: Path, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of an attempt that does not end count nothing, though they came."""
    done = str(tmp_path / "done")

    class Late(spark_backend._Partition):
        def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import os
            import signal
            import time
            from pathlib import Path

            yield from super().__call__(batches)
            if not Path(done).exists():
                Path(done).touch()
                time.sleep(1)
                os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(spark_backend, "_Partition", Late)
    assert to_bytes(SETTINGS.fit(spark_frame_of(walks()), noise=pt.SeededNoise(4))) == expected
    assert Path(done).exists()


@pytest.mark.parametrize("attempts", [1, 3])
def test_what_was_done_before_an_attempt_counts_nothing(attempts: int, tmp_path: Path, expected: bytes) -> None:
    """Tasks that were done already are done again, in one process: nothing is left over from before."""
    fitted = SETTINGS.fit(FakeFrame.of(walks(), attempts=attempts), noise=pt.SeededNoise(4))
    assert to_bytes(fitted) == expected


@pytest.mark.parametrize("seed", [1, 2])
def test_rows_come_in_any_order(seed: int, expected: bytes) -> None:
    shuffled = replace(FakeFrame.of(walks()), seed=seed, n_shuffled=2 * seed)
    assert to_bytes(SETTINGS.fit(shuffled, noise=pt.SeededNoise(4))) == expected


class Changing(FakeFrame):
    """Change between two passes: a row less, or another value."""

    def mapInArrow(self, work: Any, schema: Any) -> Any:
        n_passes.append(1)
        if len(n_passes) == change[0]:
            whole = self.partitions[-1]
            x = pa.array([*whole["x"].to_pylist()[:-1], 0.5])
            less, other = whole.slice(1), whole.set_column(whole.column_names.index("x"), "x", x)
            changed = other if change[1] == "value" else less
            return FakeFrame((*self.partitions[:-1], changed)).mapInArrow(work, schema)
        return super().mapInArrow(work, schema)


n_passes: list[int] = []
change: list[Any] = []
Changing.__module__, Changing.__name__ = FakeFrame.__module__, FakeFrame.__name__


@pytest.mark.parametrize("what", ["row", "value"])
@pytest.mark.parametrize("at", [2, 3])
def test_a_table_that_changes_ends_the_fit(at: int, what: str) -> None:
    n_passes[:], change[:] = [], [at, what]
    with pytest.raises(pt.DataError, match="its rows changed between two passes"):
        SETTINGS.fit(Changing.of(walks()))
    assert len(n_passes) == at


@pytest.mark.spark
def test_values_of_the_moment_end_the_fit(spark_frame_of: FrameOf) -> None:
    moved = "x + 1e-9 * (unix_micros(current_timestamp()) % 1000000) as x"
    noisy = spark_frame_of(walks()).selectExpr("traj_id", "user_id", "t", moved, "y")
    with pytest.raises(pt.DataError, match="its rows changed between two passes"):
        SETTINGS.fit(noisy)


class Unsorted(FakeFrame):
    """Bring rows together, and not in order: a trajectory's are here and there."""

    def sortWithinPartitions(self, *keys: str) -> FakeFrame:
        return self


Unsorted.__module__, Unsorted.__name__ = FakeFrame.__module__, FakeFrame.__name__


def test_a_trajectory_that_comes_back_ends_the_fit() -> None:
    """It would count twice: that is a fault of ours, or of the engine."""
    with pytest.raises(RuntimeError, match=r"not together in their partition.* please report") as raised:
        SETTINGS.fit(Unsorted.of(walks()))
    assert not isinstance(raised.value, pt.PrivTraceError)
