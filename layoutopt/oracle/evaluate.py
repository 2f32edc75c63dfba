"""Evaluate graphs with NumPy: slow where it must be general, BLAS where it is a contraction."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from layoutopt.affine import IndexMap
from layoutopt.graph import (
    Concat,
    DispatchRegion,
    Fence,
    Fill,
    FromTensor,
    Gather,
    Graph,
    Init,
    Insert,
    Op,
    Opaque,
    Pack,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
    Uninitialized,
    Unpack,
)
from layoutopt.oracle.scalar import apply, constant
from layoutopt.types import Array, TensorType, is_float, numpy_dtype


class OracleError(Exception):
    """The oracle does not know an op or a type."""


def evaluate(graph: Graph, values: Mapping[int, Array]) -> dict[int, Array]:
    """All tensors of a graph, given its inputs and constants. Shapes as in ``graph.types``."""
    found = dict(values)
    for op in graph.ops:
        if all(t in found for t in op.outputs):
            continue
        for tensor, array in zip(op.outputs, evaluate_op(op, graph.types, found), strict=True):
            found.setdefault(tensor, array)
    return found


def evaluate_op(
    op: Op, types: tuple[TensorType, ...], values: Mapping[int, Array]
) -> tuple[Array, ...]:
    """The results of one op. Raises OracleError for what the oracle does not know."""
    if isinstance(op, Structured):
        return _structured(op, types, values)
    if isinstance(op, Pad):
        widths = list(zip(op.low, op.high, strict=True))
        fill = _scalar(op.value, types[op.result].element)
        whole = values[op.source]  # np.pad takes no array without dims
        return (np.pad(whole, widths, constant_values=fill) if widths else whole.copy(),)
    if isinstance(op, Slice):
        index = _index(op.offsets, types[op.result].shape, op.strides)
        return (np.asarray(values[op.source][index], order="C"),)
    if isinstance(op, Insert):
        into = values[op.destination].copy()
        into[_index(op.offsets, types[op.source].shape, op.strides)] = values[op.source]
        return (into,)
    if isinstance(op, Scatter):
        return (_scatter(op, types, values),)
    if isinstance(op, Gather):
        return (_gather(op, types, values),)
    if isinstance(op, Concat):
        return (np.concatenate([values[t] for t in op.sources], axis=op.axis),)
    if isinstance(op, DispatchRegion):
        made = dict(values)
        for inner in op.ops:
            made |= zip(inner.outputs, evaluate_op(inner, types, made), strict=True)
        return tuple(made[t] for t in op.yields)
    if isinstance(op, Pack):
        filler = 0 if op.padding is None else _scalar(op.padding, types[op.result].element)
        return (op.layout.apply(values[op.source], filler),)
    if isinstance(op, Unpack):
        return (op.layout.undo(values[op.source], types[op.result].shape),)
    if isinstance(op, Reshape | Fence):
        return (values[op.source].reshape(types[op.result].shape),)
    name = op.name if isinstance(op, Opaque) else "constant"
    raise OracleError(f"oracle: expected a known op, but got {name}; give its value")


def _index(
    offsets: tuple[int, ...], sizes: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[slice, ...]:
    return tuple(
        slice(o, o + (n - 1) * s + 1 if n else o, s)
        for o, n, s in zip(offsets, sizes, strides, strict=True)
    )


def _scatter(op: Scatter, types: tuple[TensorType, ...], values: Mapping[int, Array]) -> Array:
    kind = types[op.result]
    found = np.zeros(kind.shape, values[op.sources[0]].dtype)
    if op.background is not None:
        found[...] = _scalar(op.background, kind.element)
    for source, offsets in zip(op.sources, op.offsets, strict=True):
        found[_index(offsets, types[source].shape, op.strides)] = values[source]
    return found


def _gather(op: Gather, types: tuple[TensorType, ...], values: Mapping[int, Array]) -> Array:
    shape = types[op.result].shape

    def along(dims: Sequence[int], array: Array) -> Array:
        order = sorted(range(len(dims)), key=dims.__getitem__)
        return array.transpose(order).reshape([n if d in dims else 1 for d, n in enumerate(shape)])

    rows = along(op.index_dims, values[op.indices])
    places = [rows if d is None else along((d,), np.arange(shape[d])) for d in op.table_dims]
    return np.asarray(np.broadcast_to(values[op.table][tuple(places)], shape), order="C")


def _scalar(text: str, element: str) -> Array:
    value = constant(text, element)
    if value is None:
        raise OracleError(
            f"oracle: expected a known element type, but got {element}; skip the check"
        )
    return value


def _structured(
    op: Structured, types: tuple[TensorType, ...], values: Mapping[int, Array]
) -> tuple[Array, ...]:
    accumulators = [
        _init(init, types[r], values) for init, r in zip(op.inits, op.results, strict=True)
    ]
    if 0 in op.domain:
        return tuple(accumulators)
    if op.is_contraction and _writes_all(op, types[op.results[0]]):
        return (_contract(op, [values[t] for t in op.sources], accumulators[0]),)
    reduced = op.reduction_dims
    parallel = [d for d in range(len(op.domain)) if d not in reduced]
    views = [
        _view(values[t], m, op.domain) for t, m in zip(op.sources, op.source_maps, strict=True)
    ]
    order = (*parallel, *reduced)
    at = len(parallel)
    first: tuple[Any, ...] = (..., *(0 for _ in reduced))
    moved = [view.transpose(order) for view in views]
    results = [
        _view(acc, m, op.domain, writeable=True).transpose(order)[first]
        for acc, m in zip(accumulators, op.result_maps, strict=True)
    ]
    sizes = [op.domain[d] for d in reduced]
    for point in itertools.product(*map(range, sizes)):
        arguments = [view[(slice(None),) * at + point] for view in moved]
        position = dict(zip(reduced, point, strict=True))
        new = _run(op, [*arguments, *(r.copy() for r in results)], parallel, position)
        for result, value in zip(results, new, strict=True):
            result[...] = value
    return tuple(accumulators)


def _init(init: Init, result: TensorType, values: Mapping[int, Array]) -> Array:
    dtype = numpy_dtype(result.element)
    if dtype is None:
        raise OracleError(
            f"oracle: expected a known element type, but got {result.element}; skip the check"
        )
    if isinstance(init, FromTensor):
        return values[init.tensor].copy()
    if isinstance(init, Fill):
        return np.full(result.shape, _scalar(init.value, result.element), dtype)
    assert isinstance(init, Uninitialized)
    return np.zeros(result.shape, dtype)


def _writes_all(op: Structured, result: TensorType) -> bool:
    """Whether each loop of the result is one dim of it, and the others have one element."""
    written = [form.plain_dim for form in op.result_maps[0] if form.terms]
    points = math.prod(op.domain[d] for d in written if d is not None)
    return len({*written} - {None}) == len(written) and points == result.elements


def _view(
    array: Array, index_map: IndexMap, domain: tuple[int, ...], writeable: bool = False
) -> Array:
    """The array as read at every point of the domain: one axis per loop, stride 0 if unused."""
    strides = [0] * len(domain)
    offset: list[slice] = []
    for axis, form in enumerate(index_map):
        offset.append(slice(form.offset, None))
        for d, c in form.terms:
            strides[d] += c * array.strides[axis]
    place: tuple[Any, ...] = (..., *offset)  # without the dots, one element would be a copy
    start = array[place]
    shape = tuple(domain)
    return np.lib.stride_tricks.as_strided(start, shape, strides, writeable=writeable)


def _run(
    op: Structured, arguments: list[Array], parallel: list[int], position: dict[int, int]
) -> list[Array]:
    shape = tuple(op.domain[d] for d in parallel)
    values = list(arguments)
    with np.errstate(all="ignore"):
        for scalar in op.body.ops:
            if scalar.name == "linalg.index":
                values.append(_position(int(scalar.attribute("dim")), shape, parallel, position))
                continue
            result = apply(scalar, [values[o] for o in scalar.operands])
            if result is None:
                raise OracleError(
                    f"oracle: expected a known scalar op, but got {scalar.name}; skip the check"
                )
            values.append(result)
    return [values[y] for y in op.body.yields]


def _position(
    loop: int, shape: tuple[int, ...], parallel: list[int], position: dict[int, int]
) -> Array:
    if loop in position:
        return np.asarray(position[loop])
    axis = parallel.index(loop)
    return np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])


def _contract(op: Structured, operands: list[Array], accumulator: Array) -> Array:
    """Through batched matmul: loops sorted into batch, m, n, k; wide accumulation."""
    wide = np.float64 if is_float(op.body.arguments[2]) else accumulator.dtype
    views = [_view(a, m, op.domain) for a, m in zip(operands, op.source_maps, strict=True)]
    has = [{d for form in m for d in form.dims} for m in op.maps]
    loops = range(len(op.domain))
    reduced = set(op.reduction_dims)
    batch = [d for d in loops if d not in reduced and d in has[0] and d in has[1]]
    m = [d for d in loops if d not in reduced and d in has[0] and d not in has[1]]
    n = [d for d in loops if d not in reduced and d not in has[0]]
    k = [d for d in loops if d in reduced]
    lhs = _matrix(views[0], batch, m, k, op.domain).astype(wide)
    rhs = _matrix(views[1], batch, k, n, op.domain).astype(wide)
    with np.errstate(all="ignore"):
        product = np.matmul(lhs, rhs).reshape([op.domain[d] for d in (*batch, *m, *n)])
    order = [d for form in op.result_maps[0] for d in form.dims]
    place = {d: i for i, d in enumerate((*batch, *m, *n))}
    unread = [d for d in (*batch, *m, *n) if d not in order]
    if unread:
        raise OracleError(
            "oracle: expected every parallel loop in the result, but "
            f"{unread} are not; skip the check"
        )
    aligned = product.transpose([place[d] for d in order]).reshape(accumulator.shape)
    with np.errstate(all="ignore"):
        return np.asarray(accumulator.astype(wide) + aligned).astype(accumulator.dtype)


def _matrix(
    view: Array, batch: list[int], rows: list[int], columns: list[int], domain: tuple[int, ...]
) -> Array:
    shape = [
        int(np.prod([domain[d] for d in group], dtype=np.int64)) for group in (batch, rows, columns)
    ]
    used = (*batch, *rows, *columns)
    kept = view[tuple(slice(None) if d in used else 0 for d in range(len(domain)))]
    place = {d: i for i, d in enumerate(sorted(used))}
    return kept.transpose([place[d] for d in used]).reshape(shape)
