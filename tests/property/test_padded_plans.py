"""Whole plans over padded tiles: no size divides, and f(0) may leave other values there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from layoutopt.candidates.candidate import physical_form
from layoutopt.candidates.stable_names import StableNames
from layoutopt.ir.affine import IndexMap, identity_map, plain_map
from layoutopt.ir.graph import Constant, Fill, Graph, GraphBuilder, Structured, Uninitialized
from layoutopt.ir.neutral import Padding, neutral
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body
from layoutopt.ir.types import Array
from layoutopt.options import Objective
from layoutopt.oracle import evaluate
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.plan_file import PlanFile, chosen, function_plan, read_plan, write_plan
from tests.parsing import lifted
from tests.property.layouts import small_integers
from tests.property.test_fewest_conversions import P, R, constants, expected, planned, run

PRIMES = st.sampled_from([5, 7, 11])
STEPS = st.sampled_from(["matmul", "shift", "bias", "residual", "scale", "column"])
FOLDS = ["arith.addf", "arith.mulf", "arith.maximumf", "arith.minimumf"]


class Model:
    """A chain of ops on a matrix, each with small-integer constants of its own."""

    def __init__(self, rows: int, columns: int) -> None:
        self.g = GraphBuilder()
        self.first = self.x = self.g.tensor((rows, columns), "f32")

    def constant(self, *shape: int) -> int:
        tensor = self.g.tensor(shape, "f32")
        self.g.add(Constant(tensor))
        return tensor

    def matmul(self, width: int) -> None:
        rows, k = self.g.types[self.x].shape
        weight, made = self.constant(k, width), self.g.tensor((rows, width), "f32")
        self.g.add(
            Structured(
                (self.x, weight),
                (Fill("0.0 : f32"),),
                (made,),
                (rows, width, k),
                (P, P, R),
                (plain_map([0, 2]), plain_map([2, 1]), plain_map([0, 1])),
                contraction_body("f32", "f32", "f32"),
            )
        )
        self.x = made

    def elementwise(self, kind: str) -> None:
        shape = self.g.types[self.x].shape
        made = self.g.tensor(shape, "f32")
        both = identity_map(2)
        if kind == "shift":
            one = ScalarOp("arith.constant", (), "f32", (("value", "1.0 : f32"),))
            body = Body(("f32", "f32"), (one, ScalarOp("arith.addf", (0, 2), "f32")), (3,))
            sources: tuple[int, ...] = (self.x,)
            maps: tuple[IndexMap, ...] = (both, both)
        else:
            others = {
                "bias": (plain_map([1]), (shape[1],)),
                "column": (plain_map([0]), (shape[0],)),
                "scale": (plain_map([1]), (shape[1],)),
                "residual": (both, shape),
            }
            index_map, size = others[kind]
            name = "arith.mulf" if kind == "scale" else "arith.addf"
            body = Body(("f32",) * 3, (ScalarOp(name, (0, 1), "f32"),), (3,))
            sources = (self.x, self.constant(*size))
            maps = (both, index_map, both)
        self.g.add(Structured(sources, (Uninitialized(),), (made,), shape, (P, P), maps, body))
        self.x = made

    def fold(self, name: str, axis: int) -> None:
        shape = self.g.types[self.x].shape
        made = self.g.tensor((shape[1 - axis],), "f32")
        value = neutral(name, "f32")
        assert value is not None
        self.g.add(
            Structured(
                (self.x,),
                (Fill(value),),
                (made,),
                shape,
                (R, P) if axis == 0 else (P, R),
                (identity_map(2), plain_map([1 - axis])),
                Body(("f32", "f32"), (ScalarOp(name, (1, 0), "f32"),), (2,)),
            )
        )
        self.x = made

    def graph(self) -> Graph:
        return self.g.build((self.first,), (self.x,))


@given(PRIMES, PRIMES, st.lists(st.tuples(STEPS, PRIMES), min_size=1, max_size=4), st.data())
@settings(max_examples=60, deadline=None)
def test_padded_plans_keep_their_results(
    rows: int, columns: int, steps: list[tuple[str, int]], data: st.DataObject
) -> None:
    model = Model(rows, columns)
    model.matmul(7)
    for kind, width in steps:
        model.matmul(width) if kind == "matmul" else model.elementwise(kind)
    if data.draw(st.booleans()):
        model.fold(data.draw(st.sampled_from(FOLDS)), data.draw(st.integers(0, 1)))
    graph = model.graph()
    plan = planned(graph, lower_packs=data.draw(st.booleans()))
    types = plan.egraph.graph.types
    padded = [x for c in plan.choice.candidates for t, x in c.layouts if x.pads(types[t].shape)]
    assert padded
    selects = any("arith.select" in str(op) for op in plan.lowered().graph.ops)
    event("masked" if selects else "not masked")
    array = small_integers(types[graph.inputs[0]], 7)
    if data.draw(st.booleans()):  # what padding meets
        array[data.draw(st.integers(0, rows - 1))] = data.draw(st.sampled_from([np.inf, np.nan]))
    inputs = {graph.inputs[0]: array}
    found = run(graph, plan.lowered(), inputs)[graph.outputs[0]]
    assert_near(found, expected(graph, inputs))
    every_candidate(plan, inputs)


def assert_near(found: Array, wanted: Array) -> None:
    assert np.allclose(found, wanted, rtol=1e-5, atol=0, equal_nan=True)


COLUMN_SUMS = """
#whole = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#v = affine_map<(d0) -> (d0)>
func.func @f(%a: tensor<5x3xf32>, %b: tensor<3x11xf32>, %c: tensor<7x5xf32>)
    -> (tensor<11xf32>, tensor<7x11xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x11xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<5x11xf32>) -> tensor<5x11xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<5x3xf32>, tensor<3x11xf32>)
    outs(%f : tensor<5x11xf32>) -> tensor<5x11xf32>
  %e1 = tensor.empty() : tensor<11xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<11xf32>) -> tensor<11xf32>
  %1 = linalg.generic {indexing_maps = [#whole, #column],
    iterator_types = ["reduction", "parallel"]}
    ins(%0 : tensor<5x11xf32>) outs(%f1 : tensor<11xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %in, %out : f32
    linalg.yield %v : f32
  } -> tensor<11xf32>
  %2 = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
    ins(%1 : tensor<11xf32>) outs(%e1 : tensor<11xf32>) {
  ^bb0(%in: f32, %out: f32):
    %one = arith.constant 1.0 : f32
    %v = arith.divf %one, %in : f32
    linalg.yield %v : f32
  } -> tensor<11xf32>
  %e3 = tensor.empty() : tensor<7x11xf32>
  %f3 = linalg.fill ins(%z : f32) outs(%e3 : tensor<7x11xf32>) -> tensor<7x11xf32>
  %3 = linalg.matmul ins(%c, %0 : tensor<7x5xf32>, tensor<5x11xf32>)
    outs(%f3 : tensor<7x11xf32>) -> tensor<7x11xf32>
  return %2, %3 : tensor<11xf32>, tensor<7x11xf32>
}"""


def test_infinities_do_not_meet_the_zeros_beside_them() -> None:
    """An infinite factor makes infinite sums, of which one divided by them is zero."""
    graph = lifted(COLUMN_SUMS)
    inputs = {t: np.ones(graph.types[t].shape, np.float32) for t in graph.inputs}
    inputs[graph.inputs[1]][:] = np.inf
    plan = planned(graph)
    assert any(x.pads(graph.types[t].shape) for c in plan.choice.candidates for t, x in c.layouts
               if t < len(graph.types))  # fmt: skip
    found = run(graph, plan.lowered(), inputs)
    assert np.array_equal(found[graph.outputs[0]], np.zeros(11, np.float32))
    assert np.array_equal(found[graph.outputs[1]], np.full((7, 11), np.inf, np.float32))
    every_candidate(plan, inputs)


def every_candidate(plan: GraphPlan, inputs: dict[int, Array]) -> None:
    """Each candidate makes what the model makes, and meets the padding contracts of its layouts."""
    graph = plan.egraph.graph
    held = {op.result: small_integers(graph.types[op.result], op.result) for op in constants(graph)}
    ops = tuple(op for op in graph.ops if not isinstance(op, Constant))
    values = evaluate(replace(graph, ops=ops), held | inputs)
    for candidate in plan.costs:
        cluster = plan.clusters[candidate.cluster]
        form = physical_form(graph, cluster, candidate)
        assert not isinstance(form, Refusal)
        read = zip((*cluster.inputs, *cluster.weights), (*form.inputs, *form.weights), strict=True)
        placed = {p: candidate.layout_of(t).apply(values[t]) for t, p in read}
        memory = evaluate(form.graph, placed)
        for t, p in zip(cluster.outputs, form.outputs, strict=True):
            layout = candidate.layout_of(t)
            back = layout.undo(memory[p], values[t].shape)
            assert_near(back, values[t])
            if layout.padding is not Padding.ANY:
                required = layout.apply(values[t])
                assert_near(memory[p], required)


def test_a_plan_with_padding_reads_back(tmp_path: Path) -> None:
    model = Model(5, 7)
    model.matmul(7)
    model.elementwise("column")
    graph = model.graph()
    plan = planned(graph)
    paddings = {x.padding for c in plan.costs for _, x in c.layouts}
    assert len(paddings) > 1
    choice = replace(plan.choice, lowered=frozenset(plan.choice.conversions[:1]))
    given = function_plan("main", graph, replace(plan, choice=choice))
    write_plan(tmp_path / "plan.json", PlanFile("host", Objective.LATENCY, (given,)))
    (found,) = read_plan(tmp_path / "plan.json").functions
    resolved = chosen(found, StableNames(plan.egraph.graph, plan.clusters))
    assert not isinstance(resolved, str)
    assert resolved[0] == choice
