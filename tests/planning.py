"""Plans under made-up prices, for tests: no clock, and any form can be made the cheapest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice, is_free, needed_conversions
from layoutopt.candidates.conversion import Conversion
from layoutopt.candidates.explore import Space, explore
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.lowered import Lowered
from layoutopt.ir.planned_sizes import open_sizes
from layoutopt.lowering.lower import lower, packs_lowered
from layoutopt.options import Options
from layoutopt.planning.copy_budget import CopyBudget
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.selection import build_selection
from layoutopt.planning.setting import PlanSetting
from layoutopt.pricing.prices import Price as Cost
from layoutopt.pricing.prices import Pricer, Work
from layoutopt.profiles.target import Target, Tile, load_target
from layoutopt.rules.rewrites import MERGING, REWRITES
from layoutopt.runtime.progress import Progress
from layoutopt.runtime.steps import Clock, SilentSteps
from layoutopt.solver import Status, TimeLimit, check, solve
from tests.made_up_prices import MadeUpPrices

HOST = replace(load_target("host"), tiles={"f32": tuple(Tile(rows, 8, 1) for rows in (8, 4, 2))})
"""With tiles that have a microkernel on AVX2, as if they had been tried."""
EIGHTS = replace(load_target("host"), blocks={"f32": (Tile(8, 8, 8, mmt4d=False),)})
"""With the same tiles on every processor where conversions are counted."""
Price = Callable[[Space, Candidate], int]


AS_WRITTEN = tuple(rule for rule in REWRITES if rule not in MERGING)
"""Rules that keep each contraction of a model one of its own."""


def setting(target: Target, pricer: Pricer, options: Options | None = None) -> PlanSetting:
    """Planned with these, without a word."""
    options = options or Options()
    limit = TimeLimit(options.time_limit_s)
    return PlanSetting(target, pricer, options, limit, Clock(SilentSteps()))


def planned(graph: Graph, price: Price, conversion_ns: int, budget: int | None = None) -> Lowered:
    """The cheapest plan under made-up prices."""
    space = explore(graph, HOST, rules=AS_WRITTEN)
    costs = {c: price(space, c) for c in space.candidates}
    conversions = needed_conversions(space.egraph.graph, space.clusters, tuple(costs))
    changes = {c: 0 if is_free(space.egraph.graph, c) else conversion_ns for c in conversions}
    selection = build_selection(
        space.egraph.graph,
        space.clusters,
        costs,
        changes,
        budget=None if budget is None else CopyBudget(budget),
    )
    solution = solve(selection.problem)
    assert solution.status is Status.OPTIMAL
    assert check(selection.problem, solution) == []
    return lower(
        space.egraph.graph,
        space.clusters,
        selection.choice(solution.candidates, solution.conversions),
    )


def with_row_major_ends(graph: Graph, choice: Choice, io: dict[int, Layout]) -> Choice:
    """The choice with conversions at its ends, so that it takes and gives row-major tensors."""
    more: dict[Conversion, None] = dict.fromkeys(choice.conversions)
    for tensor, layout in io.items():
        plain = row_major(layout.rank)
        if layout == plain:
            continue
        if tensor in graph.inputs:
            more[Conversion(tensor, plain, layout)] = None
        else:
            more[Conversion(tensor, layout, plain)] = None
    return replace(choice, conversions=tuple(more))


def lowered_with_row_major_ends(plan: GraphPlan) -> Lowered:
    """A plan whose inputs and outputs may lie in any layout, between conversions."""
    graph = plan.egraph.graph
    found = lower(graph, plan.clusters, with_row_major_ends(graph, plan.choice, plan.io))
    return packs_lowered(found) if plan.lower_packs else found


class SizedPrices(MadeUpPrices):
    """Prices that a function makes up of a piece of work and the size that it is priced at.

    The size is the largest of those that are known at run time only; 1 where there is none.
    """

    def __init__(self, cost_ns: Callable[[Work, int], int]) -> None:
        super().__init__(lambda work: cost_ns(work, _largest(work)))
        self.asked = 0
        """Pieces that had to be priced."""

    def price(self, work: Sequence[Work], progress: Progress) -> list[Cost]:
        """What the function says, counted."""
        self.asked += len(work)
        return super().price(work, progress)


def _largest(work: Work) -> int:
    return max((s.planned for s in open_sizes(work.form.graph)), default=1)


def packed_for_many(piece: Work, size: int) -> int:
    """Tiles take 200 us at any size, all else 5 us for each row."""
    tiled = any(len(kind.shape) == 4 for kind in piece.form.graph.types)
    return 1000 * len(piece.form.graph.ops) + (200_000 if tiled else 5000 * size)


_WEIGHT = np.linspace(-0.1, 0.1, 64 * 64, dtype=np.float32).tobytes().hex().upper()
TWO_MATMULS = f"""
func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<"0x{_WEIGHT}"> : tensor<64x64xf32>
  %s = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%s) : tensor<?x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %a = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x64xf32>)
      outs(%f : tensor<?x64xf32>) -> tensor<?x64xf32>
  %b = linalg.matmul ins(%a, %w : tensor<?x64xf32>, tensor<64x64xf32>)
      outs(%f : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %b : tensor<?x64xf32>
}}
"""
"""Two contractions with one weight: under `packed_for_many`, tiles pay for more than 40 rows."""
