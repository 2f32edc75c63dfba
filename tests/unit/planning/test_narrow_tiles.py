"""Where conversions are counted, the search begins with the plan of the narrower tiles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from layoutopt.compiler.processor import Processor
from layoutopt.ir.planned_sizes import planned_for
from layoutopt.mlir.module import parse_module
from layoutopt.options import Objective, Options
from layoutopt.planning.explored import Explored
from layoutopt.planning.joint_space import JointSpace
from layoutopt.planning.lazy_pricing import price_all
from layoutopt.planning.narrow_tiles import with_narrow_tiles
from layoutopt.planning.plan_space import plan_space
from layoutopt.pricing.prices import Analytic
from layoutopt.profiles.target import Tile
from layoutopt.runtime.progress import Silent
from layoutopt.solver import TimeLimit
from tests.planning import HOST, TWO_MATMULS

OPTIONS = Options(objective=Objective.CONVERSIONS)


def widths(sizes: tuple[int, ...], tmp_path: Path) -> tuple[set[int], set[int]]:
    """Of the tiles in the plan that the search begins with, and of those of all candidates."""
    tiles = tuple(Tile(n, n, n, mmt4d=False) for n in sizes)
    target = replace(HOST, blocks={"f32": tiles}, registers=Processor.AVX512.registers)
    (tmp_path / "model.mlir").write_text(TWO_MATMULS)
    graph = planned_for(parse_module(tmp_path / "model.mlir").graphs[0], {"arg0.0": 64})
    space = JointSpace.alone(plan_space(graph, Explored(target, OPTIONS), estimated=True))
    priced = price_all(space, Analytic(target), Silent())
    costs = [(own.costs, own.conversion_costs) for own in priced]
    found = with_narrow_tiles(space, space.objective(costs, OPTIONS), OPTIONS, TimeLimit(10.0))
    begun = {t for joint in found for choice in joint.parts for c in choice.candidates
             for _, layout in c.layouts for t in layout.inner_tiles}  # fmt: skip
    own, _ = costs[0]
    return begun, {t for c in own for _, layout in c.layouts for t in layout.inner_tiles}


def test_it_has_none_of_the_widest_tiles(tmp_path: Path) -> None:
    begun, all_of_them = widths((16, 8), tmp_path)
    assert begun
    assert max(begun) < max(all_of_them) == 16


def test_there_is_none_where_tiles_have_one_width(tmp_path: Path) -> None:
    begun, all_of_them = widths((16,), tmp_path)
    assert (begun, all_of_them) == (set(), {16})
