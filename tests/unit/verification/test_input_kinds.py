"""Inputs of several kinds."""

from __future__ import annotations

import numpy as np
import pytest

from layoutopt.runtime.element import DTYPES, RankedTensorType
from layoutopt.verification.input_kinds import Arguments, InputKind, Role, inputs_of, nudged
from layoutopt.verification.input_sizes import Sizes

FLOATS = Arguments((RankedTensorType((64, 32), "f32"), "f32"))


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("kind", InputKind)
def test_every_type_has_every_kind(element: str, kind: InputKind) -> None:
    arguments = Arguments((RankedTensorType((4, 8), element),), {0: Role.NUMBER})
    (array,) = inputs_of(arguments, kind)
    assert (np.shape(array), array.dtype) == ((4, 8), DTYPES[element])
    if array.dtype.kind in "fcV":
        assert np.isfinite(np.asarray(array).astype(np.complex128)).all()
    (again,) = inputs_of(arguments, kind)
    assert np.array_equal(array, again)
    has_zero = not np.zeros((), DTYPES[element]).astype(np.complex64)
    assert not (has_zero and kind is InputKind.ZEROS and np.any(array))


def test_kinds_are_what_their_names_say() -> None:
    made = {kind: np.asarray(inputs_of(FLOATS, kind)[0], np.float32) for kind in InputKind}
    assert 0.9 < made[InputKind.NORMAL].std() < 1.1
    assert made[InputKind.TINY].std() < 2**-11 < made[InputKind.SMALL].std() < 2**-5
    assert made[InputKind.POSITIVE].min() > 0
    assert 0 < np.count_nonzero(made[InputKind.SPARSE]) < made[InputKind.SPARSE].size / 8
    assert not made[InputKind.ZEROS].any()
    assert made[InputKind.LARGE].std() > 50
    assert np.array_equal(made[InputKind.WHOLE], np.rint(made[InputKind.WHOLE]))


def test_scalars_are_handed_over_as_numbers() -> None:
    arguments = Arguments(("f32", "i32", "index", "i1"), {1: Role.NUMBER})
    values = inputs_of(arguments)
    assert [type(v) for v in values] == [np.float32, np.int32, np.int64, np.bool_]
    assert int(values[2]) in (0, 1), "an index may be a position in any table"


@pytest.mark.parametrize("kind", InputKind)
@pytest.mark.parametrize("rows", [1, 5, 30_000])
def test_positions_exist_in_their_table(kind: InputKind, rows: int) -> None:
    arguments = Arguments((RankedTensorType((100,), "i64"),), {0: rows})
    (tokens,) = (np.asarray(v) for v in inputs_of(arguments, kind))
    assert tokens.min() >= 0
    assert tokens.max() < rows


@pytest.mark.parametrize("kind", InputKind)
def test_integers_of_unknown_use_are_zeros_and_ones(kind: InputKind) -> None:
    (values,) = inputs_of(Arguments((RankedTensorType((100,), "i32"),)), kind)
    assert np.isin(values, [0, 1]).all()


def test_bytes_take_their_whole_range() -> None:
    arguments = Arguments((RankedTensorType((4096,), "i8"), RankedTensorType((4096,), "ui8")))
    signed, unsigned = (np.asarray(v).astype(int) for v in inputs_of(arguments))
    assert (signed.min(), signed.max()) == (-128, 127)
    assert (unsigned.min(), unsigned.max()) == (0, 255)


def test_dynamic_sizes_are_chosen() -> None:
    arguments = Arguments((RankedTensorType((None, 4), "f32"), RankedTensorType((3,), "f32")))
    assert arguments.is_dynamic
    assert [np.shape(v) for v in inputs_of(arguments.sized(Sizes({}, {}, 7)))] == [(7, 4), (3,)]
    assert not FLOATS.is_dynamic


@pytest.mark.parametrize("element", ["f32", "bf16", "f16", "f8E4M3FN"])
def test_nudged_inputs_are_off_by_their_rounding(element: str) -> None:
    arguments = Arguments((RankedTensorType((64,), element), RankedTensorType((4,), "i32")))
    inputs = inputs_of(arguments)
    moved = nudged(inputs, 0)
    one, other = (np.asarray(v[0]).astype(np.float64) for v in (inputs, moved))
    assert (one != other).any()
    assert np.allclose(one, other, rtol=0.4, atol=0)
    assert np.array_equal(inputs[1], moved[1])
    zeros = nudged(inputs_of(arguments, InputKind.ZEROS), 0)
    assert np.count_nonzero(zeros[0]) == 64
