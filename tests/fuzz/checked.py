"""One graph compared with the oracle: every candidate, every conversion, several whole plans."""

from __future__ import annotations

import random
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import iree.compiler.ir as ir
import numpy as np

from layoutopt.candidates.candidate import Candidate, PhysicalForm, physical_form
from layoutopt.candidates.choice import needed_conversions
from layoutopt.candidates.conversion import conversion_form, lower_packs
from layoutopt.candidates.explore import Space, explore
from layoutopt.ir.graph import Constant, Graph, Opaque
from layoutopt.ir.layout import Layout
from layoutopt.ir.lowered import Lowered
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.types import Array, numpy_dtype
from layoutopt.mlir.read.lift import Lifted, lift
from layoutopt.options import Objective
from layoutopt.oracle import evaluate
from layoutopt.profiles.target import Target
from tests.fuzz.comparison import Bug, apart, general_tolerance
from tests.fuzz.coverage import Coverage
from tests.fuzz.plans import random_plan
from tests.fuzz.program import Written
from tests.property.rules.short_splits import HALVING

_OWN = re.compile("/(layoutopt|rules|solver)/")
UNSOUND = "computes something else than the model's own op"
GARBAGE = 5
"""What lies in padding that may be anything."""


@dataclass(frozen=True)
class Checks:
    """How much of a graph is checked."""

    plans: int = 3
    seed: int = 0


def parsed(context: Any, written: Written) -> Any:
    """The module of one function. Raises MLIRError where the generator wrote no MLIR."""
    with context:
        return ir.Module.parse(written.text)


def check(
    written: Written,
    context: Any,
    target: Target,
    objective: Objective,
    checks: Checks,
    coverage: Coverage,
) -> Bug | None:
    """Lift, explore and evaluate one function; the first bug found."""
    module = parsed(context, written)
    try:
        with context:
            lifted = lift(list(module.body.operations)[-1], {})
        assert lifted is not None
        space = explore(lifted.graph, target, objective, rules=HALVING)
        return _Case(written, lifted, space, checks, coverage).run()
    except Exception as error:
        return bug_of(error)


def bug_of(error: BaseException) -> Bug:
    """An exception as a bug, named by the innermost function of layoutopt."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/tests/" not in f.filename and _OWN.search(f.filename)]
    frame = (own or list(frames))[-1]
    place = f"{frame.filename.rsplit('/', 1)[-1]}:{frame.name}"
    return Bug("traceback", f"{place} {type(error).__name__}", str(error)[:300])


class _Case:
    def __init__(
        self, written: Written, lifted: Lifted, space: Space, checks: Checks, coverage: Coverage
    ) -> None:
        self.written, self.space, self.checks, self.coverage = written, space, checks, coverage
        self.lifted = lifted
        self.relative = general_tolerance(written.results)
        self.graph = space.egraph.graph
        self.values = self._values()
        self.forms = written_forms(space)

    def run(self) -> Bug | None:
        self.coverage.space(self.space)
        for found in (*self._rewritten(), *self._candidates(), *self._conversions()):
            return found
        return next(self._plans(), None)

    def _values(self) -> dict[int, Array]:
        """All tensors: inputs from the seed, constants as written, the rest by the oracle."""
        rng = np.random.default_rng(self.checks.seed)
        own = self.lifted.graph
        written = iter([c for c in self.written.constants if c.size])  # empty ones are not lifted
        values: dict[int, Array] = {}
        arrays = [a.array(rng) for a in self.written.arguments]
        for tensor in own.inputs:
            place = self._argument(tensor)
            values[tensor] = arrays[place] if place is not None else self._anything(tensor, rng)
        for tensor in _constants(own):
            if self.lifted.values[tensor].owner.name == "arith.constant":
                values[tensor] = next(written)
            else:  # a tensor.empty whose shape alone is read
                values[tensor] = self._anything(tensor, rng)
        self.given = values
        ops = tuple(op for op in own.ops if not isinstance(op, Constant | Opaque))
        self.own = evaluate(replace(own, ops=ops), values)
        grown = tuple(op for op in self.graph.ops if not isinstance(op, Constant | Opaque))
        return evaluate(replace(self.graph, ops=grown), values)

    def _argument(self, tensor: int) -> int | None:
        value = self.lifted.values[tensor]
        arguments = list(self.lifted.block.arguments)
        return arguments.index(value) if value in arguments else None

    def _anything(self, tensor: int, rng: np.random.Generator) -> Array:
        """Contents of a tensor from an op that is not seen through."""
        kind = self.lifted.graph.types[tensor]
        dtype = numpy_dtype(kind.element)
        assert dtype is not None, kind
        return rng.integers(0, 2, kind.shape).astype(dtype)

    def _near(self, got: Array, wanted: Array) -> str:
        scale = float(np.max(np.abs(wanted.astype(np.float64)))) if wanted.size else 0.0
        if not np.isfinite(scale):
            finite = wanted.astype(np.float64)
            finite = finite[np.isfinite(finite)]
            scale = float(np.max(np.abs(finite))) if finite.size else 0.0
        return apart(got, wanted, self.relative * max(scale, 1.0) if _floats(wanted) else 0.0)

    def _rewritten(self) -> Iterator[Bug]:
        """Rewrites that are not sound; the model's tensors through ops made ready for planning."""
        for refusal in self.space.refusals:
            if refusal.reason.startswith(UNSOUND):
                yield Bug("wrong", f"rewrite {refusal.rule}", refusal.reason)
        for tensor in self.lifted.graph.outputs:
            found = self._near(self.values[tensor], self.own[tensor])
            if found:
                yield Bug("wrong", "normalization", found)

    def _candidates(self) -> Iterator[Bug]:
        for candidate, form in self.forms.items():
            cluster = self.space.clusters[candidate.cluster]
            self.coverage.candidate(self.graph, cluster, candidate)
            yield from self._candidate(candidate, form)

    def _candidate(self, candidate: Candidate, form: PhysicalForm) -> Iterator[Bug]:
        cluster, layouts = self.space.clusters[candidate.cluster], dict(candidate.layouts)
        read = zip((*cluster.inputs, *cluster.weights), (*form.inputs, *form.weights), strict=True)
        memory = evaluate(form.graph, {p: placed(layouts[t], self.values[t]) for t, p in read})
        for tensor, place in zip(cluster.outputs, form.outputs, strict=True):
            for found in self._memory(layouts[tensor], tensor, memory[place]):
                rules = "+".join(self.space.egraph.rule[cluster.root]) or "own"
                kind = type(self.graph.ops[cluster.root]).__name__
                written = candidate.form.value
                yield Bug("wrong", f"candidate {rules} {kind} {written}", found)

    def _memory(self, layout: Layout, tensor: int, memory: Array) -> Iterator[str]:
        """How memory differs from a tensor in a layout, and from its padding contract."""
        wanted = self.values[tensor]
        found = self._near(layout.undo(memory, wanted.shape), wanted)
        if found:
            yield found
        elif layout.padding is not Padding.ANY and layout.pads(wanted.shape):
            found = self._near(memory, layout.apply(wanted))
            if found:
                yield f"padding: {found}"

    def _conversions(self) -> Iterator[Bug]:
        needed = needed_conversions(self.graph, self.space.clusters, tuple(self.forms))
        for conversion in needed:
            tensor, source, target = conversion.tensor, conversion.source, conversion.target
            form = conversion_form(self.graph, conversion)
            self.coverage.conversion(form.graph)
            given = {form.inputs[0]: placed(source, self.values[tensor])}
            for graph in (form.graph, lower_packs(form.graph)):
                memory = evaluate(graph, given)[form.outputs[0]]
                for found in self._memory(target, tensor, memory):
                    yield Bug("wrong", "conversion", f"{source} to {target}: {found}")

    def _plans(self) -> Iterator[Bug]:
        rng = random.Random(self.checks.seed)
        for number in range(self.checks.plans):
            free_io = number == 1
            lowered, io = random_plan(self.space, tuple(self.forms), rng, free_io)
            made = self._run(lowered, io)
            for tensor, got in made.items():
                found = self._near(got, self.own[tensor])
                if found:
                    yield Bug("wrong", f"plan{' with free io' if io else ''}", found)

    def _run(self, lowered: Lowered, io: dict[int, Layout]) -> dict[int, Array]:
        """The outputs of a plan; weights are hoisted as at compile time."""
        values = {}
        for tensor, place in lowered.inputs.items():
            array = self.given[tensor]
            if tensor in io:
                array = io[tensor].apply(array).reshape(array.shape)
            values[place] = array
        for p in lowered.hoisted:
            given = {p.inputs[t]: self.given[t] for t in p.inputs}
            values[p.planned_tensor] = evaluate(_runnable(p.graph), given)[p.result]
        found = evaluate(_runnable(lowered.graph), values)
        made = {}
        for tensor, place in lowered.outputs.items():
            array = found[place]
            if tensor in io and tensor not in self.graph.inputs:
                layout = io[tensor]
                whole = array.reshape(layout.physical_shape(array.shape))
                array = layout.undo(whole, array.shape)
            made[tensor] = array
        return made


def written_forms(space: Space) -> dict[Candidate, PhysicalForm]:
    """The candidates that can be written, as the planner finds them."""
    graph = space.egraph.graph
    forms = ((c, physical_form(graph, space.clusters[c.cluster], c)) for c in space.candidates)
    return {c: form for c, form in forms if not isinstance(form, Refusal)}


def placed(layout: Layout, values: Array) -> Array:
    """The tensor in memory, with garbage where the padding may be anything."""
    return layout.apply(values, GARBAGE if layout.padding is Padding.ANY else None)


def _constants(graph: Graph) -> list[int]:
    return [op.result for op in graph.ops if isinstance(op, Constant)]


def _runnable(graph: Graph) -> Graph:
    return replace(graph, ops=tuple(op for op in graph.ops if not isinstance(op, Constant)))


def _floats(array: Array) -> bool:
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"
