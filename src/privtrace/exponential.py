"""Raise e to powers that are not positive, for kernels: the compiler works on several at once.

A library's exp is called one by one, and differs from machine to machine in the last bit. This one is made of
sums and products alone: it is right to a unit or two of the last place, and the same everywhere.
"""

from __future__ import annotations

import math

import numpy as np

from privtrace.compiling import forced_inline

#: Below, powers are no longer normal numbers: they are what this one is.
_LEAST = -708.0

#: Added to a number, leaves its nearest whole number in its last bits.
_ROUNDING = 1.5 * 2.0**52

#: The natural logarithm of two, of which the first part has zeros at its end: whole multiples of it are exact.
_LN2 = float.fromhex("0x1.62e42fefa0000p-1")
_LN2_REST = float.fromhex("0x1.cf79abc9e3b3ap-40")

#: Of the series of exp about zero: within half the logarithm of two, the next would add nothing.
_TERMS = tuple(1.0 / math.factorial(k) for k in range(14))

_EXPONENT = 52


@forced_inline
def exp_of_negative(power):  # type: ignore[no-untyped-def]
    """Raise e to a power that is not above 0."""
    power = max(power, _LEAST)
    rounded = power * (1.0 / _LN2) + _ROUNDING
    twos = rounded - _ROUNDING
    rest = (power - twos * _LN2) - twos * _LN2_REST
    value = _TERMS[13]
    for k in range(12, -1, -1):
        value = value * rest + _TERMS[k]
    # Twos are added to the exponent of the number itself.
    bits = np.float64(value).view(np.int64) + (np.float64(rounded).view(np.int64) << _EXPONENT)
    return np.int64(bits).view(np.float64)
