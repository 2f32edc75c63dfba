"""Steps that resize tensors: elements at places that the body computes."""

from __future__ import annotations

from layoutopt.ir.extensions.computed_reads import ComputedReads
from layoutopt.rules.rewrites.resize_examples import linear_resize
from tests.fuzz.draw import Draw
from tests.fuzz.kinds.shapes import given, need
from tests.fuzz.value import EPSILON
from tests.fuzz.writer import Writer


def linear(writer: Writer, draw: Draw) -> None:
    """One or two dims, larger or smaller by any ratio, between two elements along each."""
    x = given(writer, draw, range(1, 5))
    need(x.element == "f32" and 0 < x.size <= 500, "a small tensor of f32")
    made = list(x.shape)
    for d in draw.order(range(len(made)))[: draw.between(1, 2)]:
        made[d] = draw.pick((made[d] * 2, made[d] * 3, max(1, made[d] // 2), draw.between(1, 9)))
    need(tuple(made) != x.shape and 1 not in made, "a dim of another size")
    graph = linear_resize(x.shape, made, corners=draw.one_in(2))
    (op,) = graph.ops
    assert isinstance(op, ComputedReads)  # what a resize is
    name, source = writer.fresh(), writer.read(x)
    for line in op.emit(graph.types):
        writer.line(line.strip().replace("%t0", source).replace("%t1", name))
    factors = 8 * max(*made, *x.shape) * EPSILON[x.element]
    writer.define(name, made, x.element, x.bound, x.error + x.bound * factors, integral=False)
