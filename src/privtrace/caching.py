"""Make what an object has to work out only when it is first asked for, and only once, whichever threads ask."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")


class cached_property(Generic[Value]):  # it is used as the one of functools
    """Turn a method into an attribute, made at its first use and kept.

    From Python 3.12 on, that of functools lets each of the threads that ask at the same time make it: a table
    that takes long would be made once a thread. Here the others wait, so what makes it must not wait for them.
    """

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self._make = make
        self._name = make.__name__
        self._lock = RLock()
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, owner: None, kind: type[Any]) -> Self: ...

    @overload
    def __get__(self, owner: object, kind: type[Any]) -> Value: ...

    def __get__(self, owner: object | None, kind: type[Any]) -> Self | Value:
        return self if owner is None else self.made(owner, lambda: self._make(owner))

    def made(self, owner: object, make: Callable[[], Value]) -> Value:
        """Give the owner's value, made in another way unless it is there already."""
        kept = vars(owner)  # from now on an attribute like any other: this class is not asked again
        with self._lock:
            if self._name not in kept:
                kept[self._name] = make()
            value: Value = kept[self._name]
        return value
