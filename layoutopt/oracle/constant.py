"""The value of a scalar attribute, as MLIR prints it."""

from __future__ import annotations

import numpy as np

from layoutopt.ir.types import Array, integer_bits, is_complex, is_float, numpy_dtype


def constant(text: str, element: str) -> Array | None:
    """The value as an array of rank 0: of ``1.0e-5 : f32``, ``true``, ``0x7F800000 : f32``.

    Complex numbers are ``(1.0,2.0)`` or ``[1.0 : f32, 2.0 : f32]``. None for an element type or
    a text that is not known.
    """
    dtype = numpy_dtype(element)
    text = text.strip()
    if dtype is None:
        return None
    if is_complex(element):
        part = element.removeprefix("complex<").removesuffix(">")
        opening, closing = ("[", "]") if text.startswith("[") else ("(", ")")
        inside = text.removeprefix(opening).partition(closing)[0].split(",")
        parts = [constant(number, part) for number in inside]
        if len(parts) != 2 or parts[0] is None or parts[1] is None:
            return None
        value = np.zeros((), dtype)  # a sum would lose signs of zeros and make NaN of infinities
        value.real, value.imag = parts[0], parts[1]
        return value
    number = text.partition(":")[0].strip()
    try:
        if is_float(element):
            return _float(number, dtype)
        return _integer(number, element, dtype)
    except ValueError:
        return None


def _float(number: str, dtype: np.dtype[np.generic]) -> Array:
    if number.startswith("0x"):
        return np.asarray(int(number, 16), f"u{dtype.itemsize}").view(dtype)
    return np.asarray(float(number)).astype(dtype)


def _integer(number: str, element: str, dtype: np.dtype[np.generic]) -> Array:
    if number in ("true", "false"):
        return np.asarray(number == "true")
    value = int(number, 0)
    if element == "i1":
        return np.asarray(bool(value & 1))
    bits = integer_bits(element) or 0
    value &= (1 << bits) - 1  # 255 and -1 are the same i8
    if value >> (bits - 1) and not element.startswith("u"):
        value -= 1 << bits
    return np.asarray(value, np.uint64 if value >> 63 > 0 else np.int64).astype(dtype)
