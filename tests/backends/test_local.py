"""Threads are as many as they are said to be, wherever work is done."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import privtrace as pt
from privtrace.backends import cores
from privtrace.backends.cores import available_cores, limit_threads
from privtrace.backends.local import Threads
from privtrace.cli.screen import guarded
from privtrace.methods.bridgetrace import model as fitted


class Working:
    """Count the threads that work at the same time."""

    def __init__(self) -> None:
        self.now, self.most, self.lock = 0, 0, threading.Lock()

    def task(self, part: int) -> int:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.002)
        with self.lock:
            self.now -= 1
        return part


def test_one_thread_is_the_callers_own() -> None:
    here = threading.get_ident()
    assert set(Threads(1).map(lambda part: threading.get_ident(), range(9))) == {here}
    assert here not in set(Threads(2).map(lambda part: threading.get_ident(), range(9)))


@pytest.mark.parametrize("n_threads", [2, 3])
def test_maps_that_feed_each_other_share_the_threads(n_threads: int) -> None:
    working, backend = Working(), Threads(n_threads)
    made = backend.map(working.task, range(60))
    assert list(backend.map(working.task, made)) == [*range(60)]
    assert working.most == n_threads


def test_a_task_may_map() -> None:
    backend = Threads(2)
    sums = backend.map(lambda part: sum(backend.map(lambda number: part * number, range(4))), range(20))
    assert list(sums) == [6 * part for part in range(20)]


@pytest.fixture
def unlimited() -> Iterator[None]:
    """Take back what limits the process."""
    n_arrow, blas = pa.cpu_count(), threadpool_limits()
    yield
    cores._limit.clear()
    pa.set_cpu_count(n_arrow)
    blas.restore_original_limits()


def test_a_command_limits_its_process(unlimited: None) -> None:
    def command(threads: int | None = None) -> None:
        assert Threads().n_threads == available_cores() == pa.cpu_count() == 1
        assert {library["num_threads"] for library in threadpool_info()} == {1}

    guarded(command)(threads=1)


def test_a_limit_is_no_request(unlimited: None) -> None:
    n_cores = available_cores()
    limit_threads(10_000)
    assert available_cores() == pa.cpu_count() == n_cores


class Serial:
    """Be somebody else's backend."""

    def map(self, task: Any, parts: Any) -> Any:
        return map(task, parts)


@pytest.mark.filterwarnings("ignore:.*walks reached")
@pytest.mark.parametrize("method", [pt.BridgeTrace, pt.PrivTrace, pt.AdaTrace, pt.DPT])
def test_a_backend_that_is_given_is_used(
    method: Any, wanderers: pt.Trajectories, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For reading, solving, fitting, walking and comparing: no thread of ours is made beside it."""

    def fail(*arguments: object) -> None:
        pytest.fail("threads were made")

    monkeypatch.setattr(Threads, "__init__", fail)
    synthesizer = method(epsilon=1, region=region)
    made = synthesizer.fit(wanderers, backend=Serial()).sample(50, backend=Serial())
    pt.evaluate(wanderers, made, region=region, backend=Serial())
    pt.explain(wanderers, synthesizer, epsilons=1, runs=1, backend=Serial())


def test_many_threads_wait_for_one_table(
    wanderers: pt.Trajectories, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They sample from a model that nobody has walked on, at the same moment."""
    model = pt.BridgeTrace(epsilon=1, region=region, rounds=0).fit(wanderers)
    solve, backends = fitted.hitting_probabilities, []

    def slow(*arguments: Any) -> Any:
        backends.append(arguments[2])
        time.sleep(0.1)
        return solve(*arguments)

    monkeypatch.setattr(fitted, "hitting_probabilities", slow)
    barrier, given, made = threading.Barrier(8), [Threads(2) for _ in range(8)], []

    def sample(backend: Threads) -> None:
        barrier.wait()
        made.append(model.sample(20, seed=1, backend=backend).points)

    threads = [threading.Thread(target=sample, args=(backend,)) for backend in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8 and all((points == made[0]).all() for points in made)
    assert len(backends) == 1 and backends[0] in given


def test_threads_are_started_once() -> None:
    backend, working = Threads(2), Working()
    seen = {name for _ in range(5) for name in backend.map(lambda part: threading.get_ident(), range(8))}
    assert len(seen) <= 2
    list(backend.map(working.task, range(20)))
    assert working.most == 2


def test_what_has_begun_ends_before_its_map() -> None:
    working = Working()

    def task(part: int) -> int:
        return working.task(part) if part else 1 // 0

    with pytest.raises(ZeroDivisionError):
        list(Threads(3).map(task, range(50)))
    assert working.now == 0


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own() -> None:
    backend = Threads(2)
    assert list(backend.map(abs, range(4))) == [0, 1, 2, 3]

    def in_child() -> None:
        raise SystemExit(sum(backend.map(abs, range(4))))

    child = multiprocessing.get_context("fork").Process(target=in_child)
    child.start()
    child.join(30)
    child.kill()  # if it has not ended
    assert child.exitcode == 6
