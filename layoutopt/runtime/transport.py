"""Arrays as IREE takes and gives them: element type codes, packed nibbles, demoted types.

IREE's own Python binding knows no types beyond those of NumPy and a few of ml_dtypes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from layoutopt.runtime.element import DTYPES, Array, Value, element_name

_CODES = {
    "i1": 0x13000008,
    "i4": 0x10000004,
    "i8": 0x10000008,
    "i16": 0x10000010,
    "i32": 0x10000020,
    "i64": 0x10000040,
    "ui8": 0x12000008,
    "ui16": 0x12000010,
    "ui32": 0x12000020,
    "ui64": 0x12000040,
    "f16": 0x21000010,
    "f32": 0x21000020,
    "f64": 0x21000040,
    "bf16": 0x22000010,
    "complex<f32>": 0x23000040,
    "complex<f64>": 0x23000080,
    "f8E5M2": 0x24000008,
    "f8E4M3FN": 0x25000008,
    "f8E5M2FNUZ": 0x26000008,
    "f8E4M3FNUZ": 0x27000008,
    "f8E8M0FNU": 0x28000008,
}
"""``iree_hal_element_type_t``: the numerical type, then the bits of an element."""
_ELEMENTS = {code: element for element, code in _CODES.items()}
_DEMOTED = {"f64": "f32", "complex<f64>": "complex<f32>"}
_NIBBLES = "i4"
_ARGUMENT = re.compile(r"%input\d+: tensor<(?:[\d?]+x)*(complex<\w+>|[a-z]\w*)(?:,[^>]*)?>")


def can_pass(element: str) -> bool:
    """Whether arrays of an element type can be arguments and results."""
    return element in _CODES


def demoted(array: Array) -> Array:
    """The array as IREE holds it by default: f64 becomes f32 (``--iree-input-demote-f64-to-f32``).

    Parameters have no declaration to say so.
    """
    with np.errstate(over="ignore"):
        return array.astype(DTYPES[_demoted(element_name(array.dtype))], copy=False)


def as_declared(values: Sequence[Value], declaration: str) -> list[Value]:
    """Arguments in the element types that a compiled function declares; scalars stay."""
    declared = _ARGUMENT.findall(declaration.partition(" -> ")[0])
    if len(declared) != sum(isinstance(value, np.ndarray) for value in values):
        return list(values)
    elements = iter(declared)
    return [
        _as(value, next(elements)) if isinstance(value, np.ndarray) else value for value in values
    ]


def _as(array: Array, element: str) -> Array:
    return demoted(array) if element == _demoted(element_name(array.dtype)) else array


def _demoted(element: str) -> str:
    return _DEMOTED.get(element, element)


def sent(array: Array) -> tuple[Array, int]:
    """The bytes of an array and the code of its element type. ValueError for other types."""
    element = element_name(array.dtype)
    if element not in _CODES:
        raise ValueError(f"expected an element type that IREE passes, but got {element}")
    whole = np.ascontiguousarray(array).reshape(-1)
    raw: Array = whole.view(np.uint8)
    if element == _NIBBLES:
        low = raw & 0xF
        low = np.append(low, np.zeros(low.size % 2, np.uint8))
        raw = low[0::2] | (low[1::2] << 4)
    return raw, _CODES[element]


def received(raw: Array, shape: tuple[int, ...], code: int) -> Array:
    """The array that a buffer holds. ValueError for an element type without an array."""
    element = _ELEMENTS.get(_signless(code))
    if element is None:
        raise ValueError(f"expected an element type with a NumPy type, but got code {code:#x}")
    if element == _NIBBLES:
        both = np.stack([raw & 0xF, raw >> 4], axis=-1).reshape(-1)[: math.prod(shape)]
        return both.astype(np.uint8).view(DTYPES[element]).reshape(shape)
    return raw.view(DTYPES[element]).reshape(shape)


def _signless(code: int) -> int:
    """Signed integers count as those that say nothing of signs."""
    signed = 0x11000000
    return code - 0x01000000 if code & 0xFF000000 == signed else code
