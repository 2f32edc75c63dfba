"""Small graphs that the normalization rules show themselves on."""

from __future__ import annotations

from layoutopt.ir.affine import affine, identity_map, plain_map
from layoutopt.ir.graph import (
    Constant,
    DispatchRegion,
    Fill,
    FromTensor,
    Graph,
    GraphBuilder,
    IteratorType,
    Pad,
    Reshape,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, copy_body

_P, _R = IteratorType.PARALLEL, IteratorType.REDUCTION
_F = "f32"


def broadcast_example(without_input: bool = False) -> Graph:
    """``x + broadcast(b)``, b along the rows; ``without_input``: the broadcast's sum."""
    builder = GraphBuilder()
    x, b = builder.tensor((3, 4), _F), builder.tensor((4,), _F)
    spread, y = builder.tensor((3, 4), _F), builder.tensor((3, 4), _F)
    both = identity_map(2)
    builder.add(
        Structured(
            (b,),
            (Uninitialized(),),
            (spread,),
            (3, 4),
            (_P, _P),
            (plain_map((1,)), both),
            copy_body(_F),
        )
    )
    if without_input:
        fold = Body((_F,) * 2, (ScalarOp("arith.addf", (0, 1), _F),), (2,))
        total = builder.tensor((4,), _F)
        builder.add(
            Structured(
                (spread,),
                (Fill("0.0 : f32"),),
                (total,),
                (3, 4),
                (_R, _P),
                (both, plain_map((1,))),
                fold,
            )
        )
        return builder.build((b,), (total,))
    add = Body((_F,) * 3, (ScalarOp("arith.addf", (0, 1), _F),), (3,))
    builder.add(
        Structured((x, spread), (Uninitialized(),), (y,), (3, 4), (_P, _P), (both,) * 3, add)
    )
    return builder.build((x, b), (y,))


def two_results_example(entangled: bool = False) -> Graph:
    """Sum and product of the rows of x, of which only the sum is read.

    ``entangled``: the product is added to the sum.
    """
    builder = GraphBuilder()
    x = builder.tensor((3, 4), _F)
    total, product = builder.tensor((3,), _F), builder.tensor((3,), _F)
    add = ScalarOp("arith.addf", (1, 2 if entangled else 0), _F)
    body = Body((_F,) * 3, (add, ScalarOp("arith.mulf", (2, 0), _F)), (3, 4))
    rows = plain_map((0,))
    builder.add(
        Structured(
            (x,),
            (Fill("0.0 : f32"), Fill("1.0 : f32")),
            (total, product),
            (3, 4),
            (_P, _R),
            (identity_map(2), rows, rows),
            body,
        )
    )
    return builder.build((x,), (total,))


def _folded(name: str, x: int, init: int, result: int) -> Structured:
    """The rows of x folded by one op, from a tensor on."""
    return Structured(
        (x,),
        (FromTensor(init),),
        (result,),
        (3, 4),
        (_P, _R),
        (identity_map(2), plain_map((0,))),
        Body((_F,) * 2, (ScalarOp(name, (1, 0), _F),), (2,)),
    )


def padded_init_example(around: str) -> Graph:
    """Sums of rows that go on from twos, some of them put there by a pad."""
    builder = GraphBuilder()
    x = builder.tensor((3, 4), _F)
    inner, init, y = (builder.tensor((n,), _F) for n in (1, 3, 3))
    builder.add(Constant(inner, "2.0 : f32"))
    builder.add(Pad(inner, init, (1,), (1,), around))
    builder.add(_folded("arith.addf", x, init, y))
    return builder.build((x,), (y,))


def reduction_start_example(name: str) -> Graph:
    """The rows of x folded by one op, from a constant on."""
    builder = GraphBuilder()
    x, init, y = builder.tensor((3, 4), _F), builder.tensor((3,), _F), builder.tensor((3,), _F)
    builder.add(Constant(init, None))
    builder.add(_folded(name, x, init, y))
    return builder.build((x,), (y,))


def elementwise_start_example(stride: int) -> Graph:
    """A constant with x taken off at each ``stride``-th place."""
    builder = GraphBuilder()
    x = builder.tensor((3,), _F)
    init, y = (builder.tensor((2 * stride + 1,), _F) for _ in range(2))
    builder.add(Constant(init, None))
    builder.add(
        Structured(
            (x,),
            (FromTensor(init),),
            (y,),
            (3,),
            (_P,),
            (identity_map(1), (affine([(0, stride)]),)),
            Body((_F,) * 2, (ScalarOp("arith.subf", (1, 0), _F),), (2,)),
        )
    )
    return builder.build((x,), (y,))


def renamed_example(in_region: bool = False) -> Graph:
    """x negated, read under another name; ``in_region``: as a dispatch of its own."""
    builder = GraphBuilder()
    x, other, y = (builder.tensor((3,), _F) for _ in range(3))
    builder.add(Reshape(x, other))
    body = Body((_F, _F), (ScalarOp("arith.negf", (0,), _F),), (2,))
    maps = (identity_map(1),) * 2
    op = Structured((other,), (Uninitialized(),), (y,), (3,), (_P,), maps, body)
    if not in_region:
        builder.add(op)
        return builder.build((x,), (y,))
    result = builder.tensor((3,), _F)
    builder.add(DispatchRegion((op,), (y,), (result,)))
    return builder.build((x,), (result,))


def function_example(name: str, element: str) -> Graph:
    """``f(x) + x`` of a function of one number, by the name of its op."""
    builder = GraphBuilder()
    x, y = builder.tensor((3, 4), element), builder.tensor((3, 4), element)
    ops = (ScalarOp(name, (0,), element), ScalarOp("arith.addf", (2, 0), element))
    both = (identity_map(2),) * 2
    body = Body((element,) * 2, ops, (3,))
    builder.add(Structured((x,), (Uninitialized(),), (y,), (3, 4), (_P, _P), both, body))
    return builder.build((x,), (y,))
