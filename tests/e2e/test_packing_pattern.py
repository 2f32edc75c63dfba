"""A packing from a target's TOML, compiled and run by IREE."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from layoutopt.mlir.module import parse_module
from layoutopt.options import Effort, Objective, Options
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.prices import Analytic
from layoutopt.profiles.op_pattern import op_patterns
from layoutopt.profiles.target import load_target
from tests.e2e.test_fewest_conversions import MODEL
from tests.parameters import FLAGS
from tests.planning import setting
from tests.running import assert_same_results


def test_odd_tiles_and_orders_give_the_same_results(tmp_path: Path) -> None:
    row = {
        "named": "matmul",
        "tile": [6, 4, 8],
        "inner": ["k", "n", "m"],
        "outer": {"lhs": ["k", "m"], "rhs": ["n", "k"], "result": ["n", "m"]},
        "emit": "generic",
        "only": True,
    }
    (tmp_path / "model.mlir").write_text(MODEL, encoding="utf-8")
    module = parse_module(tmp_path / "model.mlir")
    target = replace(load_target("host"), op_packings=op_patterns([row], "test"))
    options = Options(effort=Effort.QUICK, objective=Objective.CONVERSIONS)
    plan = plan_graph(module.graphs[0], setting(target, Analytic(target), options))
    module.replace(0, plan.lowered())
    module.write(tmp_path / "plan.mlir", FLAGS)
    assert "inner_tiles = [8, 6]" in (tmp_path / "plan.mlir").read_text()
    assert_same_results(tmp_path / "model.mlir", tmp_path / "plan.mlir")
