"""Arrays as IREE takes and gives them: element type codes, packed nibbles, demoted types.

IREE's own Python binding knows no types beyond those of NumPy and a few of ml_dtypes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from layoutopt.compiler.installed import quirks
from layoutopt.runtime.element import DTYPES, Array, Value, element_name

_NIBBLES = "i4"
_ARGUMENT = re.compile(r"%input\d+: tensor<(?:[\d?]+x)*(complex<\w+>|[a-z]\w*)(?:,[^>]*)?>")


def can_pass(element: str) -> bool:
    """Whether arrays of an element type can be arguments and results."""
    return element in quirks().types.codes


def demoted(array: Array) -> Array:
    """The array as IREE holds it by default: f64 becomes f32.

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
    return quirks().types.demoted.get(element, element)


def sent(array: Array) -> tuple[Array, int]:
    """The bytes of an array and the code of its element type. ValueError for other types."""
    element = element_name(array.dtype)
    if element not in quirks().types.codes:
        raise ValueError(f"expected an element type that IREE passes, but got {element}")
    whole = np.ascontiguousarray(array).reshape(-1)
    raw: Array = whole.view(np.uint8)
    if element == _NIBBLES:
        low = raw & 0xF
        low = np.append(low, np.zeros(low.size % 2, np.uint8))
        raw = low[0::2] | (low[1::2] << 4)
    return raw, quirks().types.codes[element]


def received(raw: Array, shape: tuple[int, ...], code: int) -> Array:
    """The array that a buffer holds. ValueError for an element type without an array."""
    elements = {known: element for element, known in quirks().types.codes.items()}
    element = elements.get(_signless(code))
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
