"""Scalar ops where NumPy and MLIR differ."""

import numpy as np
import pytest

from layoutopt.ir.scalar import ScalarOp
from layoutopt.ir.types import numpy_dtype
from layoutopt.oracle.constant import constant
from layoutopt.oracle.scalar import apply


def run(name: str, kind: str, result: str, *values: float, **attributes: str) -> float | None:
    dtype = numpy_dtype(kind)
    op = ScalarOp(name, tuple(range(len(values))), result, tuple(attributes.items()))
    found = apply(op, [np.asarray(v).astype(dtype) for v in values])
    return None if found is None else found.item()


@pytest.mark.parametrize(
    ("name", "kind", "result", "values", "expected"),
    [
        ("arith.extsi", "i1", "i32", (1,), -1),
        ("arith.sitofp", "i1", "f32", (1,), -1.0),
        ("arith.extui", "i1", "i32", (1,), 1),
        ("arith.uitofp", "i1", "f32", (1,), 1.0),
        ("arith.extui", "i8", "i32", (-1,), 255),
        ("arith.uitofp", "i8", "f32", (-1,), 255.0),
        ("arith.trunci", "i32", "i1", (2,), False),
        ("arith.trunci", "i32", "i8", (257,), 1),
        ("arith.addi", "i1", "i1", (1, 1), False),
        ("arith.subi", "i1", "i1", (0, 1), True),
        ("arith.muli", "i1", "i1", (1, 1), True),
        ("arith.maxsi", "i1", "i1", (0, 1), False),
        ("arith.andi", "i1", "i1", (1, 1), True),
        ("arith.divsi", "i32", "i32", (-7, 2), -3),
        ("arith.divsi", "i64", "i64", (2**62 + 1, 1), 2**62 + 1),
        ("arith.remsi", "i32", "i32", (-7, 2), -1),
        ("arith.fptosi", "f32", "i32", (-2.7,), -2),
        ("math.round", "f32", "f32", (-2.5,), -3.0),
        ("math.roundeven", "f32", "f32", (2.5,), 2.0),
    ],
)
def test_meanings(
    name: str, kind: str, result: str, values: tuple[float, ...], expected: float
) -> None:
    assert run(name, kind, result, *values) == expected


@pytest.mark.parametrize(
    ("predicate", "expected"), [("2 : i64", True), ("6 : i64", False), ("8 : i64", True)]
)
def test_integer_comparisons_signed_and_unsigned(predicate: str, expected: bool) -> None:
    assert run("arith.cmpi", "i8", "i1", -1, 1, predicate=predicate) is expected


def test_unknown_ops_and_types_say_so() -> None:
    assert run("math.unheard_of", "i32", "i32", 1) is None
    assert run("arith.extf", "f32", "f80", 1) is None
    assert run("arith.extsi", "i32", "i128", 1) is None


@pytest.mark.parametrize(
    ("text", "element", "expected"),
    [
        ("1.5 : f32", "f32", 1.5),
        ("0xFF800000 : f32", "f32", -np.inf),
        ("0x7F80 : bf16", "bf16", np.inf),
        ("true", "i1", True),
        ("-3 : i8", "i8", -3),
    ],
)
def test_constants(text: str, element: str, expected: float) -> None:
    found = constant(text, element)
    assert found is not None
    assert found.dtype == numpy_dtype(element)
    assert found.shape == ()
    assert found == expected
