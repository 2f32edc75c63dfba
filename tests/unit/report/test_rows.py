"""The rows of a report are the ops of the module, for all plans."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from layoutopt.ir.types import Array
from layoutopt.mlir.read.census import ModuleCensus, Move
from layoutopt.options import Objective, Options
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.prices import Price, Work
from layoutopt.pricing.source import PriceSource
from layoutopt.profiles.target import load_target
from layoutopt.report.census import came_with_the_model, discrepancies
from layoutopt.report.moves import conversions_of, moves_inside
from layoutopt.runtime.progress import Progress
from tests.counting import counted
from tests.models import CONVOLUTIONS
from tests.parsing import lifted
from tests.planning import setting
from tests.torch_graphs import input_gradient

HOST = load_target("host")
TRANSPOSES = """
#abc = affine_map<(a, b, c) -> (a, b, c)>
#cba = affine_map<(a, b, c) -> (c, b, a)>
func.func @main(%x: tensor<1x6x8xf32>, %w: tensor<6x4xf32>) -> (tensor<8x6x1xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6x1xf32>
  %t = linalg.generic {indexing_maps = [#abc, #cba],
    iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%x: tensor<1x6x8xf32>) outs(%e: tensor<8x6x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x6x1xf32>
  %m = tensor.collapse_shape %t [[0], [1, 2]] : tensor<8x6x1xf32> into tensor<8x6xf32>
  %o = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = linalg.matmul ins(%m, %w : tensor<8x6xf32>, tensor<6x4xf32>)
    outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %t, %r : tensor<8x6x1xf32>, tensor<8x4xf32>
}
"""  # noqa: E501 -- the signature is one line
MODELS = {
    "convolutions": CONVOLUTIONS,
    "gradient": input_gradient([4, 4], 3, 2, 1),
    "transposes": TRANSPOSES,
}


@dataclass(frozen=True)
class Shuffled:
    """Prices that have nothing to do with time, so that each seed leads to another plan."""

    seed: int
    source = PriceSource.ANALYTIC

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        """A price for each piece of work."""
        return [Price(0 if w.form.is_free else self._cost_ns(w)) for w in work]

    def stored(self, work: Sequence[Work]) -> list[Price | None]:
        """Nothing."""
        return [None] * len(work)

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        """Nothing is run."""
        return None

    def _cost_ns(self, work: Work) -> int:
        text = f"{self.seed}{work.benchmark.flags}{work.benchmark.text}"
        return 1 + hashlib.sha256(text.encode()).digest()[0]


def planned(name: str, seed: int, options: Options) -> GraphPlan:
    return plan_graph(lifted(MODELS[name]), setting(HOST, Shuffled(seed), options))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("options", "seed"),
    [
        *((Options(), seed) for seed in range(4)),
        (Options(lower_packs=True), 5),
        (Options(objective=Objective.CONVERSIONS), 0),
    ],
    ids=["0", "1", "2", "3", "lowered", "conversions"],
)
def test_rows_are_the_ops_of_the_module(name: str, options: Options, seed: int) -> None:
    plan = planned(name, seed, options)
    rows = [*conversions_of("f", plan), *moves_inside("f", plan)]
    listed = Counter(kind for row in rows for kind in row.moves)
    assert (listed["pack"], listed["unpack"], listed["transpose"]) == counted(plan.lowered())


MOVE = Move(
    "main$async", "pack", False, "linalg.pack", "tensor<8xf32>", "tensor<1x8xf32>", 64, "", False
)


def test_only_what_no_plan_reaches_came_with_the_model() -> None:
    moves = (MOVE, replace(MOVE, inside="scf.if"), replace(MOVE, reached=True))
    assert [(row.function, row.reason) for row in came_with_the_model(moves)] == [
        ("main", "it came with the model: no plan reaches this linalg.pack"),
        ("main", "in the input, inside a barrier (scf.if)"),
    ]
    assert [row.reason for row in came_with_the_model(moves, kept=True)][2:] == [
        "it came with the model, and the model was kept"
    ]


def test_a_module_that_has_more_or_less_than_was_listed_is_told_by_function() -> None:
    rows = came_with_the_model([MOVE, MOVE])
    there = ModuleCensus((MOVE, replace(MOVE, function="other", kind="transpose")))
    assert list(discrepancies(there, rows)) == [
        "function 'main': the report lists 2 pack ops, but the module has 1; the counts of the "
        "module hold",
        "function 'other': the report lists 0 transpose ops, but the module has 1; the counts of "
        "the module hold",
    ]
    assert list(discrepancies(ModuleCensus((MOVE, MOVE)), rows)) == []
