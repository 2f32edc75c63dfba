"""The same op with sizes that are known at run time only, and at numbers in their place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from layoutopt.ir.affine import IndexMap
from layoutopt.ir.graph import (
    Concat,
    FromTensor,
    Gather,
    Graph,
    Insert,
    Op,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
)
from layoutopt.ir.size import symbol
from layoutopt.ir.types import TensorType

Draw = Callable[..., Any]
"""Hypothesis' ``draw``."""
MOST = 9
"""A symbol is at most so large."""


def opened(draw: Draw, graph: Graph) -> Graph | None:
    """The graph of one op with symbols for some of its sizes, None where that is no such op."""
    (op,) = graph.ops
    match op:
        case Structured():
            return _structured(draw, graph, op)
        case Pad():
            shape = _some(draw, graph.types[op.source].shape)
            grown = tuple(a + n + b for a, n, b in zip(op.low, shape, op.high, strict=True))
            return _typed(graph, {op.source: shape, op.result: grown})
        case Slice():
            return _slice(draw, graph, op)
        case Insert():
            return _insert(draw, graph, op)
        case Scatter():
            return _scatter(draw, graph, op)
        case Concat():
            return _concat(draw, graph, op)
        case Reshape():
            return _reshape(draw, graph, op)
        case Gather():
            return _gather(draw, graph, op)
        case _:
            return None


def _some(draw: Draw, shape: tuple[int, ...], first: int = 0) -> tuple[int, ...]:
    """Symbols for some of the sizes, among them some that a number divides."""
    found = []
    for d, n in enumerate(shape, first):
        divisor = draw(st.sampled_from([1, 1, 2, 4]))
        open_size = symbol(f"s{d}", 1, MOST * divisor, divisor, max(n, divisor))
        found.append(open_size if draw(st.booleans()) else n)
    return tuple(found)


def _typed(graph: Graph, shapes: dict[int, tuple[int, ...]], op: Op | None = None) -> Graph:
    types = tuple(
        TensorType(shapes.get(t, kind.shape), kind.element) for t, kind in enumerate(graph.types)
    )
    return replace(graph, types=types, ops=(op or graph.ops[0],))


def _structured(draw: Draw, graph: Graph, op: Structured) -> Graph:
    domain = _some(draw, op.domain)
    shapes: dict[int, tuple[int, ...]] = {}
    for tensor, forms in zip((*op.sources, *op.results), op.maps, strict=True):
        shapes[tensor] = _read(forms, domain, op.domain, graph.types[tensor].shape)
    for init, result in zip(op.inits, op.results, strict=True):
        if isinstance(init, FromTensor):
            shapes[init.tensor] = shapes[result]
    return _typed(graph, shapes, replace(op, domain=domain))


def _read(
    forms: IndexMap, domain: tuple[int, ...], old: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[int, ...]:
    """The sizes that a map reads, each with the margin that it had."""
    found = []
    for form, n in zip(forms, shape, strict=True):
        last = sum(c * (old[d] - 1) for d, c in form.terms)
        grown = sum(c * (domain[d] - 1) for d, c in form.terms)
        found.append(n if all(domain[d] == old[d] for d in form.dims) else n - last + grown)
    return tuple(found)


def _slice(draw: Draw, graph: Graph, op: Slice) -> Graph:
    kept = _some(draw, graph.types[op.result].shape)
    old = graph.types[op.result].shape
    whole = tuple(
        n + (new - was) * s if new != was else n
        for n, new, was, s in zip(graph.types[op.source].shape, kept, old, op.strides, strict=True)
    )
    return _typed(graph, {op.source: whole, op.result: kept})


def _insert(draw: Draw, graph: Graph, op: Insert) -> Graph:
    old = graph.types[op.source].shape
    inserted = _some(draw, old)
    whole = tuple(
        n + (new - was) * s if new != was else n
        for n, new, was, s in zip(
            graph.types[op.result].shape, inserted, old, op.strides, strict=True
        )
    )
    return _typed(graph, {op.source: inserted, op.destination: whole, op.result: whole})


def _scatter(draw: Draw, graph: Graph, op: Scatter) -> Graph:
    old = graph.types[op.sources[0]].shape
    small = _some(draw, old)
    whole = tuple(
        n + (new - was) * s if new != was else n
        for n, new, was, s in zip(graph.types[op.result].shape, small, old, op.strides, strict=True)
    )
    return _typed(graph, {**dict.fromkeys(op.sources, small), op.result: whole})


def _concat(draw: Draw, graph: Graph, op: Concat) -> Graph:
    first = _some(draw, graph.types[op.sources[0]].shape)
    shapes: dict[int, tuple[int, ...]] = {}
    for number, tensor in enumerate(op.sources):
        along = first[op.axis]
        if number:
            (along,) = _some(draw, (graph.types[tensor].shape[op.axis],), 8 + number)
        shapes[tensor] = (*first[: op.axis], along, *first[op.axis + 1 :])
    total = sum(shapes[t][op.axis] for t in op.sources)
    shapes[op.result] = (*first[: op.axis], total, *first[op.axis + 1 :])
    return _typed(graph, shapes)


def _reshape(draw: Draw, graph: Graph, op: Reshape) -> Graph:
    """A symbol in place of the first dim of both, where both have dims."""
    source, result = graph.types[op.source].shape, graph.types[op.result].shape
    if not source or not result:
        return graph
    factor = symbol("s0", 1, MOST, planned=2)
    behind = draw(st.booleans())
    place = -1 if behind else 0
    shapes = {}
    for tensor, shape in ((op.source, source), (op.result, result)):
        sizes = list(shape)
        sizes[place] = sizes[place] * factor
        shapes[tensor] = tuple(sizes)
    return _typed(graph, shapes)


def _gather(draw: Draw, graph: Graph, op: Gather) -> Graph:
    shape = _some(draw, graph.types[op.result].shape)
    table = tuple(
        n if place is None else shape[place]
        for n, place in zip(graph.types[op.table].shape, op.table_dims, strict=True)
    )
    indices = tuple(shape[d] for d in op.index_dims)
    return _typed(graph, {op.table: table, op.indices: indices, op.result: shape})
