"""Evaluate graphs with NumPy: slow where it must be general, BLAS where it is a contraction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from layoutopt.ir.extension import BoundedExtension, Evaluated, EvaluatedExtension, Known
from layoutopt.ir.graph import (
    Concat,
    Constant,
    DispatchRegion,
    FusionBarrier,
    Gather,
    Graph,
    Insert,
    Op,
    Opaque,
    Pack,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
    Unpack,
)
from layoutopt.ir.scalar import ScalarOp
from layoutopt.ir.types import Array, TensorType
from layoutopt.oracle.body import compute_body, scalar_result
from layoutopt.oracle.constant import constant
from layoutopt.oracle.contraction import contract, is_matmul
from layoutopt.oracle.error import OracleError
from layoutopt.oracle.rounding import Bounded, total
from layoutopt.oracle.structured import Tensors, evaluate_loops, start_of, unknown_type
from layoutopt.oracle.wide import stored

Scalars = Callable[[str, str], Array]
"""The value of a constant, given its text and element type."""


def evaluate(graph: Graph, values: Mapping[int, Array]) -> dict[int, Array]:
    """All tensors of a graph, given its inputs and constants. Shapes as in ``graph.types``."""
    found = dict(values)
    for op in graph.ops:
        if all(t in found for t in op.outputs):
            continue
        for tensor, array in zip(op.outputs, evaluate_op(op, graph.types, found), strict=True):
            found.setdefault(tensor, array)
    return found


def evaluate_bounded(
    graph: Graph, values: Mapping[int, Array]
) -> tuple[dict[int, Array], dict[int, Array]]:
    """All tensors of a graph, and by how much each element of a right result may differ.

    The second holds absolute errors, infinite where any result is right; tensors that have to be
    exact are left out of it.
    """
    return _with_errors(graph, values, {})


def _with_errors(
    graph: Graph, values: Mapping[int, Array], known: Mapping[int, Array]
) -> tuple[dict[int, Array], dict[int, Array]]:
    found, errors = dict(values), dict(known)
    for op in graph.ops:
        if all(t in found for t in op.outputs):
            continue
        made = _bounded(op, graph.types, found, errors)
        for tensor, (value, error) in zip(op.outputs, made, strict=True):
            if tensor in found:
                continue
            found[tensor] = value
            if error is not None:
                errors[tensor] = np.broadcast_to(error, value.shape)
    return found, errors


def evaluate_op(
    op: Op, types: tuple[TensorType, ...], values: Mapping[int, Array]
) -> tuple[Array, ...]:
    """The results of one op. Raises OracleError for what the oracle does not know."""
    if isinstance(op, Structured):
        return tuple(found.value for found in _structured(op, Tensors(types, values, None)))
    if isinstance(op, BoundedExtension):
        return tuple(found.value for found in _in_one(op, Tensors(types, values, None)))
    if isinstance(op, EvaluatedExtension):
        given = _given(op, Tensors(types, values, None))
        return op.evaluate([g.value for g in given], types)
    return _moved(op, types, values, _scalar)


def _bounded(
    op: Op, types: tuple[TensorType, ...], values: Mapping[int, Array], errors: Mapping[int, Array]
) -> list[tuple[Array, Array | None]]:
    if isinstance(op, Structured):
        return [(f.value, f.error) for f in _structured(op, Tensors(types, values, errors))]
    if isinstance(op, DispatchRegion):
        inner = Graph(types, op.ops, (), op.yields)
        made, beside = _with_errors(inner, values, errors)
        return [(made[t], beside.get(t)) for t in op.yields]
    if isinstance(op, BoundedExtension):
        whole = _in_one(op, Tensors(types, values, errors))
        return [(found.value, found.error) for found in whole]
    if isinstance(op, EvaluatedExtension):
        given = _given(op, Tensors(types, values, errors))
        sources = [g.value for g in given]
        results = op.evaluate(sources, types)
        bounds = op.error(Evaluated(sources, [g.error for g in given], results, types))
        return [(value, total(error)) for value, error in zip(results, bounds, strict=True)]
    results = _moved(op, types, values, _scalar)
    if not any(t in errors for t in op.inputs):
        return [(value, None) for value in results]
    exact = {t: np.zeros(values[t].shape) for t in op.inputs if t not in errors}
    read = {t: np.asarray(errors.get(t, exact.get(t))) for t in op.inputs}
    if isinstance(op, Gather):
        read[op.indices] = values[op.indices]
    return [
        (value, total(error))
        for value, error in zip(results, _moved(op, types, read, _no_error), strict=True)
    ]


def _in_one(op: BoundedExtension, tensors: Tensors) -> list[Bounded]:
    """The results of an extension that says values and bounds in one."""
    tracks = tensors.errors is not None

    def compute(scalar: ScalarOp, kinds: Sequence[str], operands: Sequence[Known]) -> Known:
        given = [Bounded(value, error) for value, error in operands]
        found = scalar_result(scalar, kinds, given, tracks)
        return found.value, found.error

    read = [tensors.read(t) for t in op.inputs]
    found = op.bounded([(r.value, r.error) for r in read], tensors.types, compute)
    pairs = zip(op.outputs, found, strict=True)
    return [tensors.kept(t, Bounded(value, error)) for t, (value, error) in pairs]


def _given(op: EvaluatedExtension, tensors: Tensors) -> list[Bounded]:
    """What an extension is given: its sources, and what its bodies yield of them."""
    found = [tensors.stored(t) for t in op.inputs]
    for body, source in op.computed():
        (made,) = compute_body(body, [tensors.read(source)], tensors.errors is not None)
        kept = stored(made.value, body.type_of(body.yields[0]))
        found.append(Bounded(kept, made.error))
    return found


def _structured(op: Structured, tensors: Tensors) -> list[Bounded]:
    if 0 in op.domain:
        return [tensors.kept(r, start_of(op, i, tensors)) for i, r in enumerate(op.results)]
    if is_matmul(op) and _writes_all(op, tensors.types[op.results[0]]):
        return [contract(op, tensors)]
    return evaluate_loops(op, tensors)


def _writes_all(op: Structured, result: TensorType) -> bool:
    """Whether no element of the result keeps what it started from."""
    loops = (d for form in op.result_maps[0] for d in form.dims)
    return math.prod(op.domain[d] for d in loops) == result.elements


def _moved(
    op: Op, types: tuple[TensorType, ...], values: Mapping[int, Array], scalar: Scalars
) -> tuple[Array, ...]:
    """The results of an op that computes nothing; ``scalar`` reads what it fills up with."""
    if isinstance(op, Pad):
        widths = list(zip(op.low, op.high, strict=True))
        return (_padded(values[op.source], widths, scalar(op.value, types[op.result].element)),)
    if isinstance(op, Slice):
        index = _index(op.offsets, types[op.result].shape, op.strides)
        return (np.asarray(values[op.source][index], order="C"),)
    if isinstance(op, Insert):
        into = values[op.destination].copy()
        into[_index(op.offsets, types[op.source].shape, op.strides)] = values[op.source]
        return (into,)
    if isinstance(op, Scatter):
        return (_scatter(op, types, values, scalar),)
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
        filler = 0 if op.padding is None else scalar(op.padding, types[op.result].element)
        return (op.layout.apply(values[op.source], filler),)
    if isinstance(op, Unpack):
        return (op.layout.undo(values[op.source], types[op.result].shape),)
    if isinstance(op, Reshape | FusionBarrier):
        return (values[op.source].reshape(types[op.result].shape),)
    if isinstance(op, Constant) and op.splat is not None:
        kind = types[op.result]
        return (np.broadcast_to(scalar(op.splat, kind.element), kind.shape).copy(),)
    name = op.name if isinstance(op, Opaque) else "constant"
    raise OracleError(f"oracle: expected a known op, but got {name}; give its value")


def _padded(source: Array, widths: Sequence[tuple[int, int]], fill: Array) -> Array:
    """``np.pad``, for element types too that it does not know."""
    shape = [low + n + high for n, (low, high) in zip(source.shape, widths, strict=True)]
    found = np.full(shape, fill, source.dtype)
    inside = tuple(slice(low, low + n) for n, (low, _) in zip(source.shape, widths, strict=True))
    found[inside] = source
    return found


def _index(
    offsets: tuple[int, ...], sizes: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[slice, ...]:
    return tuple(
        slice(o, o + (n - 1) * s + 1 if n else o, s)
        for o, n, s in zip(offsets, sizes, strides, strict=True)
    )


def _scatter(
    op: Scatter, types: tuple[TensorType, ...], values: Mapping[int, Array], scalar: Scalars
) -> Array:
    kind = types[op.result]
    found = np.zeros(kind.shape, values[op.sources[0]].dtype)
    if op.background is not None:
        found[...] = scalar(op.background, kind.element)
    for source, offsets in zip(op.sources, op.offsets, strict=True):
        found[_index(offsets, types[source].shape, op.strides)] = values[source]
    return found


def _gather(op: Gather, types: tuple[TensorType, ...], values: Mapping[int, Array]) -> Array:
    """Rows of a table; one that lies outside has no meaning, and is read as the nearest one."""
    shape = types[op.result].shape

    def along(dims: Sequence[int], array: Array) -> Array:
        order = sorted(range(len(dims)), key=dims.__getitem__)
        return array.transpose(order).reshape([n if d in dims else 1 for d, n in enumerate(shape)])

    last = types[op.table].shape[op.axis] - 1
    rows = along(op.index_dims, np.clip(values[op.indices], 0, last))
    places = [rows if d is None else along((d,), np.arange(shape[d])) for d in op.table_dims]
    return np.asarray(np.broadcast_to(values[op.table][tuple(places)], shape), order="C")


def _scalar(text: str, element: str) -> Array:
    value = constant(text, element)
    if value is None:
        raise unknown_type(element)
    return value


def _no_error(text: str, element: str) -> Array:
    return np.zeros(())
