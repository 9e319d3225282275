"""Whatever the number of processes that test, none leaves a test out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import sharing


@pytest.mark.parametrize("n_processes", range(1, 6))
@pytest.mark.parametrize("n_others", [0, 1, 30, 400])
def test_all_tests_are_run_once(n_processes: int, n_others: int) -> None:
    paths = [
        f"/tests/{name}" for name in ["io/a.py", "rows/b.py", "test_words.py"] * 7 + ["cli/c.py"] * n_others
    ]
    items: list[Any] = [SimpleNamespace(path=Path(path)) for path in paths]
    found = sharing.apart(items, "/tests", n_processes)
    assert sorted(map(id, found)) == sorted(map(id, items))


def test_others_begin_with_what_compiles_nothing() -> None:
    items: list[Any] = [
        SimpleNamespace(path=Path(f"/tests/{name}")) for name in ["cli/c.py"] * 90 + ["io/a.py"] * 10
    ]
    found = [one.path.parent.name for one in sharing.apart(items, "/tests", 3)]
    assert found[0] == "cli" and {found[33], found[66]} == {"io"}


def test_tests_that_start_processes_come_last() -> None:
    names = [
        "cli/test_comparing.py",
        "cli/test_files.py",
        "io/test_gpx.py",
        "study/test_workers.py",
        "zones/test_a.py",
    ]
    items = [SimpleNamespace(path=Path("/tests") / name) for name in names for _ in range(6)]
    found = [one.path.name for one in sharing.apart(items, "/tests", 3)]  # type: ignore[arg-type]
    assert len(found) == len(items)
    assert {*found[-12:]} == {"test_comparing.py", "test_workers.py"}
