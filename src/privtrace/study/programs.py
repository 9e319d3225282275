"""Digest what classes and functions from outside do, so that another version of one gets results of its own."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from types import CodeType
from typing import Any

#: Where a function hides in what stands for it in a class.
_INSIDE = ("__func__", "fget", "func", "py_func", "__wrapped__")

_PLAIN = (bool, int, float, str, bytes, Fraction, type(None))


def digest_of_code(given: Iterable[Any]) -> str:
    """Digest classes and functions: the files of their modules, and what they use that is in no file.

    Of a script or a notebook, what is used counts alone: there, the next line to be run is no other method.
    """
    digest = hashlib.blake2b(digest_size=8)
    outside = [one for one in given if not _is_ours(one.__module__)]
    for one in outside:
        for text in (*_files(one), *_walked(one, one.__module__, set())):
            digest.update(f"{len(text)}:".encode() + text)
    return digest.hexdigest() if outside else ""


def _files(given: Any) -> Iterator[bytes]:
    """Read the files of a class, and of the classes that it extends."""
    modules = dict.fromkeys(one.__module__ for one in getattr(given, "__mro__", (given,)))
    for name in modules:
        file = getattr(sys.modules.get(name), "__file__", None)
        if name != "__main__" and not _is_ours(name) and file and os.path.isfile(file):
            yield Path(file).read_bytes()


def _is_ours(module: str) -> bool:
    """Tell whether a module is part of this package, whose version says which it is."""
    return module.partition(".")[0] == "privtrace"


def _walked(given: Any, module: str, seen: set[int]) -> Iterator[bytes]:
    """Go through code and plain values, with all that it uses of its own module."""
    if isinstance(given, _PLAIN):
        yield repr(given).encode()
    if isinstance(given, tuple | list):
        for one in given:
            yield from _walked(one, module, seen)
    if id(given) in seen or getattr(given, "__module__", module) != module:
        return
    seen.add(id(given))
    if isinstance(given, type):
        used = [*given.__bases__, *(v for name, v in vars(given).items() if _is_own(name, v))]
    elif isinstance(code := getattr(given, "__code__", None), CodeType):
        yield from _of_code(code)
        cells = [cell.cell_contents for cell in given.__closure__ or ()]
        known = [given.__globals__[name] for name in _names(code) if name in given.__globals__]
        used = [*known, *cells, *(given.__defaults__ or ()), *(given.__kwdefaults__ or {}).values()]
    else:
        used = [inner for name in _INSIDE if (inner := getattr(given, name, None)) is not None]
    for one in used:
        yield from _walked(one, module, seen)


def _is_own(name: str, value: Any) -> bool:
    """Tell what somebody wrote in a class from what Python notes there, such as its line."""
    return callable(value) or not (name.startswith("__") and name.endswith("__"))


def _of_code(code: CodeType) -> Iterator[bytes]:
    """Give what a function does: nothing of where it stands."""
    yield code.co_code
    yield " ".join((*code.co_names, *code.co_varnames)).encode()
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _of_code(const)
        else:
            texts = sorted(map(repr, const)) if isinstance(const, frozenset) else [repr(const)]
            yield " ".join(texts).encode()  # a set has another order in each process


def _names(code: CodeType) -> Iterator[str]:
    """Name what a function uses, and what functions in it do."""
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names(const)
