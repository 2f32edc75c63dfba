from __future__ import annotations

import numpy as np
import pytest

from layoutopt.runtime.element import DTYPES
from layoutopt.runtime.transport import as_declared, can_pass, received, sent


@pytest.mark.parametrize("element", [element for element in DTYPES if can_pass(element)])
def test_arrays_come_back_as_they_were_sent(element: str) -> None:
    array = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1]]).astype(DTYPES[element])
    raw, code = sent(array)
    back = received(raw, array.shape, code)
    assert back.dtype == array.dtype
    assert np.array_equal(back.astype(complex), array.astype(complex), equal_nan=True)


def test_two_nibbles_share_a_byte() -> None:
    raw, _ = sent(np.array([1, -1, 7]).astype(DTYPES["i4"]))
    assert raw.tolist() == [0xF1, 0x07]


def test_types_that_cannot_be_passed() -> None:
    assert not can_pass("i2")
    assert not can_pass("i24")
    with pytest.raises(ValueError, match="expected an element type that IREE passes, but got i2"):
        sent(np.zeros(4, DTYPES["i2"]))
    with pytest.raises(ValueError, match="expected an element type with a NumPy type"):
        received(np.zeros(4, np.uint8), (4,), 0x10000006)


def test_arguments_follow_the_declaration() -> None:
    """IREE demotes f64 to f32 where it is not told otherwise."""
    wide, whole = np.ones(3), np.ones(3, np.int64)
    declared = "sync func @f(%input0: tensor<3xf32>, %input1: tensor<3xi64>) -> (%o: tensor<3xf64>)"
    assert [a.dtype for a in as_declared([wide, whole], declared)] == [np.float32, np.int64]
    kept = "sync func @f(%input0: tensor<3xf64>, %input1: tensor<3xi64>) -> (%o: tensor<3xf64>)"
    assert [a.dtype for a in as_declared([wide, whole], kept)] == [np.float64, np.int64]
    pairs = "sync func @f(%input0: tensor<complex<f32>>) -> (%o: tensor<3xf64>)"
    assert [a.dtype for a in as_declared([np.ones((), complex)], pairs)] == [np.complex64]
