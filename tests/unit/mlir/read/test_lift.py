"""What a function is lifted to, and why some ops stay opaque."""

import pytest

from layoutopt.ir.graph import (
    Concat,
    Constant,
    Insert,
    Pad,
    Reshape,
    Slice,
    kind_name,
)
from tests.unit.mlir.read.reading import MAP, PAR, X, graph_of


@pytest.mark.parametrize(
    ("body", "result", "expected"),
    [
        (
            "%v = arith.constant 1.0 : f32\n"
            "%r = tensor.pad %x low[1, 0] high[0, 2] { ^bb0(%i: index, %j: index): "
            f"tensor.yield %v : f32 }} : {X} to tensor<5x8xf32>",
            "tensor<5x8xf32>",
            [Pad(0, 2, (1, 0), (0, 2), "1.000000e+00 : f32")],
        ),
        (
            f"%r = tensor.extract_slice %x[1, 0] [2, 3] [1, 2] : {X} to tensor<2x3xf32>",
            "tensor<2x3xf32>",
            [Slice(0, 2, (1, 0), (1, 2))],
        ),
        (
            f"%r = tensor.extract_slice %x[1, 0] [1, 6] [1, 1] : {X} to tensor<6xf32>",
            "tensor<6xf32>",
            [Slice(0, 2, (1, 0), (1, 1)), Reshape(2, 3)],
        ),
        (
            f"%q = tensor.extract_slice %x[0, 0] [4, 6] [1, 1] : {X} to {X}\n"
            f"%r = tensor.insert_slice %q into %y[0, 0] [4, 6] [1, 1] : {X} into {X}",
            X,
            [Slice(0, 2, (0, 0), (1, 1)), Insert(2, 1, 3, (0, 0), (1, 1))],
        ),
        (
            f"%r = tensor.concat dim(1) %x, %y : ({X}, {X}) -> tensor<4x12xf32>",
            "tensor<4x12xf32>",
            [Concat((0, 1), 2, 1)],
        ),
        (
            f"%r = tensor.collapse_shape %x [[0, 1]] : {X} into tensor<24xf32>",
            "tensor<24xf32>",
            [Reshape(0, 2)],
        ),
        (f"%r = tensor.cast %x : {X} to {X}", X, [Reshape(0, 2)]),
    ],
)
def test_moves(body: str, result: str, expected: list[object]) -> None:
    assert list(graph_of(body, result).ops) == expected


def test_kinds_of_structured_ops() -> None:
    graph = graph_of(
        f"%e = tensor.empty() : tensor<6x4xf32>\n"
        f"%t = linalg.transpose ins(%x : {X}) outs(%e : tensor<6x4xf32>) permutation = [1, 0]\n"
        f"%z = arith.constant dense<0.0> : tensor<4x4xf32>\n"
        f"%m = linalg.matmul ins(%x, %t : {X}, tensor<6x4xf32>) outs(%z : tensor<4x4xf32>) "
        f"-> tensor<4x4xf32>\n"
        f"%n = linalg.map {{ arith.negf }} ins(%m : tensor<4x4xf32>) outs(%z : tensor<4x4xf32>)\n"
        f"%v = arith.constant dense<0.0> : tensor<4xf32>\n"
        f"%r = linalg.reduce ins(%n : tensor<4x4xf32>) outs(%v : tensor<4xf32>) dimensions = [0]\n"
        f"(%a: f32, %b: f32) {{ %q = arith.addf %a, %b : f32\nlinalg.yield %q : f32 }}",
        "tensor<4xf32>",
    )
    kinds = [kind_name(op) for op in graph.ops if not isinstance(op, Constant)]
    assert kinds == ["copy", "contraction", "elementwise", "reduction"]


def test_a_product_without_a_sum_is_no_contraction() -> None:
    """y = c + a * b point by point has no loop to sum over."""
    graph = graph_of(
        f"%r = linalg.generic {{indexing_maps = [{MAP}, {MAP}, {MAP}], iterator_types = {PAR}}} "
        f"ins(%x, %x : {X}, {X}) outs(%y : {X}) {{\n^bb0(%a: f32, %b: f32, %c: f32):\n"
        "%m = arith.mulf %a, %b : f32\n%v = arith.addf %c, %m : f32\n"
        f"linalg.yield %v : f32 }} -> {X}"
    )
    assert kind_name(graph.ops[0]) == "elementwise"
