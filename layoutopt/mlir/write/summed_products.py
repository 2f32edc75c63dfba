"""Products of numbers that stand at one place, added up along a loop outside of the innermost one.

    y[c] += x[r, c] * x[r, c]

IREE makes a contraction of what vectors of x are multiplied and added for, and takes them apart to
compute it number by number; likewise where the products are an op of their own, which joins the
dispatch of the sum. It does not see one behind an op that changes nothing: a product that is given
its own sign, which LLVM drops once there are vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from layoutopt.compiler.installed import quirks
from layoutopt.ir.graph import DispatchRegion, Graph, Op, Reshape, Structured
from layoutopt.ir.scalar import Body, ScalarOp


def keep_products(graph: Graph) -> Graph:
    """The same graph with such an op behind each of these products."""
    if not quirks().fusion.takes_products_apart:
        return graph
    maker = {t: op for op in _inside(graph.ops) for t in op.outputs}
    added = {
        _origin(op.sources[term], maker)
        for op in _inside(graph.ops)
        if isinstance(op, Structured)
        for term in _terms(op)
        if term < len(op.sources) and _stays_innermost(op, term)
    }
    return replace(graph, ops=tuple(_kept(op, added) for op in graph.ops))


def _inside(ops: Sequence[Op]) -> Iterator[Op]:
    for op in ops:
        yield from _inside(op.ops) if isinstance(op, DispatchRegion) else (op,)


def _origin(tensor: int, maker: dict[int, Op]) -> int:
    """The tensor whose elements it has, reshapes aside."""
    op = maker.get(tensor)
    return _origin(op.source, maker) if isinstance(op, Reshape) else tensor


def _kept(op: Op, added: Collection[int]) -> Op:
    if isinstance(op, DispatchRegion):
        return replace(op, ops=tuple(_kept(inner, added) for inner in op.ops))
    if not isinstance(op, Structured) or op.schedule is not None or op.data_tiled:
        return op
    terms = {v for v, t in zip(op.body.yields, op.results, strict=True) if t in added}
    products = {
        value
        for value in (*_terms(op), *(terms if op.is_elementwise else ()))
        if _is_product_of_equal_places(op, value)
    }
    return replace(op, body=_signed(op.body, products)) if products else op


def _terms(op: Structured) -> list[int]:
    """The values of the body that a reduction adds up."""
    found = []
    for place, value in enumerate(op.body.yields if op.reduction_dims else ()):
        added = op.body.op_of(value)
        accumulator = len(op.sources) + place
        if added is not None and added.name == "arith.addf" and accumulator in added.operands:
            found += [v for v in added.operands if v != accumulator]
    return found


def _is_product_of_equal_places(op: Structured, value: int) -> bool:
    """Whether it multiplies elements that one map reads, the last dim by a loop that stays."""
    product = op.body.op_of(value)
    if product is None or product.name != "arith.mulf":
        return False
    read = product.operands
    return (
        max(read) < len(op.sources)
        and len({op.source_maps[i] for i in read}) == 1
        and _stays_innermost(op, read[0])
    )


def _stays_innermost(op: Structured, source: int) -> bool:
    """Whether the last dim of an operand is read by a parallel loop."""
    last = op.source_maps[source][-1:]
    return bool(last) and last[0].plain_dim not in (None, *op.reduction_dims)


def _signed(body: Body, products: Collection[int]) -> Body:
    """The body with each of some products given its own sign, read in place of it."""
    count = len(body.arguments)
    place = {i: i for i in range(count)}
    ops: list[ScalarOp] = []
    for value, op in enumerate(body.ops, start=count):
        ops.append(replace(op, operands=tuple(place[v] for v in op.operands)))
        place[value] = count + len(ops) - 1
        if value in products:
            ops.append(ScalarOp("math.copysign", (place[value], place[value]), op.type))
            place[value] += 1
    return Body(body.arguments, tuple(ops), tuple(place[v] for v in body.yields))
