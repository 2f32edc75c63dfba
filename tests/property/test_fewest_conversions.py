"""Whole plans with the fewest conversions: equal to the model, every contraction packed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutopt.candidates.candidate import physical_form
from layoutopt.candidates.cluster import form_clusters
from layoutopt.candidates.enumeration import enumerate_candidates
from layoutopt.candidates.matmul_ways import ContractionForms
from layoutopt.candidates.packing.options import PackingOptions
from layoutopt.candidates.saturation import saturate
from layoutopt.candidates.space import layout_sets
from layoutopt.ir.affine import plain_map
from layoutopt.ir.graph import (
    Constant,
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Pack,
    Structured,
    Uninitialized,
    Unpack,
)
from layoutopt.ir.lowered import Lowered
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body
from layoutopt.ir.types import Array
from layoutopt.options import Objective, Options
from layoutopt.oracle import evaluate
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.prices import Analytic, Price, Work
from layoutopt.pricing.source import PriceSource
from layoutopt.profiles.target import Tile, load_target
from layoutopt.runtime.progress import Progress
from tests.counting import counted
from tests.planning import setting
from tests.property.layouts import small_integers

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION
ADD = Body(("f32",) * 3, (ScalarOp("arith.addf", (0, 1), "f32"),), (3,))
TARGET = replace(load_target("mi355x"), blocks={"f32": (Tile(4, 4, 4, mmt4d=False),)})


def layers(rows: int, widths: list[int]) -> Graph:
    """Matmul and bias, again and again."""
    g = GraphBuilder()
    first = x = g.tensor((rows, widths[0]), "f32")
    for k, n in itertools.pairwise(widths):
        weight, bias = g.tensor((k, n), "f32"), g.tensor((n,), "f32")
        g.add(Constant(weight))
        g.add(Constant(bias))
        product, total = g.tensor((rows, n), "f32"), g.tensor((rows, n), "f32")
        g.add(
            Structured(
                (x, weight),
                (Fill("0.0 : f32"),),
                (product,),
                (rows, n, k),
                (P, P, R),
                (plain_map([0, 2]), plain_map([2, 1]), plain_map([0, 1])),
                contraction_body("f32", "f32", "f32"),
            )
        )
        g.add(
            Structured(
                (product, bias),
                (Uninitialized(),),
                (total,),
                (rows, n),
                (P, P),
                (plain_map([0, 1]), plain_map([1]), plain_map([0, 1])),
                ADD,
            )
        )
        x = total
    return g.build((first,), (x,))


def planned(graph: Graph, free_io: bool = False, lower_packs: bool = False) -> GraphPlan:
    options = Options(
        objective=Objective.CONVERSIONS,
        free_io_layout=free_io,
        lower_packs=lower_packs,
        time_limit_s=20,
    )
    return plan_graph(graph, setting(TARGET, Analytic(TARGET), options))


def run(graph: Graph, lowered: Lowered, inputs: dict[int, Array]) -> dict[int, Array]:
    """The outputs of the lowered plan; weights are hoisted as at compile time."""
    held = {op.result: small_integers(graph.types[op.result], op.result) for op in constants(graph)}
    values = {place: (held | inputs)[t] for t, place in lowered.inputs.items()}
    for p in lowered.hoisted:
        values[p.planned_tensor] = evaluate(p.graph, {p.inputs[t]: held[t] for t in p.inputs})[
            p.result
        ]
    ops = tuple(op for op in lowered.graph.ops if not isinstance(op, Constant))
    found = evaluate(replace(lowered.graph, ops=ops), values)
    return {t: found[place] for t, place in lowered.outputs.items()}


def constants(graph: Graph) -> list[Constant]:
    return [op for op in graph.ops if isinstance(op, Constant)]


def expected(graph: Graph, inputs: dict[int, Array]) -> Array:
    held = {op.result: small_integers(graph.types[op.result], op.result) for op in constants(graph)}
    ops = tuple(op for op in graph.ops if not isinstance(op, Constant))
    return evaluate(replace(graph, ops=ops), inputs | held)[graph.outputs[0]]


@given(st.integers(1, 12), st.lists(st.integers(1, 12), min_size=2, max_size=4), st.booleans())
@settings(max_examples=30, deadline=None)
def test_any_mlp_keeps_its_results(rows: int, widths: list[int], lower_packs: bool) -> None:
    graph = layers(rows, widths)
    inputs = {graph.inputs[0]: small_integers(graph.types[graph.inputs[0]], 7)}
    plan = planned(graph, lower_packs=lower_packs)
    packs, unpacks, _ = counted(plan.lowered())
    assert packs <= 1
    assert unpacks <= 1
    if lower_packs:
        assert not packs + unpacks
    made = run(graph, plan.lowered(), inputs)
    assert np.array_equal(made[graph.outputs[0]], expected(graph, inputs))


@dataclass(frozen=True)
class MadeUp:
    """Contractions without tiles are dear; so are packs, or what stands in their place."""

    dear_packs: bool
    source = PriceSource.ANALYTIC

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        """A price for each piece of work."""
        return [self._price(w.form.graph) for w in work]

    def stored(self, work: Sequence[Work]) -> list[Price | None]:
        """Nothing."""
        return [None] * len(work)

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        """Nothing runs."""
        return None

    def _price(self, graph: Graph) -> Price:
        contractions = [op for op in graph.ops if isinstance(op, Structured) and op.is_contraction]
        if any(len(op.domain) <= 3 for op in contractions):
            return Price(10**9)
        packs = any(isinstance(op, Pack | Unpack) for op in graph.ops)
        return Price(10 if contractions else 1000 if packs == self.dear_packs else 100)


@pytest.mark.parametrize("dear_packs", [True, False])
def test_a_conversion_is_written_as_what_costs_less(dear_packs: bool) -> None:
    graph = layers(8, [8, 12, 8, 8])
    target = replace(TARGET, tiles={"f32": (Tile(4, 4, 4, mmt4d=False),)}, data_tiling_flags=())
    plan = plan_graph(graph, setting(target, MadeUp(dear_packs), Options(time_limit_s=20)))
    assert all(c.form.is_packed for c in plan.choice.candidates)
    assert set(plan.choice.lowered) == (set(plan.choice.conversions) if dear_packs else set())
    assert counted(plan.lowered()) == ((0, 0, 2) if dear_packs else (1, 1, 0))
    inputs = {graph.inputs[0]: small_integers(graph.types[graph.inputs[0]], 7)}
    made = run(graph, plan.lowered(), inputs)
    assert np.array_equal(made[graph.outputs[0]], expected(graph, inputs))


def test_three_layers_need_one_pack_and_one_unpack() -> None:
    plan = planned(layers(8, [8, 12, 8, 8]))
    assert counted(plan.lowered()) == (1, 1, 0)
    assert all(c.form.is_packed for c in plan.choice.candidates)


def test_free_inputs_and_outputs_need_none() -> None:
    graph = layers(8, [8, 12, 8, 8])
    plan = planned(graph, free_io=True)
    assert counted(plan.lowered()) == (0, 0, 0)
    x, y = graph.inputs[0], graph.outputs[0]
    array = small_integers(graph.types[x], 7)
    packed = plan.io[x].apply(array).reshape(array.shape)
    found = run(graph, plan.lowered(), {x: packed})[y]
    memory = found.reshape(plan.io[y].physical_shape(found.shape))
    assert np.array_equal(plan.io[y].undo(memory, found.shape), expected(graph, {x: array}))


@pytest.mark.parametrize("rows", [7, 1])
def test_sizes_that_no_tile_divides_stay_untiled(rows: int) -> None:
    graph = layers(rows, [7, 8])
    inputs = {graph.inputs[0]: small_integers(graph.types[graph.inputs[0]], 7)}
    made = run(graph, planned(graph).lowered(), inputs)
    assert np.array_equal(made[graph.outputs[0]], expected(graph, inputs))


@given(st.sampled_from([8, 12]), st.sampled_from([8, 12]), st.sampled_from([4, 6, 8]))
@settings(max_examples=20, deadline=None)
def test_outputs_in_other_layouts_are_right(m: int, n: int, k: int) -> None:
    graph = layers(m, [k, n, 4])
    egraph = saturate(graph)
    clusters = form_clusters(egraph)
    options = PackingOptions({"f32": (Tile(4, 4, 1),)})
    found, _ = enumerate_candidates(
        egraph, clusters, layout_sets(egraph, options, 12), ContractionForms(), options
    )
    held = {op.result: small_integers(graph.types[op.result], op.result) for op in constants(graph)}
    x = graph.inputs[0]
    ops = tuple(op for op in graph.ops if not isinstance(op, Constant))
    values = evaluate(replace(graph, ops=ops), held | {x: small_integers(graph.types[x], 7)})
    packed = [c for c in found if c.form.is_packed]
    assert len({c.layout_of(clusters[c.cluster].outputs[0]) for c in packed}) > 1
    for candidate in packed:
        cluster = clusters[candidate.cluster]
        form = physical_form(egraph.graph, cluster, candidate)
        assert not isinstance(form, Refusal)
        read = zip((*cluster.inputs, *cluster.weights), (*form.inputs, *form.weights), strict=True)
        memory = evaluate(form.graph, {p: candidate.layout_of(t).apply(values[t]) for t, p in read})
        for t, p in zip(cluster.outputs, form.outputs, strict=True):
            assert np.array_equal(candidate.layout_of(t).apply(values[t]), memory[p])
