"""A small graph that the rule for quantized tensors shows itself on."""

from __future__ import annotations

from layoutopt.ir.affine import plain_map
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, IteratorType, Structured
from layoutopt.ir.scalar import Body, ScalarOp

_P, _R = IteratorType.PARALLEL, IteratorType.REDUCTION


def quantized_example(along: int) -> Graph:
    """``x @ (w - zero)`` of i8 in i32; the zero point is read by loop ``along`` of (m, n, k)."""
    builder = GraphBuilder()
    x, w = builder.tensor((3, 5), "i8"), builder.tensor((5, 4), "i8")
    zero = builder.tensor(((3, 4, 5)[along],), "i8")
    y = builder.tensor((3, 4), "i32")
    ops = (
        ScalarOp("arith.extsi", (0,), "i32"),
        ScalarOp("arith.extsi", (1,), "i32"),
        ScalarOp("arith.extsi", (2,), "i32"),
        ScalarOp("arith.subi", (5, 6), "i32"),
        ScalarOp("arith.muli", (4, 7), "i32"),
        ScalarOp("arith.addi", (3, 8), "i32"),
    )
    builder.add(
        Structured(
            (x, w, zero),
            (Fill("0 : i32"),),
            (y,),
            (3, 4, 5),
            (_P, _P, _R),
            (plain_map((0, 2)), plain_map((2, 1)), plain_map((along,)), plain_map((0, 1))),
            Body(("i8", "i8", "i8", "i32"), ops, (9,)),
        )
    )
    return builder.build((x, w, zero), (y,))
