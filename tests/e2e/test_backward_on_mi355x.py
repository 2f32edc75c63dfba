"""Both graphs of iree-org/iree issue 23976, planned and compiled for a GPU that is not here."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from examples.make_backward import ISSUE_SHAPES, backward_data
from layoutopt.ir.graph import Graph, Structured
from layoutopt.mlir.module import parse_module
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.analytic.compiled_kernels import Kernels
from layoutopt.pricing.prices import Analytic
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import Phase, compile_to
from tests.marks import long
from tests.planning import setting

TARGET = load_target("mi355x")


def multiplications(graph: Graph) -> int:
    return sum(
        math.prod(op.domain) for op in graph.ops if isinstance(op, Structured) and op.is_contraction
    )


def flow_of(module: Path, folder: Path) -> str:
    output = folder / "flow.mlir"
    outcome = compile_to(module, Phase.FLOW, output, TARGET.flags, 300.0)
    assert outcome.ok, outcome.reason
    return output.read_text()


@pytest.mark.parametrize("name", ["issue_1x1", long("issue_3x3_g32")])
def test_no_copy_engine_and_a_quarter_of_the_arithmetic(name: str, tmp_path: Path) -> None:
    source = tmp_path / "model.mlir"
    source.write_text(backward_data(*ISSUE_SHAPES[name], stride=2))
    assert "slow_memcpy" in flow_of(source, tmp_path)
    module = parse_module(source)
    (graph,) = module.graphs

    kernels = Kernels(tmp_path / "kernels.jsonl", TARGET.place)
    plan = plan_graph(graph, setting(TARGET, Analytic(TARGET, kernels)))

    lowered = plan.lowered()
    assert multiplications(graph) == 4 * multiplications(lowered.graph)
    module.replace(0, lowered)
    module.write(source, TARGET.flags)
    flow = flow_of(source, tmp_path)
    assert "slow_memcpy" not in flow
    assert "flow.tensor.splat" not in flow
