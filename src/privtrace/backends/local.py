"""Run parts side by side on threads; kernels release the GIL."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore, local

from privtrace.backends.base import Part, Result
from privtrace.errors import SettingsError


class Threads:
    """Map over parts on a number of threads, all cores by default, holding few parts at a time.

    One thread is the caller's own. More run beside it, while it makes the parts. Where one map makes the parts
    of another, they share the threads.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        if n_threads is not None and n_threads < 1:
            raise SettingsError(f"the number of threads must be at least 1, not {n_threads}")
        self.n_threads = n_threads or available_cores()
        self._free = BoundedSemaphore(self.n_threads)
        self._here = local()

    def map(self, task: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        """Yield task(part) for each part, in order."""
        within = getattr(self._here, "busy", False)  # in a task of this backend, which has its thread already
        if self.n_threads == 1 or within:
            yield from map(task, parts)
            return

        def run(part: Part) -> Result:
            with self._free:
                self._here.busy = True
                try:
                    return task(part)
                finally:
                    self._here.busy = False

        with ThreadPoolExecutor(self.n_threads) as pool:
            running: deque[Future[Result]] = deque()
            try:
                for part in parts:
                    running.append(pool.submit(run, part))
                    # One part waits for each that runs: enough to keep threads busy, little to hold.
                    if len(running) > 2 * self.n_threads:
                        yield running.popleft().result()
                while running:
                    yield running.popleft().result()
            finally:
                for future in running:
                    future.cancel()


#: What `limit_threads` was told last.
_limit: list[int] = []


def limit_threads(n_threads: int) -> None:
    """Let this process work on so many threads, wherever nobody gives a backend, and libraries in it as well.

    For programs, which own their process; a library's caller passes a backend.
    """
    import pyarrow
    import scipy.linalg  # noqa: F401  # what is not loaded yet cannot be limited
    from threadpoolctl import threadpool_limits

    _limit[:] = [Threads(n_threads).n_threads]
    pyarrow.set_cpu_count(available_cores())
    threadpool_limits(available_cores())


def available_cores() -> int:
    """Count the cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([cores, *_limit])
