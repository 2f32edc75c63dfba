"""Products of numbers that stand at one place, added up along a loop outside of the innermost one.

    y[c] += x[r, c] * x[r, c]

IREE makes a contraction of what vectors of x are multiplied and added for, and takes them apart to
compute it number by number. It does not see one behind an op that changes nothing: a product that
is given its own sign, which LLVM drops once there are vectors.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from layoutopt.compiler.installed import quirks
from layoutopt.ir.graph import DispatchRegion, Graph, Op, Structured
from layoutopt.ir.scalar import Body, ScalarOp


def keep_products(graph: Graph) -> Graph:
    """The same graph with such an op behind each of these products."""
    if not quirks().fusion.takes_products_apart:
        return graph
    return replace(graph, ops=tuple(map(_kept, graph.ops)))


def _kept(op: Op) -> Op:
    if isinstance(op, DispatchRegion):
        return replace(op, ops=tuple(map(_kept, op.ops)))
    if not isinstance(op, Structured) or op.schedule is not None or op.data_tiled:
        return op
    products = _summed_products(op)
    return replace(op, body=_signed(op.body, products)) if products else op


def _summed_products(op: Structured) -> frozenset[int]:
    """Where the body has products of what one map reads, its last dim no reduction, to add up."""
    body, count = op.body, len(op.body.arguments)
    found = set()
    for place, value in enumerate(body.yields if op.reduction_dims else ()):
        added = body.op_of(value)
        if added is None or added.name != "arith.addf":
            continue
        terms = set(added.operands) - {len(op.sources) + place}
        factors = [body.op_of(t) for t in terms]
        if len(terms) != 1 or factors[0] is None or factors[0].name != "arith.mulf":
            continue
        read = factors[0].operands
        if max(read) < len(op.sources) and len({op.source_maps[i] for i in read}) == 1:
            last = op.source_maps[read[0]][-1:]
            if last and last[0].plain_dim not in (None, *op.reduction_dims):
                found.add(terms.pop() - count)
    return frozenset(found)


def _signed(body: Body, products: Collection[int]) -> Body:
    """The body with each of some products given its own sign, read in place of it."""
    count = len(body.arguments)
    place = {i: i for i in range(count)}
    ops: list[ScalarOp] = []
    for position, op in enumerate(body.ops):
        ops.append(replace(op, operands=tuple(place[v] for v in op.operands)))
        made = count + len(ops) - 1
        if position in products:
            ops.append(ScalarOp("math.copysign", (made, made), op.type))
            made += 1
        place[count + position] = made
    return Body(body.arguments, tuple(ops), tuple(place[v] for v in body.yields))
