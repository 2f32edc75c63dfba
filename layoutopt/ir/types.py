"""Tensor types: a shape and an element type spelled as MLIR spells it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from layoutopt.compiler.installed import quirks
from layoutopt.ir.size import Size, planned

Array = npt.NDArray[Any]  # element types are known at run time only

_FLOATS: dict[str, npt.DTypeLike] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}
_INTEGERS: dict[str, npt.DTypeLike] = {
    "i1": np.bool_,
    "i2": ml_dtypes.int2,
    "i4": ml_dtypes.int4,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
    "ui16": np.uint16,
    "ui32": np.uint32,
    "ui64": np.uint64,
}
_COMPLEX: dict[str, npt.DTypeLike] = {"complex<f32>": np.complex64, "complex<f64>": np.complex128}

DTYPES: dict[str, np.dtype[np.generic]] = {
    name: np.dtype(dtype) for name, dtype in (_FLOATS | _INTEGERS | _COMPLEX).items()
}
"""Element types that arrays hold, each with its own NumPy type."""
_NAMES = {dtype: name for name, dtype in DTYPES.items()}

_WIDEST_BITS = 64


def element_bytes(element: str) -> int:
    """Bytes of one element in memory; sub-byte types take one byte, as in IREE's buffers."""
    dtype = numpy_dtype(element)
    if dtype is not None:
        return dtype.itemsize
    found = re.search(r"\d+", element)
    parts = 2 if is_complex(element) else 1
    return parts * max(1, int(found[0]) // 8) if found else 4


def is_stored_in_bytes(element: str) -> bool:
    """Whether each element of a parameter takes the same whole number of bytes (i4 shares one)."""
    if is_complex(element):
        return is_stored_in_bytes(element.removeprefix("complex<").removesuffix(">"))
    found = re.match(r"(?:[su]?i|b?f)(\d+)", element)
    return element in ("i1", "index") or (found is not None and int(found[1]) % 8 == 0)


def is_float(element: str) -> bool:
    """Whether the element type is a floating-point type that NumPy (with ml_dtypes) knows."""
    return element in _FLOATS


def is_complex(element: str) -> bool:
    """Whether the element type is a complex number."""
    return element.startswith("complex<")


def roundoff(element: str) -> float | None:
    """The unit roundoff of a float in the type that IREE computes it in, 2^-24 for f32.

    Of a complex number, that of its parts; None for other types.
    """
    computed = quirks().types.demoted.get(element, element)
    part = computed.removeprefix("complex<").removesuffix(">")
    return float(ml_dtypes.finfo(DTYPES[part]).eps) / 2 if is_float(part) else None


def integer_bits(element: str) -> int | None:
    """The width of an integer type up to 64 bits, None for other types; an index has 64."""
    if element == "index":
        return _WIDEST_BITS
    found = re.fullmatch(r"u?i(\d+)", element)
    bits = int(found[1]) if found else 0
    return bits if 0 < bits <= _WIDEST_BITS else None


def numpy_dtype(element: str) -> np.dtype[np.generic] | None:
    """The NumPy type of an MLIR element type, or None where NumPy has none."""
    return DTYPES.get("i64" if element == "index" else element)


def element_of(dtype: np.dtype[np.generic]) -> str | None:
    """The MLIR name of a NumPy type: ``f32`` for float32. None where MLIR has none."""
    return _NAMES.get(dtype)


@dataclass(frozen=True, slots=True)
class TensorType:
    """A ranked tensor, for example ``tensor<1x64x56x56xf32>``.

    A size may be a `Size` that is known at run time only, written as ``?``.
    """

    shape: tuple[int, ...]
    element: str

    @property
    def elements(self) -> int:
        """How many elements it holds, at the sizes that are planned for."""
        return math.prod(map(planned, self.shape))

    @property
    def size_bytes(self) -> int:
        """Bytes it takes in memory, at the sizes that are planned for."""
        return self.elements * element_bytes(self.element)

    @property
    def is_static(self) -> bool:
        """Whether all sizes are numbers."""
        return not any(isinstance(n, Size) for n in self.shape)

    def __str__(self) -> str:
        sizes = ("?" if isinstance(n, Size) else str(n) for n in self.shape)
        return f"tensor<{'x'.join([*sizes, self.element])}>"
