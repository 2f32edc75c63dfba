"""The examples of the library run, and show what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from iree.compiler import ir

from examples import optimize_in_memory, own_prices, own_rule, plan_a_graph
from layoutopt.candidates.soundness import Soundness
from layoutopt.ir.refusal import Refusal
from layoutopt.mlir.parse import FLAGS_ATTRIBUTE
from layoutopt.pricing.source import PriceSource
from layoutopt.rules.rule import Expression, apply
from layoutopt.solver import Status


def test_a_graph_built_by_hand_is_planned(tmp_path: Path) -> None:
    plan = plan_a_graph.main(tmp_path)
    assert plan.solution.status is Status.OPTIMAL
    assert len(plan.choice.candidates) == 2
    assert plan.lowered().graph.ops


@pytest.mark.long
def test_a_module_in_memory_is_optimized(tmp_path: Path) -> None:
    module = optimize_in_memory.main(tmp_path)
    assert isinstance(module, ir.Module)
    assert FLAGS_ATTRIBUTE in module.operation.attributes
    assert module.operation.verify()


@pytest.mark.long
def test_a_rule_of_ones_own_makes_candidates(tmp_path: Path) -> None:
    plan = own_rule.main(tmp_path)
    (found,) = plan.functions
    made_by = {name for names in found.plan.egraph.rule for name in names}
    assert "doubling-to-addition" in made_by
    made = found.plan.egraph.graph.ops[found.plan.egraph.original_ops :]
    assert made, "the sum is there beside the product"
    assert plan.report.verification is not None
    assert plan.report.verification.passed


def test_the_rule_holds_its_examples() -> None:
    rule = own_rule.DoublingToAddition()
    fires, refused = rule.examples
    found = apply(rule, fires.graph, fires.op)
    assert isinstance(found, Expression)
    assert Soundness().reason(fires.graph, fires.op, found) == ""
    other = apply(rule, refused.graph, refused.op)
    assert other == Refusal(refused.refusal or "")


def test_prices_of_ones_own_decide(tmp_path: Path) -> None:
    plan = own_prices.main(tmp_path)
    assert plan.report.cost_source is PriceSource.ANALYTIC
    assert plan.report.after.transpose < plan.report.before.transpose
