"""The model's own ops are right as they came, without the oracle too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import layoutopt
from layoutopt.ir.graph import Graph
from layoutopt.options import Effort, Options
from layoutopt.oracle import floats
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.pricers import open_pricer
from layoutopt.pricing.prices import Measured
from layoutopt.profiles.store import Store
from layoutopt.profiles.target import load_target
from layoutopt.runtime.outcome import Measurement
from layoutopt.runtime.progress import Progress
from tests.marks import long
from tests.models import CONVOLUTIONS
from tests.parsing import lifted
from tests.planning import setting
from tests.unit.planning.test_refused_candidates import Differing

HOST = load_target("host")
MODEL = """
#m = affine_map<(i, j) -> (i, j)>
func.func @f(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %y = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %q = math.absf %a : f32
    linalg.yield %q : f32
  } -> tensor<8x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.matmul ins(%y, %w : tensor<8x8xf32>, tensor<8x8xf32>)
      outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
"""


def reasons(graph: Graph, folder: Path) -> list[str]:
    options = Options(cache=folder)
    with Store(folder / "prices.sqlite") as store, open_pricer(store, HOST, options) as pricer:
        plan = plan_graph(graph, setting(HOST, pricer, options))
    assert plan.identity_ns is not None
    return [refusal.reason for refusal in (*plan.refusals, *plan.notes)]


def test_where_the_oracle_is_wrong_iree_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(floats.UNARY, "absf", lambda a: a + 1)
    found = reasons(lifted(MODEL), tmp_path)
    named = [r for r in found if r.startswith("the oracle and IREE differ on it as it came, and")]
    assert named
    assert "values are wrong; at (" in named[0]
    assert not [r for r in found if r.startswith("mismatch")]


def test_an_op_that_the_oracle_does_not_know_is_priced_without_its_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(floats.UNARY, "absf")
    found = reasons(lifted(MODEL.replace("8x8", "6x6")), tmp_path)  # what is known is kept by shape
    assert (
        "priced without its check: oracle: expected a known scalar op, but got math.absf; "
        "skip the check"
    ) in found


COST_NS = 5 * 10**6


class Slow(Differing):
    """The model's own ops give other results than the oracle's, and everything takes long."""

    def measure(
        self,
        benchmarks: Sequence[Benchmark],
        progress: Progress | None = None,
        group: Sequence[int] | None = None,
    ) -> list[Measurement]:
        found = super().measure(benchmarks, progress, group)
        return [replace(m, samples_ns=(COST_NS,) * 6) for m in found]


@pytest.mark.parametrize("fails", [long(True), False])
def test_no_time_is_told_of_what_fails_as_it_came(tmp_path: Path, fails: bool) -> None:
    """Where this machine's CPU has another device's results for wrong, what there is is a guess."""
    model = tmp_path / "model.mlir"
    model.write_text(CONVOLUTIONS)
    pricer = Measured(Slow(frozenset()), lambda _: fails)
    options = Options(cache=tmp_path / "cache", effort=Effort.THOROUGH)
    report = layoutopt.optimize(model, options=options, pricer=pricer).report
    if fails:
        assert report.before.predicted_ms is None
    assert {row.runner_up_ns for row in report.choices} <= {None, COST_NS}
