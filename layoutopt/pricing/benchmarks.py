"""From candidates to benchmarks: the text that is compiled and the arrays that it runs on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from layoutopt.candidates.candidate import Candidate, PhysicalForm
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.conversion import Conversion
from layoutopt.candidates.regions import emitted
from layoutopt.ir.concrete import concrete
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.size import Symbol, planned
from layoutopt.ir.size_values import symbols_in
from layoutopt.ir.types import Array, TensorType
from layoutopt.mlir.write.emit import body_text
from layoutopt.oracle.inputs import candidate_inputs
from layoutopt.pricing.measure.benchmark import PASSED_TYPE, Benchmark, Case, Operand, Result
from layoutopt.pricing.references import References
from layoutopt.pricing.symbol_values import passed_name, symbol_lines
from layoutopt.profiles.target import Target


def candidate_benchmark(
    graph: Graph,
    cluster: Cluster,
    candidate: Candidate,
    form: PhysicalForm,
    target: Target,
    references: References | None = None,
) -> Benchmark:
    """The candidate as it is compiled and timed alone.

    ``references``: what it has to compute; without it, what the oracle makes of its own ops.
    """
    layouts = dict(candidate.layouts)
    splats = graph.splats  # they stand inline, for codegen may use the value
    known = references or References(graph, ())

    def case() -> Case:
        reference = known.of(cluster)
        read = zip((*cluster.inputs, *cluster.weights), (*form.inputs, *form.weights), strict=True)
        placed = {p: _placed(layouts[t], reference.values[t]) for t, p in read}
        arguments = tuple(placed[p] for p in form.inputs)
        weights = tuple(placed[p] for p in form.weights if p not in inline)
        if reference.unchecked:
            return Case(arguments, weights, (), unchecked=reference.unchecked)
        return Case(
            arguments,
            weights,
            tuple(_placed(layouts[t], reference.values[t]) for t in cluster.outputs),
            tuple(
                _allowed(layouts[t], reference.values[t].shape, reference.errors.get(t))
                for t in cluster.outputs
            ),
        )

    flags = target.flags
    if candidate.form.is_data_tiled:
        flags = (*flags, *target.data_tiling_flags)
    inline = {
        p: splats[t]
        for t, p in zip(cluster.weights, form.weights, strict=True)
        if t in splats and not layouts[t].pads(graph.types[t].shape)
    }
    return _benchmark(form, inline, flags, case)


def conversion_benchmark(
    graph: Graph,
    conversion: Conversion,
    form: PhysicalForm,
    target: Target,
) -> Benchmark:
    """A conversion as it is compiled and timed alone."""
    kind = graph.types[conversion.tensor]
    source, goal = conversion.source, conversion.target

    def case() -> Case:
        moved = concrete(Graph((kind,), (), (0,), (0,)))
        values = next(candidate_inputs(moved, {}))[0]
        return Case(
            (_placed(source, values),),
            (),
            (_placed(goal, values),),
            (_allowed(goal, values.shape, None),),
        )

    return _benchmark(form, {}, target.flags, case)


def _placed(layout: Layout, values: Array) -> Array:
    """The array in memory; ones where the padding may be anything, since NaN would spread."""
    return layout.apply(values, 1 if layout.padding is Padding.ANY else None)


def _allowed(layout: Layout, shape: tuple[int, ...], errors: Array | None) -> Array:
    """How far each element in memory may be off: padding that may be anything, by any number."""
    if layout.padding is Padding.ANY and layout.pads(shape):
        inside = np.zeros(shape) if errors is None else errors
        return layout.apply(np.asarray(inside, np.float64), np.inf)
    if errors is None:
        return np.zeros(())
    return layout.apply(np.asarray(errors, np.float64), 0.0)


def splat_line(name: str, value: str, kind: TensorType) -> str:
    """A splat constant as a line of MLIR."""
    return f"  {name} = arith.constant dense<{value.split(':', maxsplit=1)[0].strip()}> : {kind}"


def _benchmark(
    form: PhysicalForm, inline: dict[int, str], flags: tuple[str, ...], case: Callable[[], Case]
) -> Benchmark:
    graph = form.graph

    def operand(tensor: int) -> Operand:
        return Operand(f"%t{tensor}", str(graph.types[tensor]))

    inputs = tuple(dict.fromkeys(form.inputs))
    body = body_text(emitted(form))
    asked, left = symbol_lines(inputs, graph.types, symbols_in([body]))
    splats = [splat_line(f"%t{t}", value, graph.types[t]) for t, value in inline.items()]
    sizes = [tuple(map(planned, graph.types[t].shape)) for t in inputs]
    sizes += [(s.planned,) for s in left]
    return Benchmark(
        (*map(operand, inputs), *(Operand(passed_name(s), PASSED_TYPE) for s in left)),
        tuple(operand(t) for t in form.weights if t not in inline),
        "\n".join([*splats, *asked, body]),
        tuple(Result(f"%t{t}", str(graph.types[t])) for t in form.outputs),
        flags,
        _with_sizes(case, left),
        sizes=() if all(graph.types[t].is_static for t in inputs) and not left else tuple(sizes),
    )


def _with_sizes(case: Callable[[], Case], passed: Sequence[Symbol]) -> Callable[[], Case]:
    """The same with the values of symbols behind the arguments."""
    if not passed:
        return case

    def whole() -> Case:
        found = case()
        values = tuple(np.asarray(s.planned, np.int64) for s in passed)
        return replace(found, arguments=(*found.arguments, *values))

    return whole
