"""Compile the inner functions of kernels."""

from __future__ import annotations

from numba import njit

#: Compile a function that borrows the arrays it is given: nobody counts that it holds them. Where a function
#: is called for every trajectory, with dozens of arrays in its tuples, counting takes longer than what it does.
#: Such a function makes no array and returns none; one that did would not compile.
borrowing = njit(cache=True, nogil=True, _nrt=False, forceinline=True)  # type: ignore[call-overload]
