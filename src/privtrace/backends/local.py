"""Run parts side by side on threads; kernels release the GIL."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import local

from privtrace.backends.base import Backend, Part, Result
from privtrace.backends.cores import available_cores, checked


def backend_for(source: object, here: Threads | None = None) -> Backend:
    """Choose a backend for a source where nobody gave one: the engine that holds it, or threads."""
    here = here or Threads()
    if getattr(source, "engine", None) == "spark":
        from privtrace.backends.spark import SparkBackend

        return SparkBackend(here=here)
    return here


class Threads:
    """Map over parts on a number of threads, all cores by default, holding few parts at a time.

    One thread is the caller's own. More run beside it, while it makes the parts. Where one map makes the parts
    of another, they share the threads, which are started once and end with this object.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = available_cores() if n_threads is None else checked(n_threads)
        self._here = local()
        self._pools: dict[int, ThreadPoolExecutor] = {}  # by process: a fork has none of its parent's threads

    def _pool(self) -> ThreadPoolExecutor:
        made = ThreadPoolExecutor(self.n_threads, initializer=setattr, initargs=(self._here, "busy", True))
        return self._pools.setdefault(os.getpid(), made)  # one that is not needed has started no thread

    def map(self, task: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        """Yield task(part) for each part, in order."""
        within = getattr(self._here, "busy", False)  # in a task of this backend, which has its thread already
        if self.n_threads == 1 or within:
            yield from map(task, parts)
            return
        pool, running = self._pool(), deque[Future[Result]]()
        try:
            for part in parts:
                running.append(pool.submit(task, part))
                # One part waits for each that runs: enough to keep threads busy, little to hold.
                if len(running) > 2 * self.n_threads:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            wait([future for future in running if not future.cancel()])  # what has begun ends before its map
