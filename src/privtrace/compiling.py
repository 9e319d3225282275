"""Compile the inner functions of kernels, when they are first called: who only asks never loads a compiler."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from threading import RLock, local
from typing import Any

import numpy as np

_lock = RLock()
_here = local()  # of a thread: whether it runs functions as they are written

#: Microseconds of Python that a compiler, which takes five times as long to load, is not worth.
_LITTLE_US = 100_000


class Compiled:
    """Stand for a compiled function until somebody calls it.

    The compiler takes half a second to load, and commands that only read a model or a plan need none. At the
    first call the function itself is compiled, and takes this object's place in its module, together with all
    others there: what a compiled function calls has to be compiled functions, not those that stand for them.
    """

    def __init__(self, function: Callable[..., Any], compile: Callable[[Callable[..., Any]], Any]) -> None:
        functools.update_wrapper(self, function)
        self._compile = compile
        self._made: Any = None
        self._settled = False

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        return (self.__wrapped__ if getattr(_here, "is_plain", False) else self.made)(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.made, name)

    def __reduce__(self) -> str:
        return self.__qualname__  # type: ignore[no-any-return]

    @property
    def made(self) -> Any:
        """Give the compiled function."""
        if not self._settled:
            with _lock:  # whoever settles comes by here again, for each of those that call one another
                if self._made is None:
                    function: Any = self.__wrapped__
                    self._made = self._compile(function)
                    _settle(function.__globals__)
                    self._settled = True
        return self._made


def _settle(names: dict[str, Any]) -> None:
    """Put compiled functions in the place of those that stand for them."""
    for name, value in list(names.items()):
        if isinstance(value, Compiled):
            names[name] = value.made


def _compiling(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    def compile(function: Callable[..., Any]) -> Any:
        from numba import njit

        try:
            return njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # there is no folder that may be written to, as on machines of a cluster
            return njit(nogil=True, **options)(function)

    def decorate(function: Callable[..., Any]) -> Any:
        return Compiled(function, compile)

    return decorate


#: Compile a function; it is kept on disk, and runs beside others.
compiled = _compiling()

#: Compile a function into those that call it, as if it were written there.
inlined = _compiling(inline="always")

#: Compile a function whose code is put in place of calls at the very end, by LLVM.
forced_inline = _compiling(forceinline=True)

#: Compile a function that takes the least or the most of numbers several at a time: none of them is NaN.
without_nan = _compiling(fastmath={"nnan", "nsz"})

#: Compile a function that borrows the arrays it is given: nobody counts that it holds them. Where a function
#: is called for every trajectory, with dozens of arrays in its tuples, counting takes longer than what it does,
#: and threads that count the same arrays wait for each other. Such a function makes no array and returns none;
#: one that did would not compile.
borrowing = _compiling(_nrt=False, forceinline=True)


def called(function: Callable[..., Any], *arguments: Any, python_us: float) -> Any:
    """Call a compiled function; as it is written, where Python is done before a compiler is loaded.

    The caller knows about how many microseconds Python takes. Both ways give the same, to the last bit.
    """
    if python_us > _LITTLE_US or "numba" in sys.modules:
        return function(*arguments)
    _here.is_plain = True
    try:
        with np.errstate(all="ignore"):  # as compiled code does
            return function(*arguments)
    finally:
        _here.is_plain = False


#: What the processor is told of memory that is asked for: it will be read, and again and again, as data.
_READ, _AGAIN, _DATA = 0, 3, 1


def prefetch(array: Any, row: Any) -> None:
    """Ask for a row of an array ahead of its use, in a kernel.

    It comes from far memory while the processor works on. Nothing else changes, even if there is no such row.
    """


def _compile_prefetch(_: Callable[..., Any]) -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    def prefetch(typing: Any, array: Any, row: Any) -> Any:
        def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            there = context.make_array(signature.args[0])(context, builder, arguments[0])
            whole, byte, flag = ir.IntType(64), ir.IntType(8).as_pointer(), ir.IntType(32)
            behind = builder.mul(arguments[1], builder.extract_value(there.strides, 0))
            place = builder.inttoptr(builder.add(builder.ptrtoint(there.data, whole), behind), byte)
            told = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
            ask = builder.module.declare_intrinsic("llvm.prefetch", [byte], told)
            builder.call(ask, [place, *(ir.Constant(flag, value) for value in (_READ, _AGAIN, _DATA))])
            return context.get_dummy_value()

        return types.void(array, row), made

    return intrinsic(prefetch)


prefetch = Compiled(prefetch, _compile_prefetch)  # type: ignore[assignment]
