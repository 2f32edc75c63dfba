"""Values in the widest type of their kind: int64, float64 or complex128.

Scalar ops are computed there. Integers are sign-extended, so that a true i1 is -1.
"""

from __future__ import annotations

import numpy as np

from layoutopt.ir.types import Array, integer_bits, is_complex, is_float, numpy_dtype


def is_known(element: str) -> bool:
    """Whether values of the type can be computed with, in tensors or between the ops of a body."""
    return integer_bits(element) is not None or numpy_dtype(element) is not None


def widened(array: Array, element: str) -> Array:
    """An array of the element type, in the widest type of its kind."""
    if is_complex(element):
        return array.astype(np.complex128, copy=False)
    if is_float(element):
        return array.astype(np.float64, copy=False)
    wide = array.astype(np.int64, copy=False)
    return -wide if element == "i1" and array.dtype == np.bool_ else wide


def rounded(wide: Array, element: str) -> Array:
    """What the element type makes of wide values: rounded, or cut to the width; still wide."""
    dtype = numpy_dtype(element)
    with np.errstate(all="ignore"):
        if is_float(element) or is_complex(element):
            return wide.astype(dtype).astype(wide.dtype)
        shift = 64 - (integer_bits(element) or 64)
        return (wide << shift) >> shift if shift else wide


def stored(wide: Array, element: str) -> Array:
    """Wide values as an array of the element type."""
    if element == "i1":
        return np.asarray((wide & 1) != 0)
    with np.errstate(all="ignore"):
        return np.asarray(wide.astype(numpy_dtype(element)))
