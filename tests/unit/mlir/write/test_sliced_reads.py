"""Which operands become slices where they are written, and that these are the same numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from layoutopt.ir.affine import IndexMap, affine, dim, identity_map
from layoutopt.ir.graph import (
    DispatchRegion,
    Graph,
    GraphBuilder,
    IteratorType,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.mlir.write.sliced_reads import slice_reads
from layoutopt.oracle import evaluate
from tests.parsing import through_text

ADDED = Body(("f32", "f32", "f32"), (ScalarOp("arith.addf", (0, 1), "f32"),), (3,))


def sum_of_two_reads(
    shape: Sequence[int], domain: Sequence[int], one: IndexMap, other: IndexMap
) -> Graph:
    """``y[d...] = x[one] + x[other]``."""
    g = GraphBuilder()
    x, y = g.tensor(shape, "f32"), g.tensor(domain, "f32")
    loops = (IteratorType.PARALLEL,) * len(domain)
    maps = one, other, identity_map(len(domain))
    g.add(Structured((x, x), (Uninitialized(),), (y,), tuple(domain), loops, maps, ADDED))
    return g.build((x,), (y,))


def results(graph: Graph) -> list[np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    given = {
        t: np.arange(graph.types[t].elements, dtype=np.float32).reshape(graph.types[t].shape)
        for t in graph.inputs
    }
    found = evaluate(graph, given)
    return [found[t] for t in graph.outputs]


def slices(graph: Graph) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    inside = [o for op in graph.ops for o in (op.ops if isinstance(op, DispatchRegion) else (op,))]
    return [(op.offsets, op.strides) for op in inside if isinstance(op, Slice)]


def test_elements_a_stride_apart_are_slices() -> None:
    shape, domain = (9, 10, 5), (2, 3, 5)
    one = affine([(0, 4)], 1), affine([(1, 3)], 2), dim(2)
    graph = sum_of_two_reads(shape, domain, one, (affine([(1, 3)]), affine([(0, 4)], 5), dim(2)))
    written = slice_reads(graph)
    assert slices(written) == [((1, 2, 0), (4, 3, 1)), ((0, 5, 0), (3, 4, 1))]
    assert all(
        form.plain_dim is not None
        for op in written.ops
        if isinstance(op, Structured)
        for m in op.maps
        for form in m
    )
    for again in (written, through_text(graph)):
        np.testing.assert_array_equal(results(again)[0], results(graph)[0])


@pytest.mark.parametrize(
    "other",
    [
        pytest.param((dim(0), dim(1), affine([(2, 2)])), id="a stride along the last dim"),
        pytest.param((dim(0), affine([(1, -2)], 4), dim(2)), id="backwards"),
        pytest.param((dim(0), affine([(0, 1), (1, 2)]), dim(2)), id="a window"),
        pytest.param((dim(0), affine([], 3), dim(2)), id="one place"),
        pytest.param((dim(0), affine([(0, 2)]), dim(2)), id="a diagonal"),
    ],
)
def test_other_reads_are_written_as_they_are(other: IndexMap) -> None:
    shape = 2, 7, 9
    plain = dim(0), affine([(1, 2)], 1), dim(2)
    graph = sum_of_two_reads(shape, (2, 3, 5), plain, other)
    assert slices(slice_reads(graph)) == [((0, 1, 0), (1, 2, 1))]


def test_sums_read_what_they_read() -> None:
    g = GraphBuilder()
    x, y = g.tensor((9, 5), "f32"), g.tensor((5,), "f32")
    body = Body(("f32", "f32"), (ScalarOp("arith.addf", (0, 1), "f32"),), (2,))
    loops = IteratorType.PARALLEL, IteratorType.REDUCTION
    maps = (affine([(1, 2)]), dim(0)), (dim(0),)
    g.add(Structured((x,), (Uninitialized(),), (y,), (5, 4), loops, maps, body))
    assert not slices(slice_reads(g.build((x,), (y,))))


def test_inside_a_region_too() -> None:
    read = affine([(0, 2)], 1), dim(1)
    graph = sum_of_two_reads((9, 4), (4, 4), read, read)
    (op,) = graph.ops
    assert isinstance(op, Structured)
    g = GraphBuilder()
    x, inner, y = g.tensor((9, 4), "f32"), g.tensor((4, 4), "f32"), g.tensor((4, 4), "f32")
    own = Structured((x, x), op.inits, (inner,), op.domain, op.iterators, op.maps, op.body)
    g.add(DispatchRegion((own,), (inner,), (y,)))
    region = g.build((x,), (y,))
    assert slices(slice_reads(region)) == [((1, 0), (2, 1))] * 2
    np.testing.assert_array_equal(results(slice_reads(region))[0], results(graph)[0])
