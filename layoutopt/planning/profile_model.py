"""What models need prices for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from layoutopt.candidates.choice import needed_conversions
from layoutopt.candidates.explore import explore
from layoutopt.ir.graph import Graph
from layoutopt.options import Options
from layoutopt.planning.free_io import free_tensors
from layoutopt.pricing.prices import Pricer, Work, candidate_work, conversion_work
from layoutopt.profiles.target import Target
from layoutopt.runtime.progress import Progress


@dataclass(frozen=True, slots=True)
class Priced:
    """How many prices models asked for, and the refusals among them by reason."""

    candidates: int
    conversions: int
    refused: tuple[tuple[str, int], ...]


def price_graphs(
    graphs: Sequence[Graph], target: Target, pricer: Pricer, options: Options, progress: Progress
) -> Priced:
    """Price all candidates of all functions at once, then the conversions between those left.

    Equal candidates are priced once, whatever function or model they come from.
    """
    spaces = [
        explore(graph, target, options.objective, options.admitted, options.rules)
        for graph in graphs
    ]
    work: list[Work] = []
    reasons: list[str] = []
    owners = []
    first_group = 0
    for space in spaces:
        graph, clusters = space.egraph.graph, space.clusters
        found, formless = candidate_work(graph, clusters, space.candidates, target, first_group)
        first_group += len(graph.types)
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
        free = free_tensors(graph) if options.free_io_layout else ()
        needed = needed_conversions(graph, clusters, left, free)
        found_changes = conversion_work(
            graph, needed, target, first_group, options.lower_packs or None
        )
        first_group += len(needed)
        changes += [piece for _, piece in found_changes]
    prices += pricer.price(changes, progress)
    reasons += [price.reason for price in prices if price.cost_ns is None]
    candidates = sum(len(space.candidates) for space in spaces)
    refused = Counter(map(_short, reasons)).most_common()
    return Priced(candidates, len(changes), tuple(refused))


def _short(reason: str) -> str:
    return reason.partition(":")[0][:80]
