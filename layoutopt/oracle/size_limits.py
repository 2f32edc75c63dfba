"""Sizes up to which a model finds in its own tables the rows that it looks up.

positions = 0 .. s - 1; gather(table of 64 rows, positions)      ->      s is 64 at most

Beyond, the model reads memory that is not its own: its results mean nothing, so that there is
nothing to compare a plan with. Looked at are places that follow from sizes, and from integers that
the caller gives (a mask, or which tokens are padding): these are tried as zeros, ones and twos.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layoutopt.ir.backward_slice import backward_slice
from layoutopt.ir.concrete import concrete
from layoutopt.ir.extension import Extension
from layoutopt.ir.graph import Constant, Gather, Graph, Opaque, named_sizes
from layoutopt.ir.planned_sizes import open_sizes
from layoutopt.ir.size import Symbol, at, symbols
from layoutopt.ir.types import Array, TensorType, numpy_dtype
from layoutopt.oracle.constant import constant
from layoutopt.oracle.error import OracleError
from layoutopt.oracle.evaluate import evaluate

_LARGEST = 1 << 16
"""Sizes above are not tried."""
_GIVEN = (0, 1, 2)
"""What the caller's integers are tried as."""
_MOST_ELEMENTS = 1 << 22
"""Of places that are worked out at a time."""


def size_limits(graph: Graph) -> dict[str, int]:
    """By name of a symbol, the largest that it can be; those without a limit are left out."""
    found: dict[str, int] = {}
    if not open_sizes(graph):
        return found
    for places, rows in _lookups(graph):
        for symbol in _symbols(graph, places):
            limit = _limit(graph, places, rows, symbol)
            if limit is not None:
                found[symbol.name] = min(limit, found.get(symbol.name, limit))
    return found


def _lookups(graph: Graph) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Tensors of places that follow from sizes and given integers, and how many rows there are.

    These are as in `positions`.
    """
    fixed = {t for t in graph.inputs if _is_integer(graph, t)}
    for op in graph.ops:
        if isinstance(op, Constant):
            fixed |= {op.result} if op.splat is not None else set()
        elif not isinstance(op, Opaque) and fixed.issuperset(op.inputs):
            fixed.update(op.outputs)
        if isinstance(op, Gather) and op.indices in fixed:
            yield op.indices, (graph.types[op.table].shape[op.axis],)
        elif isinstance(op, Extension):
            yield from ((t, n) for t, n in op.positions(graph.types).items() if t in fixed)


def _symbols(graph: Graph, tensor: int) -> list[Symbol]:
    """Those of the sizes that a tensor is computed from, in order."""
    ops, _ = backward_slice(graph, tensor)
    tensors = {tensor, *(t for op in ops for t in (*op.inputs, *op.outputs))}
    sizes = {n for t in tensors for n in graph.types[t].shape}
    sizes.update(n for op in ops for n in named_sizes(op))
    return sorted({symbol for n in sizes for symbol in symbols(n)})


def _is_integer(graph: Graph, tensor: int) -> bool:
    return graph.types[tensor].element.lstrip("u").startswith("i")


def _elements(graph: Graph, tensor: int) -> int:
    total = 1
    for n in graph.types[tensor].shape:
        total = total * n
    return total


def _limit(graph: Graph, places: int, rows: tuple[int, ...], symbol: Symbol) -> int | None:
    """The largest size at which all places are rows; None where there is none, or no largest."""
    try:
        low, high = max(symbol.low, 1), max(symbol.low, 1)
        if not _inside(graph, places, rows, {symbol.name: low}):
            return None
        while _inside(graph, places, rows, {symbol.name: high}):
            low, high = high, 2 * high
            if low > min(symbol.high, _LARGEST):
                return None
        while high - low > 1:
            middle = (low + high) // 2
            if _inside(graph, places, rows, {symbol.name: middle}):
                low = middle
            else:
                high = middle
    except OracleError:  # an op that the oracle does not know says nothing of places
        return None
    return low


def _inside(graph: Graph, places: int, rows: tuple[int, ...], sizes: dict[str, int]) -> bool:
    """Whether every place is a row, at these sizes. Too many places count as inside."""
    if at(_elements(graph, places), sizes) > _MOST_ELEMENTS:
        return True
    ops, leaves = backward_slice(graph, places)
    part = concrete(Graph(graph.types, ops, leaves, (places,)), sizes)
    counts = np.asarray([at(n, sizes) for n in rows])
    given = _GIVEN if not graph.splats.keys() >= {*leaves} else _GIVEN[:1]
    for number in given:
        values = {
            leaf: _filled(part.types[leaf], graph.splats.get(leaf), number) for leaf in leaves
        }
        found = evaluate(part, values)[places]
        if not np.all((found >= 0) & (found < counts)):
            return False
    return True


def _filled(kind: TensorType, value: str | None, given: int) -> Array:
    """A tensor of one number: ``value``, as MLIR text, or ``given`` by the caller."""
    text = str(min(given, 1) if kind.element == "i1" else given) if value is None else value
    number = constant(text, kind.element)
    if number is None or numpy_dtype(kind.element) is None:
        raise OracleError(f"expected a constant of a known type, but got {kind.element}")
    return np.broadcast_to(number, kind.shape)
