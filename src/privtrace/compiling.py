"""Compile the inner functions of kernels."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

#: Compile a function that borrows the arrays it is given: nobody counts that it holds them. Where a function
#: is called for every trajectory, with dozens of arrays in its tuples, counting takes longer than what it does,
#: and threads that count the same arrays wait for each other. Such a function makes no array and returns none;
#: one that did would not compile.
borrowing = njit(cache=True, nogil=True, _nrt=False, forceinline=True)  # type: ignore[call-overload]

#: What the processor is told of memory that is asked for: it will be read, and again and again, as data.
_READ, _AGAIN, _DATA = 0, 3, 1


def _prefetch(typing: Any, array: Any, row: Any) -> Any:
    """Ask for a row of an array ahead of its use.

    It comes from far memory while the processor works on. Nothing else changes, even if there is no such row.
    """

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


#: Ask for a row of an array ahead of its use, as `prefetch(array, row)` in a kernel.
prefetch: Any = intrinsic(_prefetch)
