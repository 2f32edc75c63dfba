"""Which choices of a plan a refused dispatch stands for.

A candidate that compiles alone may not compile inside the model, where IREE fuses it with its
neighbours. IREE names a dispatch by its loops, and so are the choices found that have such ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from layoutopt.candidates.candidate import physical_form
from layoutopt.candidates.stable_names import StableNames
from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.mlir.read.located import Operands
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.known_refusals import digest
from layoutopt.pricing.analytic.form import dispatches
from layoutopt.verification.dispatch_names import named_loops, same_loops


def attributed(
    plan: GraphPlan, refused: Sequence[str], located: Collection[Operands], *, as_it_came: bool
) -> frozenset[str]:
    """Digests of chosen candidates with loops of a refused dispatch.

    Where IREE names none, those with an op that reads and writes the types of a ``located`` one.
    ``as_it_came``: whether the model's own ops may be meant.
    """
    found = set()
    names = StableNames(plan.egraph.graph, plan.clusters)
    for candidate in plan.choice.candidates:
        cluster = plan.clusters[candidate.cluster]
        if candidate in plan.identity and not as_it_came:
            continue
        form = physical_form(plan.egraph.graph, cluster, candidate)
        if isinstance(form, Refusal) or form.is_free:
            continue
        loops = [named_loops(part) for part in dispatches(form)]
        named = any(same_loops(mine, name) for mine in loops for name in refused)
        if named or (not refused and any(o in located for o in _operands(form.graph))):
            found.add(digest(candidate, names))
    return frozenset(found)


def data_tiled(plan: GraphPlan) -> frozenset[str]:
    """Digests of all data-tiled candidates, where the plan has one.

    The flag that they need holds for the whole module, and IREE may refuse other ops with it.
    """
    chosen = any(c.form.is_data_tiled for c in plan.choice.candidates)
    if not chosen:
        return frozenset()
    names = StableNames(plan.egraph.graph, plan.clusters)
    return frozenset(digest(c, names) for c in plan.costs if c.form.is_data_tiled)


def _operands(graph: Graph) -> Iterator[Operands]:
    """The types that each structured op reads and writes, sorted, as MLIR spells them."""
    for op in graph.ops:
        if isinstance(op, Structured):
            yield tuple(sorted(str(graph.types[t]) for t in (*op.sources, *op.results)))
