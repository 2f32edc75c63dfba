"""The plan of one function: what was chosen, of what, at which prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.conversion import Conversion
from layoutopt.candidates.egraph import EGraph
from layoutopt.candidates.explore import RefusedForm
from layoutopt.candidates.form import Form
from layoutopt.candidates.form_name import form_name
from layoutopt.ir.carried import Ends
from layoutopt.ir.layout import Layout
from layoutopt.ir.lowered import Lowered
from layoutopt.ir.size_range import Ranges
from layoutopt.lowering.lower import lower, packs_lowered
from layoutopt.planning.memory import MemoryMap, form_alone, peak_bytes
from layoutopt.planning.plan_space import PlanSpace
from layoutopt.planning.priced import Text
from layoutopt.planning.searched import Searched
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.prices import Price
from layoutopt.pricing.source import PriceSource
from layoutopt.solver import Solution

if TYPE_CHECKING:
    from layoutopt.planning.trade_off import TradeOff


@dataclass(frozen=True)
class GraphPlan:
    """The plan of one function."""

    egraph: EGraph
    clusters: tuple[Cluster, ...]
    choice: Choice
    costs: dict[Candidate, int]
    conversion_costs: dict[Conversion, int]
    solution: Solution
    refusals: tuple[RefusedForm, ...]
    identity_ns: int | None
    """Price of the model as it came; None where a part of it has no price."""
    io: dict[int, Layout] = field(default_factory=dict)
    """Layouts of inputs and outputs that the plan was free to choose."""
    lower_packs: bool = False
    searched: Searched | None = None
    """What it was chosen among; None where it was given."""
    source: PriceSource = PriceSource.PLAN
    """Of its prices."""
    identity: tuple[Candidate, ...] = ()
    """The model as it came."""
    prices: Mapping[Candidate | Conversion, Price] = field(default_factory=dict)
    """Of all that was priced, with their uncertainties."""
    notes: tuple[RefusedForm, ...] = ()
    """Candidates whose results were compared with nothing, or with an estimate in place of a
    measurement that failed, and why."""
    space: PlanSpace | None = None
    """What it was chosen from; None where it was given."""
    piece_prices: Mapping[Text, Price] = field(default_factory=dict)
    """Of every piece of work that was priced, a conversion in each of its forms."""
    ends: Ends = field(default_factory=Ends)
    """Layouts of tensors that control flow hands on."""
    specializations: tuple[Specialization, ...] = ()
    """Plans for ranges of its sizes, where these are written in its place; the solution is then
    that of all of them together."""
    trade_offs: tuple[TradeOff, ...] = ()
    """What plans cost that have less of something, of it and those that are planned with it; held
    by the first of these."""

    @property
    def bodies(self) -> tuple[GraphPlan, ...]:
        """The plans that are written: its specializations, or itself."""
        return tuple(s.plan for s in self.specializations) or (self,)

    @property
    def cost_ns(self) -> int:
        """Prices of all that is run, of all sizes that are planned for the weighted mean."""
        if not self.specializations:
            return self.one_body_ns
        return round(sum(s.share * s.plan.one_body_ns for s in self.specializations))

    @property
    def one_body_ns(self) -> int:
        """The same where all sizes run this very plan."""
        changes = sum(self.conversion_costs.get(c, 0) for c in self.choice.conversions)
        return changes + sum(self.costs[c] for c in self.choice.candidates)

    def cost_at_ns(self, place: int) -> int | None:
        """Prices of all that this very plan runs at one of the sizes that it is priced at.

        ``place``: of the size among those. None where prices are not known by size.
        """
        if not self.prices:
            return None
        return sum(self.prices[key].at_ns(place) for key in self.chosen if key in self.prices)

    def piece(self, key: Candidate | Conversion) -> Benchmark | None:
        """What a choice was priced by, at the first of its sizes; None if not known."""
        if self.space is None:
            return None
        if isinstance(key, Candidate):
            work = self.space.candidates.get(key)
            return None if work is None else work.benchmark
        lowered = self.lower_packs or key in self.choice.lowered
        pieces = self.space.conversions.get(key, ())
        return next((p.benchmark for p in pieces if p.lowered == lowered), None)

    @property
    def chosen(self) -> tuple[Candidate | Conversion, ...]:
        """All choices that have a price of their own."""
        return (*self.choice.candidates, *self.choice.conversions)

    @property
    def data_tiled(self) -> bool:
        """Whether some contraction asks IREE for data tiling."""
        return any(c.form.is_data_tiled for c in self.choice.candidates)

    @property
    def tiles_bytes(self) -> bool:
        """Whether that is for products of unsigned bytes by signed ones."""
        return any(c.form is Form.DATA_TILED_UNSIGNED for c in self.choice.candidates)

    def form_name(self, candidate: Candidate) -> str:
        """The form of a candidate as reports name it."""
        return form_name(self.egraph, self.clusters[candidate.cluster], candidate)

    @property
    def peak_bytes(self) -> int:
        """What tensors take in memory at most while it runs, at the first of its sizes."""
        if self.space is not None:
            return self.space.peak_bytes(self.choice)
        graph, clusters = self.egraph.graph, self.clusters
        memory = MemoryMap(graph, clusters, self.egraph.original_ops, (graph.types,))
        return peak_bytes(self.choice, memory, partial(form_alone, graph, clusters))

    def lowered(self) -> Lowered:
        """The chosen candidates as one graph over row-major tensors; see `bodies` first."""
        found = lower(self.egraph.graph, self.clusters, self.choice, self.io, self.ends)
        return packs_lowered(found) if self.lower_packs else found


@dataclass(frozen=True)
class Specialization:
    """A plan for some of a function's sizes."""

    ranges: Ranges
    """The sizes that it serves."""
    plan: GraphPlan
    share: float
    """What the sizes that it was planned at count, of what all sizes of the function do."""
