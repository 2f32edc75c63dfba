"""MLIR tensor types as NumPy shapes and dtypes; array files that keep every element type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt

from layoutopt.errors import InputError

Array = npt.NDArray[np.generic]
Value = Array | np.generic
"""What a function is called on: a tensor, or a scalar that is handed over as a number."""

DTYPES: dict[str, np.dtype[np.generic]] = {
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "ui8": np.dtype(np.uint8),
    "ui16": np.dtype(np.uint16),
    "ui32": np.dtype(np.uint32),
    "ui64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "complex<f32>": np.dtype(np.complex64),
    "complex<f64>": np.dtype(np.complex128),
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_TENSOR = re.compile(r"^tensor<((?:(?:\d+|\?)x)*)([a-z]+\d+\w*|complex<f\d+>)(?:,.*)?>$")
_STORED = {1: np.uint8, 2: np.uint16}
"""What types that NumPy has from ml_dtypes travel as in files: their bits."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """A ranked tensor; a dynamic dim is None."""

    shape: tuple[int | None, ...]
    element: str

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The NumPy dtype of one element."""
        return DTYPES[self.element]


def parse_tensor_type(text: str) -> TensorType:
    """Parse `tensor<1x56x?xf32>`; InputError for anything that is not a ranked tensor."""
    match = _TENSOR.match(text)
    if match is None or match[2] not in DTYPES:
        raise InputError(
            text, "a ranked tensor of " + ", ".join(DTYPES), "another type", "use a tensor type"
        )
    dims = [dim for dim in match[1].split("x") if dim]
    return TensorType(tuple(None if dim == "?" else int(dim) for dim in dims), match[2])


def element_name(dtype: np.dtype[np.generic]) -> str:
    """Return the MLIR name of a NumPy dtype: `f32` for float32."""
    if dtype not in _NAMES:
        raise InputError(str(dtype), "one of " + ", ".join(DTYPES), "another", "convert the array")
    return _NAMES[dtype]


def save_array(path: Path, array: Array) -> str:
    """Write `array` as .npy and return its element name; bf16 and f8 travel as their bits."""
    name = element_name(array.dtype)
    borrowed = array.dtype.isbuiltin == 2  # a type that ml_dtypes adds to NumPy's own
    stored = array.view(_STORED[array.dtype.itemsize]) if borrowed else array
    np.save(path, np.asarray(stored, order="C"), allow_pickle=False)
    return name


def load_array(path: Path, element: str) -> Array:
    """Read what `save_array` wrote."""
    stored: Array = np.load(path, allow_pickle=False)
    return stored.view(DTYPES[element])
