from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from layoutopt.errors import InputError
from layoutopt.runtime.element import (
    DTYPES,
    RankedTensorType,
    load_array,
    parse_tensor_type,
    save_array,
)


@pytest.mark.parametrize("element", DTYPES)
def test_arrays_keep_their_element_type(tmp_path: Path, element: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(DTYPES[element])
    assert save_array(tmp_path / "a.npy", array) == element
    again = load_array(tmp_path / "a.npy", element)
    assert again.dtype == array.dtype
    assert again.tobytes() == array.tobytes()


def test_a_scalar_and_a_transposed_array(tmp_path: Path) -> None:
    for array in (np.array(3.0, np.float32), np.arange(6, dtype=np.int32).reshape(2, 3).T):
        name = save_array(tmp_path / "a.npy", array)
        assert np.array_equal(load_array(tmp_path / "a.npy", name), array)


def test_tensor_types() -> None:
    assert parse_tensor_type("tensor<1x56x?xf32>") == RankedTensorType((1, 56, None), "f32")
    assert parse_tensor_type("tensor<i64>") == RankedTensorType((), "i64")
    assert parse_tensor_type("tensor<4xbf16, #layout>").element == "bf16"
    assert parse_tensor_type("tensor<4xcomplex<f32>>") == RankedTensorType((4,), "complex<f32>")
    assert parse_tensor_type("tensor<4x2xf8E4M3FN>") == RankedTensorType((4, 2), "f8E4M3FN")
    for text in ("f32", "tensor<*xf32>", "tensor<4xf80>", "memref<4xf32>"):
        with pytest.raises(InputError, match="expected a ranked tensor of f64, f32"):
            parse_tensor_type(text)
