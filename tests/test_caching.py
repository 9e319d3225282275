"""What is made at its first use is made once."""

from __future__ import annotations

import threading
import time

from privtrace.caching import cached_property


class Owner:
    """Have a table that takes long."""

    def __init__(self) -> None:
        self.made: list[str] = []

    @cached_property
    def table(self) -> list[int]:
        """Make a table."""
        time.sleep(0.02)
        self.made.append("at first use")
        return [7]


def test_threads_that_ask_at_once_get_the_same_one() -> None:
    owner, barrier, seen = Owner(), threading.Barrier(10), []

    def ask() -> None:
        barrier.wait()
        seen.append(owner.table)

    threads = [threading.Thread(target=ask) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert owner.made == ["at first use"]
    assert all(table is owner.table for table in seen) and owner.table == [7]


def test_it_can_be_made_in_another_way_before() -> None:
    owner, other = Owner(), Owner()
    assert Owner.table.made(owner, lambda: [8]) is owner.table and owner.table == [8]
    assert Owner.table.made(owner, lambda: [9]) == [8] and owner.made == []
    assert other.table == [7] and Owner.table.__doc__ == "Make a table."
