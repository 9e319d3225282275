"""Reading ahead gives the same items in the same order, ends with them, and lets go of what it reads from."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

from privtrace.io.streams import abreast, side_by_side


@pytest.fixture(params=[1, 4])
def cores(request):
    before = pa.cpu_count()
    pa.set_cpu_count(request.param)
    yield request.param
    pa.set_cpu_count(before)


def test_items_come_in_order(cores):
    with abreast([range(100), "abc", []]) as (numbers, letters, nothing):
        assert (list(nothing), list(letters), list(numbers)) == ([], [*"abc"], list(range(100)))
    with abreast([range(100), range(100, 200)]) as streams:
        assert list(zip(*streams, strict=True)) == list(zip(range(100), range(100, 200), strict=True))
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

    with abreast([broken(), range(9)]) as (items, others):
        assert [next(items), next(items)] == [1, 2]
        with pytest.raises(ValueError, match="damaged"):
            next(items)
        assert list(others) == list(range(9))


def test_nothing_goes_on_after_the_end(cores):
    before = threading.active_count()
    made = []
    with abreast([(made.append(i) or i for i in range(1000)), range(1000)]) as (items, others):
        assert next(items) == next(others) == 0
    assert threading.active_count() == before and len(made) < 10
    with pytest.raises(KeyError), abreast([range(1000)]) as (items,):
        raise KeyError(next(items))
    assert threading.active_count() == before
