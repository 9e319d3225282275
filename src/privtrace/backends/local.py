"""Run parts side by side on threads; kernels release the GIL."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from privtrace.backends.base import Part, Result
from privtrace.errors import SettingsError


class Threads:
    """Map over parts on a number of threads, all cores by default, holding few parts at a time."""

    def __init__(self, n_threads: int | None = None) -> None:
        if n_threads is not None and n_threads < 1:
            raise SettingsError(f"the number of threads must be at least 1, not {n_threads}")
        self.n_threads = n_threads or available_cores()

    def map(self, task: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        """Yield task(part) for each part, in order."""
        with ThreadPoolExecutor(self.n_threads) as pool:
            running: deque[Future[Result]] = deque()
            try:
                for part in parts:
                    running.append(pool.submit(task, part))
                    # One part waits for each that runs: enough to keep threads busy, little to hold.
                    if len(running) > 2 * self.n_threads:
                        yield running.popleft().result()
                while running:
                    yield running.popleft().result()
            finally:
                for future in running:
                    future.cancel()


def available_cores() -> int:
    """Count the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
