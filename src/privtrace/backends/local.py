"""Run parts side by side on threads; kernels release the GIL."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore, local

from privtrace.backends.base import Part, Result
from privtrace.backends.cores import available_cores, checked


class Threads:
    """Map over parts on a number of threads, all cores by default, holding few parts at a time.

    One thread is the caller's own. More run beside it, while it makes the parts. Where one map makes the parts
    of another, they share the threads.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = available_cores() if n_threads is None else checked(n_threads)
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
