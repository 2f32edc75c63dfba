"""Inits of ops."""

import pytest

from layoutopt.ir.graph import (
    Fill,
    FromTensor,
    Structured,
    Uninitialized,
    kind_name,
)
from tests.unit.mlir.read.reading import X, graph_of


@pytest.mark.parametrize(
    ("start", "init"),
    [
        (f"%i = tensor.empty() : {X}", Uninitialized()),
        (f"%i = arith.constant dense<2.0> : {X}", Fill("2.000000e+00 : f32")),
        (
            f"%v = arith.constant 3.0 : f32\n%e = tensor.empty() : {X}\n"
            f"%i = linalg.fill ins(%v : f32) outs(%e : {X}) -> {X}",
            Fill("3.000000e+00 : f32"),
        ),
        (f"%i = tensor.cast %y : {X} to {X}", FromTensor(2)),
    ],
)
def test_inits(start: str, init: object) -> None:
    graph = graph_of(
        f"{start}\n%r = linalg.matmul ins(%x, %w : {X}, tensor<6x6xf32>) outs(%i : {X}) -> {X}",
        arguments=f"%x: {X}, %y: {X}, %w: tensor<6x6xf32>"
        if "%y" not in start
        else f"%x: {X}, %w: tensor<6x6xf32>, %y: {X}",
    )
    op = graph.ops[-1]
    assert isinstance(op, Structured)
    expected = FromTensor(3) if isinstance(init, FromTensor) else init
    assert op.inits == (expected,)


def test_an_init_that_the_body_ignores_is_not_read() -> None:
    (op,) = graph_of(f"%r = linalg.map {{ math.exp }} ins(%x : {X}) outs(%y : {X})").ops
    assert isinstance(op, Structured)
    assert op.inits == (Uninitialized(),)


def test_a_fill_that_is_read_as_a_tensor_becomes_an_op() -> None:
    graph = graph_of(
        f"%v = arith.constant 3.0 : f32\n%e = tensor.empty() : {X}\n"
        f"%r = linalg.fill ins(%v : f32) outs(%e : {X}) -> {X}"
    )
    (op,) = graph.ops
    assert kind_name(op) == "fill"
    assert graph.outputs == op.outputs
