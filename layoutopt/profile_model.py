"""What a model needs prices for, and which measurements would settle its plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from layoutopt.graph import Graph
from layoutopt.options import Options
from layoutopt.planner import GraphPlan, explore, plan_graph
from layoutopt.prices import Price, Pricer, Work, candidate_work, conversion_work
from layoutopt.profiles.target import Target
from layoutopt.runtime.progress import Progress
from layoutopt.selection import needed_conversions
from layoutopt.steps import Clock, Steps


@dataclass(frozen=True, slots=True)
class Priced:
    """How the prices of one model came out, and the refusals by reason."""

    candidates: int
    conversions: int
    refused: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """Two candidates whose estimates are too uncertain to tell which is faster.

    `regret_ns`: what the plan may lose by its choice, if both errors go against it.
    """

    op: str
    chosen: str
    rival: str
    chosen_ns: int
    rival_ns: int
    regret_ns: int


def price_graphs(
    graphs: Sequence[Graph], target: Target, pricer: Pricer, options: Options, progress: Progress
) -> Priced:
    """Price all candidates of all functions at once, then the conversions between those left.

    Equal candidates are priced once, whatever function or model they come from.
    """
    spaces = [explore(graph, target, options.objective) for graph in graphs]
    work: list[Work] = []
    reasons: list[str] = []
    owners = []
    first_group = 0
    for space in spaces:
        graph, clusters = space.egraph.graph, space.clusters
        found, formless = candidate_work(graph, clusters, space.candidates, target, first_group)
        first_group += len(clusters)
        owners += [(space, candidate) for candidate, _ in found]
        work += [piece for _, piece in found]
        reasons += [reason for _, reason in formless]
    prices = pricer.price(work, progress)
    changes: list[Work] = []
    for space in spaces:
        left = [
            candidate
            for (owner, candidate), price in zip(owners, prices, strict=True)
            if owner is space and price.cost_ns is not None
        ]
        graph, clusters = space.egraph.graph, space.clusters
        free = (*graph.inputs, *graph.outputs) if options.free_io_layout else ()
        needed = needed_conversions(graph, clusters, left, free)
        found_changes = conversion_work(
            graph, needed, target, first_group, options.lower_packs or None
        )
        first_group += len(needed)
        changes += [piece for _, piece in found_changes]
    prices += pricer.price(changes, progress)
    reasons += [price.reason for price in prices if price.cost_ns is None]
    return Priced(len(work), len(changes), tuple(Counter(map(_short, reasons)).most_common()))


def open_questions(
    graphs: Sequence[Graph], target: Target, pricer: Pricer, options: Options, steps: Steps
) -> tuple[OpenQuestion, ...]:
    """Plan with the prices there are; list the choices they do not settle, costliest first."""
    clock = Clock(steps)
    found: list[OpenQuestion] = []
    for graph in graphs:
        recorded = _Recorded(pricer)
        plan = plan_graph(graph, target, recorded, options, clock)
        found += _of_plan(plan, target, recorded)
    return tuple(sorted(found, key=lambda question: -question.regret_ns))


class _Recorded:
    """A pricer that remembers what it said."""

    def __init__(self, pricer: Pricer) -> None:
        self.source = pricer.source
        self.known: dict[str, Price] = {}
        self._pricer = pricer

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        prices = self._pricer.price(work, progress)
        self.known.update(zip(map(_name, work), prices, strict=True))
        return prices


def _of_plan(plan: GraphPlan, target: Target, recorded: _Recorded) -> list[OpenQuestion]:
    """Compare each chosen candidate with those that do the same in the same layouts."""
    graph, clusters = plan.egraph.graph, plan.clusters
    work, _ = candidate_work(graph, clusters, tuple(plan.costs), target, 0)
    rivals: dict[object, list[tuple[str, Price]]] = {}
    sides = {}
    for candidate, piece in work:
        cluster = clusters[candidate.cluster]
        layouts = dict(candidate.layouts)
        side = tuple((t, layouts[t]) for t in (*cluster.inputs, *cluster.outputs))
        rules = plan.egraph.rule[cluster.root]
        form = " + ".join([*rules] or ["as it came"]) + (", data-tiled" if candidate.hint else "")
        form += ", as a matmul" if candidate.collapsed else ""
        sides[candidate] = (cluster.root, side, form, recorded.known[_name(piece)])
        rivals.setdefault(side, []).append((form, recorded.known[_name(piece)]))
    found = []
    for candidate in plan.choice.candidates:
        if candidate not in sides:
            continue
        root, side, form, price = sides[candidate]
        for rival, other in rivals[side]:
            if rival != form and _overlap(price, other):
                ns, other_ns = _nominal(price), _nominal(other)
                regret = ns * (1 + price.uncertainty) - other_ns * (1 - other.uncertainty)
                found.append(OpenQuestion(graph.name_of(root), form, rival, round(ns),
                                          round(other_ns), round(regret)))  # fmt: skip
    return found


def _overlap(price: Price, other: Price) -> bool:
    """Whether two estimates are within one standard error of each other."""
    low = _nominal(other) * (1 - other.uncertainty)
    return low < _nominal(price) * (1 + price.uncertainty) and price.uncertainty > 0.05


def _nominal(price: Price) -> float:
    """The estimate without the surcharge of `Estimate.robust_ns`."""
    return (price.cost_ns or 0) / (1 + price.uncertainty / 2)


def _name(work: Work) -> str:
    return "\n".join((*work.benchmark.flags, work.benchmark.text))


def _short(reason: str) -> str:
    return reason.partition(":")[0][:80]
