"""Reading ahead gives the same items in the same order, ends with them, and lets go of what it reads from."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

from privtrace.io.streams import ahead, side_by_side


@pytest.fixture(params=[1, 4])
def cores(request):
    before = pa.cpu_count()
    pa.set_cpu_count(request.param)
    yield request.param
    pa.set_cpu_count(before)


def test_items_come_in_order(cores):
    assert list(ahead(range(100))) == list(range(100))
    assert list(ahead([])) == []
    assert list(side_by_side(lambda item: 2 * item, range(100))) == list(range(0, 200, 2))
    assert list(side_by_side(lambda item: item, [])) == []


def test_few_items_are_held(cores):
    made = []
    items = side_by_side(lambda item: item, (made.append(i) or i for i in range(1000)))
    assert next(items) == 0
    assert len(made) <= cores + 1
    items.close()


def test_an_error_comes_where_it_belongs(cores):
    def broken():
        yield 1
        yield 2
        raise ValueError("damaged")

    items = ahead(broken())
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(ValueError, match="damaged"):
        next(items)


def test_nothing_goes_on_after_the_end(cores):
    before = threading.active_count()
    items = ahead(iter(range(1000)))
    next(items)
    items.close()
    assert threading.active_count() == before
