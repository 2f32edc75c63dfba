"""MLIR tensor types as NumPy shapes and dtypes; array files that keep every element type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from layoutopt.errors import InputError
from layoutopt.ir.types import DTYPES, Array, element_of

__all__ = [
    "DTYPES",
    "Array",
    "RankedTensorType",
    "Value",
    "element_name",
    "load_array",
    "save_array",
]

Value = Array | np.generic
"""What a function is called on: a tensor, or a scalar that is handed over as a number."""

_TENSOR = re.compile(r"^tensor<((?:(?:\d+|\?)x)*)(complex<\w+>|[a-z]\w*)(?:,.*)?>$")


@dataclass(frozen=True, slots=True)
class RankedTensorType:
    """A ranked tensor; a dynamic dim is None."""

    shape: tuple[int | None, ...]
    element: str

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The NumPy dtype of one element."""
        return DTYPES[self.element]

    def holds(self, shape: tuple[int, ...]) -> bool:
        """Whether arrays of a shape are of this type."""
        return len(shape) == len(self.shape) and all(
            wanted in (None, n) for wanted, n in zip(self.shape, shape, strict=True)
        )


def parse_tensor_type(text: str) -> RankedTensorType:
    """Parse `tensor<1x56x?xf32>`; InputError for anything that is not a ranked tensor."""
    match = _TENSOR.match(text)
    if match is None or match[2] not in DTYPES:
        raise InputError(
            text, "a ranked tensor of " + ", ".join(DTYPES), "another type", "use a tensor type"
        )
    dims = [dim for dim in match[1].split("x") if dim]
    return RankedTensorType(tuple(None if dim == "?" else int(dim) for dim in dims), match[2])


def element_name(dtype: np.dtype[np.generic]) -> str:
    """Return the MLIR name of a NumPy dtype: `f32` for float32."""
    found = element_of(dtype)
    if found is None:
        raise InputError(str(dtype), "one of " + ", ".join(DTYPES), "another", "convert the array")
    return found


def save_array(path: Path, array: Array) -> str:
    """Write `array` as .npy and return its element name; what NumPy lacks travels as its bits."""
    name = element_name(array.dtype)
    own = array.dtype.isbuiltin == 1
    stored = array if own else array.view(f"u{array.dtype.itemsize}")
    np.save(path, np.asarray(stored, order="C"), allow_pickle=False)
    return name


def load_array(path: Path, element: str) -> Array:
    """Read what `save_array` wrote."""
    stored: Array = np.load(path, allow_pickle=False)
    return stored.view(DTYPES[element])
