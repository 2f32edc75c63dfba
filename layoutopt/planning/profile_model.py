"""What models need prices for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from layoutopt.candidates.choice import needed_conversions
from layoutopt.ir.graph import Graph
from layoutopt.planning.plan_space import PlanSpace, plan_space
from layoutopt.planning.setting import PlanSetting
from layoutopt.pricing.prices import Work
from layoutopt.pricing.source import PriceSource
from layoutopt.runtime.progress import Progress


@dataclass(frozen=True, slots=True)
class PricedModels:
    """How many prices models asked for, and the refusals among them by reason."""

    candidates: int
    conversions: int
    refused: tuple[tuple[str, int], ...]


def price_graphs(graphs: Sequence[Graph], setting: PlanSetting, progress: Progress) -> PricedModels:
    """Price all candidates of all functions at once, then the conversions between those left.

    Equal candidates are priced once, for all functions and models.
    """
    pricer = setting.pricer
    estimated = pricer.source is not PriceSource.MEASURED
    spaces: list[PlanSpace] = []
    explored = setting.explored
    group = 0
    for graph in graphs:
        space = plan_space(graph, explored, estimated, first_group=group)
        spaces.append(space)
        group += len(space.graph.types) + len(space.conversions) + len(space.unmoved)
    work = [work for space in spaces for work in space.candidates.values()]
    prices = pricer.price(work, progress)
    found = iter(prices)
    changes: list[Work] = []
    for space in spaces:
        left = [c for c in space.candidates if next(found).cost_ns is not None]
        needed = needed_conversions(space.graph, space.clusters, left, space.free)
        changes += [piece for c in needed for piece in space.conversions.get(c, ())]
    prices += pricer.price(changes, progress)
    reasons = [r.reason for space in spaces for r in space.formless]
    reasons += [price.reason for price in prices if price.cost_ns is None]
    candidates = sum(len(space.space.candidates) for space in spaces)
    refused = Counter(map(_short, reasons)).most_common()
    return PricedModels(candidates, len(changes), tuple(refused))


def together(models: Iterable[PricedModels]) -> PricedModels:
    """What several lots of models asked for."""
    refused: Counter[str] = Counter()
    candidates = conversions = 0
    for priced in models:
        candidates += priced.candidates
        conversions += priced.conversions
        refused.update(dict(priced.refused))
    return PricedModels(candidates, conversions, tuple(refused.most_common()))


def _short(reason: str) -> str:
    return reason.partition(":")[0][:80]
