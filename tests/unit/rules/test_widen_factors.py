"""Factors that are widened before the contraction: once for all that read them, weights ahead."""

from __future__ import annotations

from dataclasses import replace

import pytest

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.egraph import EGraph
from layoutopt.candidates.explore import Space, explore
from layoutopt.candidates.saturation import saturate
from layoutopt.ir.graph import FusionBarrier, Graph, IteratorType, Structured
from layoutopt.ir.scalar import contraction_body, is_widening
from layoutopt.options import Budget, Objective, Options
from layoutopt.planning.rules_in_use import rules_in_use
from layoutopt.profiles.target import load_target
from layoutopt.rules.rewrites.widen_factors import WidenFactors
from tests.parsing import lifted
from tests.planning import planned

TWO = """
func.func @main(%x: tensor<8x64x{narrow}>, %v: tensor<64x64x{narrow}>)
    -> (tensor<8x64xf32>, tensor<8x64xf32>) {{
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense_resource<w> : tensor<64x64x{narrow}>
  %e = tensor.empty() : tensor<8x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64x{narrow}>, tensor<64x64x{narrow}>)
      outs(%f : tensor<8x64xf32>) -> tensor<8x64xf32>
  %z = linalg.matmul ins(%x, %v : tensor<8x64x{narrow}>, tensor<64x64x{narrow}>)
      outs(%f : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y, %z : tensor<8x64xf32>, tensor<8x64xf32>
}}
"""


def widenings(graph: Graph) -> list[Structured]:
    return [op for op in graph.ops if isinstance(op, Structured) and is_widening(op.body)]


def of_f32(egraph: EGraph) -> list[Structured]:
    """The contractions that the rule made."""
    graph = egraph.graph
    return [
        op
        for op, rules in zip(graph.ops, egraph.rule, strict=True)
        if isinstance(op, Structured) and op.is_contraction and "widen-factors" in rules
    ]


@pytest.mark.parametrize("narrow", ["f16", "bf16"])
def test_a_tensor_is_widened_once_for_all_that_read_it(narrow: str) -> None:
    graph = lifted(TWO.format(narrow=narrow))
    egraph = saturate(graph)
    assert [op.sources[0] for op in widenings(egraph.graph)].count(graph.inputs[0]) == 1
    first, second = of_f32(egraph)
    assert first.sources[0] == second.sources[0]
    assert {egraph.graph.types[t].element for t in (*first.inputs, *second.inputs)} == {"f32"}


def test_weights_are_widened_ahead_of_time() -> None:
    egraph = saturate(lifted(TWO.format(narrow="f16")))
    first, second = of_f32(egraph)
    assert first.sources[1] in egraph.graph.constants
    assert second.sources[1] not in egraph.graph.constants


def test_what_is_widened_stays_so_in_the_plan() -> None:
    """IREE would widen it in each contraction anew: one barrier behind each widened argument."""

    def price(space: Space, candidate: Candidate) -> int:
        rules = space.egraph.rule[space.clusters[candidate.cluster].root]
        plain = all(layout.is_row_major for _, layout in candidate.layouts)
        return 1 if plain and "widen-factors" in rules else 1000

    found = planned(lifted(TWO.format(narrow="f16")), price, 10_000)
    ran = widenings(found.graph)
    assert len(ran) == 2
    assert {op.results[0] for op in ran} <= {
        op.source for op in found.graph.ops if isinstance(op, FusionBarrier)
    }
    (weights,) = (w for w in found.hoisted if widenings(w.graph))
    assert weights.graph.types[weights.graph.outputs[0]].element == "f32"


@pytest.mark.parametrize(
    ("target", "objective", "widens"),
    [
        ("x86-64-avx512", Objective.LATENCY, True),
        ("x86-64-avx512", Objective.CONVERSIONS, False),
        ("mi355x", Objective.LATENCY, False),
    ],
)
def test_factors_stay_narrow_where_they_are_multiplied_so(
    target: str, objective: Objective, widens: bool
) -> None:
    space = explore(lifted(TWO.format(narrow="f16")), load_target(target), objective)
    assert any("widen-factors" in rules for rules in space.egraph.rule) == widens


@pytest.mark.parametrize("budget", [None, Budget(1 << 30)])
def test_a_weight_budget_leaves_weights_in_their_type(budget: Budget | None) -> None:
    names = [rule.name for rule in rules_in_use(Options(weight_budget=budget))]
    assert ("widen-factors" in names) == (budget is None)


def test_only_contractions_of_narrow_factors_are_widened() -> None:
    rule = WidenFactors()
    graph = rule.examples[0].graph
    (op,) = graph.ops
    assert isinstance(op, Structured)
    assert rule.match(graph, 0) is not None
    copied = replace(op, iterators=(IteratorType.PARALLEL,) * 3)
    assert rule.match(replace(graph, ops=(copied,)), 0) is None
    *before, add = op.body.ops
    rounded = replace(add, attributes=(("roundingmode", "1 : i32"),))
    other = replace(op, body=replace(op.body, ops=(*before, rounded)))
    assert rule.match(replace(graph, ops=(other,)), 0) is None, "it is no named contraction"
    wide = tuple(replace(kind, element="f32") for kind in graph.types)
    body = contraction_body("f32", "f32", "f32")
    of_wide = replace(graph, types=wide, ops=(replace(op, body=body),))
    assert rule.match(of_wide, 0) is None


def test_the_contraction_as_it_came_keeps_all_its_layouts() -> None:
    assert saturate(lifted(TWO.format(narrow="f16"))).canonicalized == frozenset()
