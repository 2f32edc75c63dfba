"""Which products are given their own sign where they are written, and that it changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from layoutopt.ir.affine import IndexMap, dim, identity_map, plain_map
from layoutopt.ir.graph import (
    DispatchRegion,
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Reshape,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.mlir.write.summed_products import keep_products
from layoutopt.oracle import evaluate
from tests.parsing import through_text

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION
SIGN = "math.copysign"


def signs(graph: Graph) -> int:
    inside = [o for op in graph.ops for o in (op.ops if isinstance(op, DispatchRegion) else (op,))]
    bodies = [op.body for op in inside if isinstance(op, Structured)]
    return sum(op.name == SIGN for body in bodies for op in body.ops)


def same_results(graph: Graph) -> None:
    rng = np.random.default_rng(0)
    given = {t: rng.integers(-3, 4, graph.types[t].shape).astype(np.float32) for t in graph.inputs}
    wanted = evaluate(graph, given)[graph.outputs[0]]
    again = through_text(graph)
    values = dict(zip(again.inputs, given.values(), strict=True))
    np.testing.assert_array_equal(evaluate(keep_products(graph), given)[graph.outputs[0]], wanted)
    np.testing.assert_array_equal(evaluate(again, values)[again.outputs[0]], wanted)


def product_sum(one: IndexMap, other: IndexMap, *, squared: bool = False) -> Graph:
    """``y[c] += a[one] * b[other]`` over loops (c, r) of 5 and 6 points."""
    g = GraphBuilder()
    sizes = 5, 6
    tensors = [g.tensor([sizes[f.dims[0]] for f in m], "f32") for m in (one, other)]
    y = g.tensor((5,), "f32")
    tensors = tensors[:1] if squared else tensors
    read = (one,) if squared else (one, other)
    factors = (0, 0) if squared else (0, 1)
    last = len(tensors)
    body = Body(
        ("f32",) * (last + 1),
        (
            ScalarOp("arith.mulf", factors, "f32"),
            ScalarOp("arith.addf", (last, last + 1), "f32"),
        ),
        (last + 2,),
    )
    init = (Fill("0.0 : f32"),)
    maps = *read, plain_map([0])
    g.add(Structured(tuple(tensors), init, (y,), sizes, (P, R), maps, body))
    return g.build(tuple(tensors), (y,))


OUTER, INNER = plain_map([1, 0]), plain_map([0, 1])


@pytest.mark.parametrize(
    ("graph", "count"),
    [
        pytest.param(product_sum(OUTER, OUTER, squared=True), 1, id="squares along an outer loop"),
        pytest.param(product_sum(OUTER, OUTER), 1, id="products of equal places"),
        pytest.param(product_sum(INNER, INNER, squared=True), 0, id="along the innermost loop"),
        pytest.param(product_sum(OUTER, plain_map([1])), 0, id="a vector times a matrix"),
        pytest.param(product_sum(OUTER, INNER), 0, id="of unlike places"),
    ],
)
def test_products_of_equal_places_are_kept(graph: Graph, count: int) -> None:
    assert signs(keep_products(graph)) == count
    same_results(graph)


def squares_apart(added: IndexMap, *, used: bool = True) -> Graph:
    """Squares that an op of their own makes, added up behind a reshape."""
    g = GraphBuilder()
    x, squares = g.tensor((12, 5), "f32"), g.tensor((12, 5), "f32")
    square = Body(("f32", "f32"), (ScalarOp("arith.mulf", (0, 0), "f32"),), (2,))
    maps = identity_map(2), identity_map(2)
    g.add(Structured((x,), (Uninitialized(),), (squares,), (12, 5), (P, P), maps, square))
    if not used:
        return g.build((x,), (squares,))
    parted = g.tensor((3, 4, 5), "f32")
    g.add(Reshape(squares, parted))
    loops = [f.dims[0] for f in added]
    sizes = tuple((3, 4, 5)[loops.index(d)] for d in range(3))
    y = g.tensor(sizes[:2], "f32")
    body = Body(("f32", "f32"), (ScalarOp("arith.addf", (0, 1), "f32"),), (2,))
    maps = added, plain_map([0, 1])
    init = (Fill("0.0 : f32"),)
    g.add(Structured((parted,), init, (y,), sizes, (P, P, R), maps, body))
    return g.build((x,), (y,))


@pytest.mark.parametrize(
    ("graph", "count"),
    [
        pytest.param(squares_apart(plain_map([0, 2, 1])), 1, id="along an outer loop"),
        pytest.param(squares_apart(plain_map([0, 1, 2])), 0, id="along the innermost loop"),
        pytest.param(squares_apart((dim(0),), used=False), 0, id="not added up"),
    ],
)
def test_products_that_another_op_makes(graph: Graph, count: int) -> None:
    assert signs(keep_products(graph)) == count
    same_results(graph)


def test_inside_a_region_too() -> None:
    graph = product_sum(OUTER, OUTER, squared=True)
    (op,) = graph.ops
    assert isinstance(op, Structured)
    g = GraphBuilder()
    x, inner, y = g.tensor((6, 5), "f32"), g.tensor((5,), "f32"), g.tensor((5,), "f32")
    own = Structured((x,), op.inits, (inner,), op.domain, op.iterators, op.maps, op.body)
    g.add(DispatchRegion((own,), (inner,), (y,)))
    assert signs(keep_products(g.build((x,), (y,)))) == 1
