"""Weights that functions and blocks share are hoisted once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layoutopt.errors import InputError
from layoutopt.mlir.module import Module, parse_module
from layoutopt.options import Budget, Objective, Options
from layoutopt.pipeline.block_flow import control_flow
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.planner import plan_graphs
from layoutopt.pricing.prices import Analytic
from layoutopt.profiles.target import load_target
from tests.planning import setting

X, W = "tensor<16x16xf32>", "tensor<16x16xf32>"


def matmul(result: str, x: str, w: str) -> str:
    return f"""
  {result}e = tensor.empty() : {X}
  {result}z = arith.constant 0.0 : f32
  {result}f = linalg.fill ins({result}z : f32) outs({result}e : {X}) -> {X}
  {result} = linalg.matmul ins({x}, {w} : {X}, {W}) outs({result}f : {X}) -> {X}"""


def function(name: str, weight: str) -> str:
    return f"""
func.func @{name}(%x: {X}) -> {X} {{
  %w = {weight} : {W}
  {matmul("%y", "%x", "%w")}
  return %y : {X}
}}"""


LOAD = "util.global.load immutable @shared"
SHARED = f"util.global private @shared = dense<0.5> : {W}"
LOOP = f"""
func.func @loop(%x: {X}) -> {X} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %w = {LOAD} : {W}
  {matmul("%b", "%x", "%w")}
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%h = %b) -> ({X}) {{
    {matmul("%y", "%h", "%w")}
    scf.yield %y : {X}
  }}
  return %r : {X}
}}"""


def planned(folder: Path, text: str) -> Module:
    """The module with each contraction packed."""
    (folder / "model.mlir").write_text(text)
    module = parse_module(folder / "model.mlir")
    target = load_target("host")
    options = Options(objective=Objective.CONVERSIONS)
    plans = plan_graphs(module.graphs, setting(target, Analytic(target), options))
    module.replace_all({place: plan.lowered() for place, plan in enumerate(plans)})
    assert module.operation.verify()
    return module


@pytest.mark.parametrize(
    ("text", "copies", "computed"),
    [
        (SHARED + function("one", LOAD) + function("two", LOAD), 1, 1),
        (SHARED + LOOP, 1, 1),
        (SHARED + function("one", LOAD) + LOOP, 1, 1),
        (function("one", "arith.constant dense<0.5>") + function("two", LOAD) + SHARED, 2, 1),
        (
            function("one", "arith.constant dense<0.5>")
            + function("two", "arith.constant dense<0.5>"),
            1,
            0,
        ),
        (
            function("one", "arith.constant dense<0.5>")
            + function("two", "arith.constant dense<0.25>"),
            2,
            0,
        ),
    ],
    ids=["functions", "loop", "both", "global and literal", "literals", "other values"],
)
def test_copies_are_as_many_as_there_are_weights(
    tmp_path: Path, text: str, copies: int, computed: int
) -> None:
    """``computed``: by the module, when it is loaded; those of literals have their elements."""
    found = planned(tmp_path, text)
    written = str(found.operation)
    assert written.count("util.global private @layoutopt_weight_") == copies
    assert written.count("util.initializer") == computed
    assert len([name for name in found.stored_globals if name != "shared"]) == copies
    loads = re.findall(r"util.global.load immutable @layoutopt_weight_(\d)", written)
    assert len(loads) == written.count("linalg.generic")
    assert len(set(loads)) == copies


def test_a_copy_is_made_behind_what_stores_its_source(tmp_path: Path) -> None:
    text = f"""
    {function("one", LOAD)}
    {function("two", LOAD)}
    util.global private @shared : {W}
    util.initializer {{
      %w = arith.constant dense<0.5> : {W}
      util.global.store %w, @shared : {W}
      util.return
    }}"""
    written = str(planned(tmp_path, text).operation)
    assert written.count("util.global private @layoutopt_weight_") == 1
    stores = [line.split("@")[1].split()[0] for line in written.splitlines() if ".store" in line]
    assert stores == ["shared", "layoutopt_weight_0"]


def test_blocks_that_are_planned_as_one_share_a_copy(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(SHARED + LOOP)
    module = parse_module(tmp_path / "model.mlir")
    flow = control_flow(module, {})
    assert flow.groups == ((0, 1),)
    target = load_target("host")
    one = 4 * 16 * 16

    def plans(budget: int) -> tuple[GraphPlan, ...]:
        options = Options(objective=Objective.CONVERSIONS, weight_budget=Budget(budget))
        return plan_graphs(module.graphs, setting(target, Analytic(target), options), (), flow)

    assert [len(plan.lowered().hoisted) for plan in plans(one)] == [1, 1]
    with pytest.raises(InputError, match=f"at least {one} bytes"):
        plans(one - 1)
