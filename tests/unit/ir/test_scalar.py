"""What can be read off a body."""

from layoutopt.ir.scalar import (
    Body,
    ScalarOp,
    contraction_body,
    copy_body,
    fill_body,
    fill_value,
    is_copy,
    is_exact_contraction,
    is_reassociable,
)

ADD = ScalarOp("arith.addf", (0, 1), "f32")


def test_a_sum_does_not_depend_on_order() -> None:
    assert is_reassociable(Body(("f32", "f32"), (ADD,), (2,)), 1)
    assert is_reassociable(contraction_body("i8", "i8", "i32"), 1)


def test_what_depends_on_order() -> None:
    assert not is_reassociable(Body(("f32", "f32"), (), (0,)), 1)
    subtract = ScalarOp("arith.subf", (1, 0), "f32")
    assert not is_reassociable(Body(("f32", "f32"), (subtract,), (2,)), 1)
    doubled = ScalarOp("arith.addf", (1, 1), "f32")
    assert not is_reassociable(Body(("f32", "f32"), (doubled,), (2,)), 1)
    scaled = ScalarOp("arith.mulf", (2, 2), "f32")
    assert not is_reassociable(Body(("f32", "f32"), (ADD, scaled), (3,)), 1)
    assert not is_reassociable(Body(("f32", "f32", "f32"), (ADD,), (3, 3)), 2)


def test_fills_and_copies() -> None:
    assert fill_value(fill_body("0.0 : f32", "f32")) == "0.0 : f32"
    index = ScalarOp("linalg.index", (), "index", (("dim", "0"),))
    assert fill_value(Body(("index",), (index,), (1,))) is None
    assert fill_value(copy_body("f32")) is None
    assert is_copy(copy_body("f32"))


def test_exact_contractions_widen_both_factors() -> None:
    assert is_exact_contraction(contraction_body("f16", "f16", "f32"))
    assert is_exact_contraction(contraction_body("i8", "i32", "i32"))
    unsigned = ScalarOp("arith.extui", (0,), "i32")
    body = contraction_body("i8", "i32", "i32")
    assert not is_exact_contraction(Body(body.arguments, (unsigned, *body.ops[1:]), body.yields))
