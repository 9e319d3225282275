"""Count the cores to work on, and limit them where a program owns its process."""

from __future__ import annotations

import os

from privtrace.errors import SettingsError

#: What `limit_threads` was told last.
_limit: list[int] = []


def checked(n_threads: int) -> int:
    """Refuse a number of threads on which nothing would run."""
    if n_threads < 1:
        raise SettingsError(f"the number of threads must be at least 1, not {n_threads}")
    return n_threads


def limit_threads(n_threads: int) -> None:
    """Let this process work on so many threads, wherever nobody gives a backend, and libraries in it as well.

    For programs, which own their process; a library's caller passes a backend.
    """
    import pyarrow
    import scipy.linalg  # noqa: F401  # what is not loaded yet cannot be limited
    from threadpoolctl import threadpool_limits

    _limit[:] = [checked(n_threads)]
    pyarrow.set_cpu_count(available_cores())
    threadpool_limits(available_cores())


def available_cores() -> int:
    """Count the cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([cores, *_limit])
