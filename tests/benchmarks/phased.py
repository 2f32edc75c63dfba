"""Rewriting first, layouts after, against both together: ``python -m tests.benchmarks.phased``.

For each model, at the same prices: the cheapest rewritten graph with all tensors row-major, then
the cheapest layouts and forms of that graph (what a rewriting optimizer ahead of a layout pass
does), and the cheapest of both at once. Each step is solved exactly, so that what separates them is
the order. With ``--run`` both plans are written, compared with the model, and timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import layoutopt
from layoutopt.candidates.candidate import Candidate
from layoutopt.ir.graph import Graph
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.plan_space import PlanSpace
from layoutopt.planning.priced import Priced
from layoutopt.verification.evaluated import OPTIMIZED


def only(priced: Priced, kept: Collection[Candidate]) -> Priced:
    """The prices of some candidates, and of all conversions."""
    costs = {c: ns for c, ns in priced.costs.items() if c in kept}
    return replace(priced, costs=costs, answer=None)


def is_row_major(graph: Graph, candidate: Candidate) -> bool:
    """Whether all that is read and written lies as it came; weights may lie in any way."""
    return all(
        layout.is_row_major for tensor, layout in candidate.layouts if tensor not in graph.constants
    )


def phased(space: PlanSpace, priced: Priced, options: layoutopt.Options) -> GraphPlan:
    """The plan of two steps."""
    graph = space.graph
    plain = {c for c in priced.costs if is_row_major(graph, c)}
    rewritten = layoutopt.select(space, only(priced, plain), options)
    clusters = {c.cluster for c in rewritten.choice.candidates}
    kept = {c for c in priced.costs if c.cluster in clusters}
    return layoutopt.select(space, only(priced, kept), options)


def compare(path: Path, profile: str, options: layoutopt.Options, run: bool) -> None:
    """Print a row of a model."""
    everything = replace(options, search=layoutopt.Search.GREEDY)  # prices all candidates
    found: dict[str, list[GraphPlan]] = {"two steps": [], "together": []}
    with layoutopt.read(path, profile, options) as model:
        with layoutopt.prices(model.target, options, weight_reuse=model.weight_reuse) as pricer:
            for function in model.functions:
                space = layoutopt.enumerate(function.graph, model.target, options)
                priced = layoutopt.price(space, pricer, everything)
                found["two steps"].append(phased(space, priced, options))
                found["together"].append(layoutopt.select(space, priced, options))
        for name, plans in found.items():
            predicted = sum(plan.solution.objective_ns or 0 for plan in plans) / 1e6
            line = f"{path.stem:20} {name:10} predicted {predicted:8.3f} ms"
            if run:
                compared = layoutopt.verify(model, layoutopt.lower(model, plans))
                if compared.evaluation is not None:
                    fastest = compared.evaluation.result(OPTIMIZED).milliseconds
                    line += f"  measured {fastest:8.3f} ms"
            print(line, flush=True)


def main() -> None:
    """Print both rows of each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--profile", default="host")
    parser.add_argument("--cache", type=Path, default=None)
    parser.add_argument("--run", action="store_true", help="write, verify and time both plans")
    chosen = parser.parse_args()
    options = layoutopt.Options(cache=chosen.cache, effort=layoutopt.Effort.QUICK)
    for path in chosen.models:
        compare(path, chosen.profile, options, chosen.run)


if __name__ == "__main__":
    main()
