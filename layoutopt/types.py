"""Static tensor types: a shape and an element type spelled as MLIR spells it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]  # element types are known at run time only

_DTYPES: dict[str, npt.DTypeLike] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
}
_FLOATS = ("f64", "f32", "f16", "bf16")


def element_bytes(element: str) -> int:
    """Bytes of one element in memory; sub-byte types take one byte, as in IREE's buffers."""
    if element in _DTYPES:
        return np.dtype(_DTYPES[element]).itemsize
    found = re.search(r"\d+", element)
    return max(1, int(found[0]) // 8) if found else 4


def is_stored_whole(element: str) -> bool:
    """Whether each element of a parameter takes the same whole number of bytes (i4 shares one)."""
    found = re.match(r"(?:[su]?i|b?f)(\d+)", element)
    return element in _DTYPES or (found is not None and int(found[1]) % 8 == 0)


def is_float(element: str) -> bool:
    """Whether the element type is a floating-point type that NumPy (with ml_dtypes) knows."""
    return element in _FLOATS


def numpy_dtype(element: str) -> np.dtype[np.generic] | None:
    """The NumPy type of an MLIR element type, or None where NumPy has none."""
    dtype = _DTYPES.get(element)
    return None if dtype is None else np.dtype(dtype)


@dataclass(frozen=True, slots=True)
class TensorType:
    """A ranked tensor with static sizes, for example ``tensor<1x64x56x56xf32>``."""

    shape: tuple[int, ...]
    element: str

    @property
    def elements(self) -> int:
        """How many elements it holds."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes it takes in memory."""
        return self.elements * element_bytes(self.element)

    def __str__(self) -> str:
        return f"tensor<{'x'.join([*map(str, self.shape), self.element])}>"
