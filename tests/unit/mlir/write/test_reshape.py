"""Reshapes whose sizes are equal, though what they are computed from does not tell."""

from __future__ import annotations

import iree.compiler.ir as ir
import pytest

from layoutopt.ir.graph import GraphBuilder, Reshape
from layoutopt.ir.layout import row_major
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.size import symbol
from layoutopt.ir.size_values import index_text, size_lines
from layoutopt.ir.types import TensorType
from layoutopt.mlir.write.reshape import reshape_lines
from layoutopt.rules.propagation import propagate, relayout

SHORT = {
    "tensor.expand_shape": "expand",
    "tensor.collapse_shape": "collapse",
    "tensor.cast": "cast",
}
P, Q, R = (symbol(name, 1, 64) for name in "pqr")


def parsed(source: tuple[int, ...], goal: tuple[int, ...]) -> list[str]:
    """The ops that make ``goal`` of ``source``, as MLIR reads them."""
    here, there = TensorType(source, "f32"), TensorType(goal, "f32")
    lines = reshape_lines("%x", here, "%y", there)
    sizes = ", ".join(f"{index_text(size)}: index" for size in (P, Q, R))
    head = f"func.func @f(%x: {here}, {sizes}) -> {there} {{"
    text = "\n".join([head, *size_lines(lines), *lines, f"return %y : {there}", "}"])
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        module.operation.verify()
        (function,) = module.body.operations
        return [
            SHORT[op.operation.name]
            for op in function.regions[0].blocks[0].operations
            if op.operation.name in SHORT
        ]


@pytest.mark.parametrize(
    ("source", "goal", "ops"),
    [
        ((2, P, 9), (2, 1, Q, 9), ["expand"]),
        ((2, 1, Q, 9), (2, P, 9), ["collapse"]),
        ((8, P), (4, Q), ["collapse", "expand"]),
        ((4, Q), (8, P), ["collapse", "expand"]),
        ((6, P), (4, Q), ["collapse", "expand"]),
        ((P, Q), (R, 3), ["collapse", "expand"]),
        ((P, Q), (R,), ["collapse"]),
        ((R,), (P, Q), ["expand"]),
        ((P,), (Q,), ["cast"]),
        ((P, Q), (), ["cast", "collapse"]),
        ((), (P, Q), ["expand", "cast"]),
    ],
)
def test_they_are_written_as_mlir(
    source: tuple[int, ...], goal: tuple[int, ...], ops: list[str]
) -> None:
    assert parsed(source, goal) == ops


def test_row_major_memory_is_the_same_by_what_a_reshape_means() -> None:
    builder = GraphBuilder()
    source, result = builder.tensor((P, Q), "f32"), builder.tensor((R, 3), "f32")
    op = Reshape(source, result)
    builder.add(op)
    graph = builder.build((source,), (result,))
    layouts = propagate(op, graph.types, source, row_major(2))
    assert layouts == {source: row_major(2), result: row_major(2)}
    assert not isinstance(layouts, Refusal)
    assert relayout(op, layouts, Physical(graph.types)) is None
