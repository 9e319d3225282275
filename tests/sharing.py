"""Let the processes that test share the work: each kernel is compiled by one of them, and read by the others.

Compiling takes longer than most tests. Who needs a kernel that another process compiles waits until it is on
disk; and to wait for nothing, one process begins with tests that compile and the others with those that do not.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

#: Tests that need few kernels or none, by how their paths below tests/ begin.
QUIET = (
    "contract/test_readers",
    "contract/test_sources",
    "datasets/",
    "frames/",
    "io/",
    "parsing/",
    "privacy/test_budget_file",
    "rows/",
    "storage/",
    "test_calendar",
    "test_claims",
    "test_layers",
    "test_mutants",
    "test_style",
    "test_trajectories",
    "test_words",
)

#: Tests that start processes of their own, which would compile again what is not on disk yet: they come last.
STARTING = ("cli/test_comparing", "study/test_workers")

_held: Counter[str] = Counter()


def compile_once() -> None:
    """Let numba compile a function only while no other process compiles one of the same file."""
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    compile = Dispatcher.compile

    def once(self: Any, signature: Any) -> Any:
        # Threads of a process wait here, before the file: in the other order, two could wait for each other.
        with global_compiler_lock, _locked(self.py_func.__code__.co_filename):
            return compile(self, signature)

    Dispatcher.compile = once


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Lock a file of this project for other processes. A file imports none that imports it: no circle waits."""
    if _held[path] or not os.path.isfile(path) or "site-packages" in path:
        yield
        return
    import fcntl

    with open(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _held[path] += 1
        try:
            yield
        finally:
            _held[path] -= 1


def apart(items: list[pytest.Item], root: str, n_processes: int) -> list[pytest.Item]:
    """Let all processes but the first begin with tests that compile nothing, each with as many of them.

    Tests that start processes come last.
    """
    if n_processes == 1:
        return items
    quiet, mixed, starting = [], [], []
    for item in items:
        path = os.path.relpath(item.path, root)
        (quiet if path.startswith(QUIET) else starting if path.startswith(STARTING) else mixed).append(item)
    n_begun = len(quiet) // (n_processes - 1) + 1
    for process in range(1, n_processes):
        begin = len(items) * process // n_processes - n_processes  # a little early: shares differ by one
        begun = slice((process - 1) * n_begun, process * n_begun)
        mixed[begin:begin] = quiet[begun]
    return [*mixed, *starting]
