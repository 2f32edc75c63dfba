"""Steps that the planner cannot see through: calls of other functions, softmax."""

from __future__ import annotations

from tests.fuzz.draw import Draw
from tests.fuzz.kinds.shapes import given, need
from tests.fuzz.value import EPSILON
from tests.fuzz.writer import Writer


def call(writer: Writer, draw: Draw) -> None:
    """A private function that adds a tensor to itself, transposed or not."""
    x = given(writer, draw, range(1, 4))
    need(x.element != "i1", "a number")
    name = f"{writer.name}_helper{len(writer.helpers)}"
    suffix = "f" if x.floating else "i"
    writer.helpers.append(
        f"func.func private @{name}(%x: {x.type}) -> {x.type} {{\n"
        f"  %e = tensor.empty() : {x.type}\n"
        f"  %y = linalg.map {{ arith.add{suffix} }} ins(%x, %x : {x.type}, {x.type}) "
        f"outs(%e : {x.type})\n  return %y : {x.type}\n}}"
    )
    result = writer.op(f"func.call @{name}({writer.read(x)}) : ({x.type}) -> {x.type}")
    writer.define(result, x.shape, x.element, 2 * x.bound, 2 * x.error, x.integral)


def softmax(writer: Writer, draw: Draw) -> None:
    """linalg.softmax, which has no body."""
    x = given(writer, draw, range(1, 4), ("f32",))
    need(x.bound < 30 and x.size > 0, "small numbers")
    into = writer.empty(x.shape, x.element)
    axis = draw.below(len(x.shape))
    result = writer.op(
        f"linalg.softmax dimension({axis}) ins({writer.read(x)} : {x.type}) "
        f"outs({into} : {x.type}) -> {x.type}"
    )
    writer.define(result, x.shape, x.element, 1.0, 2 * x.error + 16 * EPSILON["f32"], False)
