"""From candidates to benchmarks: the text that is compiled and the arrays that it runs on."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from layoutopt.candidate import Candidate, PhysicalForm
from layoutopt.cluster import Cluster
from layoutopt.graph import Gather, Graph
from layoutopt.layout import Layout
from layoutopt.mlir.emit import body_text
from layoutopt.neutral import Padding
from layoutopt.oracle import OracleError, evaluate
from layoutopt.oracle.constant import constant
from layoutopt.profiles.target import Target
from layoutopt.regions import emitted
from layoutopt.renaming import counted_from_zero
from layoutopt.runtime.benchmark import Benchmark, Case, Operand, Result
from layoutopt.types import Array, TensorType, is_float, numpy_dtype

Values = dict[int, Array]

_TOLERANCE = {"f64": 1e-9, "f32": 1e-3, "f16": 2e-2, "bf16": 5e-2}


def candidate_benchmark(
    graph: Graph, cluster: Cluster, candidate: Candidate, form: PhysicalForm, target: Target
) -> Benchmark:
    """The candidate as it is compiled and timed alone."""
    layouts = dict(candidate.layouts)
    splats = graph.splats  # they stand inline, for codegen may use the value

    def case() -> Case:
        values = _reference(graph, cluster)
        read = zip((*cluster.inputs, *cluster.weights), (*form.inputs, *form.weights), strict=True)
        placed = {p: _placed(layouts[t], values[t]) for t, p in read}
        return Case(
            tuple(placed[p] for p in form.inputs),
            tuple(placed[p] for p in form.weights if p not in inline),
            tuple(
                _expected(layouts[t], values[t], p, form, placed)
                for t, p in zip(cluster.outputs, form.outputs, strict=True)
            ),
            max(_tolerance(graph.types[t]) for t in cluster.outputs),
        )

    flags = target.flags
    if candidate.hint:
        flags = (*flags, target.data_tiling_flag)
    inline = {
        p: splats[t]
        for t, p in zip(cluster.weights, form.weights, strict=True)
        if t in splats and not layouts[t].pads(graph.types[t].shape)
    }
    return _benchmark(form, inline, flags, case)


def conversion_benchmark(
    graph: Graph,
    tensor: int,
    source: Layout,
    goal: Layout,
    form: PhysicalForm,
    target: Target,
) -> Benchmark:
    """A conversion as it is compiled and timed alone."""
    kind = graph.types[tensor]

    def case() -> Case:
        values = _random(kind, np.random.default_rng(0), positive=False)
        placed = {form.inputs[0]: _placed(source, values)}
        result = _expected(goal, values, form.outputs[0], form, placed)
        return Case((placed[form.inputs[0]],), (), (result,), 0.0)

    return _benchmark(form, {}, target.flags, case)


def _placed(layout: Layout, values: Array) -> Array:
    """The array in memory; ones where the padding may be anything, since NaN would spread."""
    return layout.apply(values, 1 if layout.padding is Padding.ANY else None)


def _expected(
    layout: Layout, values: Array, place: int, form: PhysicalForm, placed: Values
) -> Array:
    """What has to come out: of padding that may be anything, what the form's own ops make of it."""
    memory = _placed(layout, values)
    if layout.padding is not Padding.ANY or not layout.pads(values.shape):
        return memory
    inside = layout.apply(np.ones(values.shape, np.bool_), padding=False)
    return np.where(inside, memory, evaluate(form.graph, placed)[place])


def splat_line(name: str, value: str, kind: TensorType) -> str:
    """A splat constant as a line of MLIR."""
    return f"  {name} = arith.constant dense<{value.split(':', maxsplit=1)[0].strip()}> : {kind}"


def _benchmark(
    form: PhysicalForm, inline: dict[int, str], flags: tuple[str, ...], case: Callable[[], Case]
) -> Benchmark:
    graph = form.graph

    def operand(tensor: int) -> Operand:
        return Operand(f"%t{tensor}", str(graph.types[tensor]))

    lines = [splat_line(f"%t{t}", value, graph.types[t]) for t, value in inline.items()]
    return Benchmark(
        tuple(map(operand, dict.fromkeys(form.inputs))),
        tuple(operand(t) for t in form.weights if t not in inline),
        "\n".join([*lines, body_text(emitted(form))]),
        tuple(Result(f"%t{t}", str(graph.types[t])) for t in form.outputs),
        flags,
        case,
    )


def _reference(graph: Graph, cluster: Cluster) -> Values:
    """Random inputs of a cluster and what it computes from them, by the oracle."""
    ops, tensors = counted_from_zero(graph.ops[i] for i in cluster.ops)
    splats = graph.splats
    values = _evaluated(
        Graph(
            tuple(graph.types[t] for t in tensors),
            ops,
            tuple(map(tensors.index, (*cluster.inputs, *cluster.weights))),
            tuple(map(tensors.index, cluster.outputs)),
        ),
        tuple((tensors.index(t), splats[t]) for t in cluster.weights if t in splats),
    )
    return {tensor: values[place] for place, tensor in enumerate(tensors)}


@lru_cache(maxsize=4)
def _evaluated(graph: Graph, splats: tuple[tuple[int, str], ...]) -> Values:
    """All tensors of a small graph on random inputs; `splats` are inputs of one value each.

    Falls back to positive inputs where random signs give no finite result (logarithms, roots).
    """
    values: Values = {}
    for positive in (False, True):
        rng = np.random.default_rng(0)
        values = {t: _random(graph.types[t], rng, positive) for t in graph.inputs}
        for op in graph.ops:
            if isinstance(op, Gather):
                values[op.indices] %= graph.types[op.table].shape[op.axis]
        for t, splat in splats:
            kind = graph.types[t]
            value = constant(splat, kind.element)
            if value is None:
                raise OracleError(f"oracle: unknown element type {kind.element}")
            values[t] = np.full(kind.shape, value, numpy_dtype(kind.element))
        values = evaluate(graph, values)
        if all(_finite(values[t]) for t in graph.outputs):
            break
    return values


def _finite(array: Array) -> bool:
    return array.dtype.kind in "iub" or bool(np.isfinite(array.astype(np.float64)).all())


def _random(kind: TensorType, rng: np.random.Generator, positive: bool) -> Array:
    dtype = numpy_dtype(kind.element)
    if dtype is None:
        raise OracleError(f"oracle: unknown element type {kind.element}")
    if not is_float(kind.element):
        low, high = (0, 2) if kind.element == "i1" else (0 if positive else -4, 5)
        return rng.integers(low, high, kind.shape).astype(dtype)
    if positive:
        return rng.uniform(0.5, 1.5, kind.shape).astype(dtype)
    return rng.standard_normal(kind.shape, dtype=np.float32).astype(dtype)


def _tolerance(kind: TensorType) -> float:
    return _TOLERANCE.get(kind.element, 0.0)
