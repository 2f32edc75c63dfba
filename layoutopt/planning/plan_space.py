"""All that a plan of one function could be made of, as work to price: the same for every caller."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from layoutopt.candidates.candidate import Candidate, PhysicalForm
from layoutopt.candidates.choice import Choice, is_free, needed_conversions
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.conversion import Conversion
from layoutopt.candidates.egraph import EGraph
from layoutopt.candidates.explore import RefusedForm, Space
from layoutopt.candidates.form_name import form_name
from layoutopt.candidates.identity import identity_candidates
from layoutopt.ir.graph import Graph
from layoutopt.ir.types import TensorType
from layoutopt.ir.weights import constant_names, weight_bytes
from layoutopt.options import Objective, Options
from layoutopt.planning.chosen_sizes import other_sizes
from layoutopt.planning.copy_budget import CopyBudget, HeldCopies
from layoutopt.planning.explored import Explored
from layoutopt.planning.free_io import free_tensors
from layoutopt.planning.known_refusals import among
from layoutopt.planning.memory import MemoryMap, form_alone, in_memory, peak_bytes
from layoutopt.planning.selection import Selection, build_selection
from layoutopt.pricing.analytic.estimate import estimate_ns
from layoutopt.pricing.prices import (
    Work,
    candidate_work,
    conversion_work,
    own_marked,
    with_others,
)
from layoutopt.pricing.references import References
from layoutopt.profiles.target import Target

_REFUSED_INSIDE = "it compiles and is right alone, but not inside the model"


@dataclass(frozen=True)
class PlanSpace:
    """Candidates and conversions of one function with their work, before they have prices."""

    space: Space
    target: Target
    candidates: dict[Candidate, Work]
    conversions: dict[Conversion, tuple[Work, ...]]
    """Those that move something, each in the forms that it may take."""
    unmoved: tuple[Conversion, ...]
    """Those that are free."""
    free: tuple[int, ...]
    """Inputs and outputs in any layout."""
    identity: tuple[Candidate, ...]
    """The model as it came; it can be chosen though it fails alone."""
    identity_ns: dict[Candidate, int]
    """Estimates of its candidates, of those too that the objective leaves out of plans."""
    references: References
    """What candidates have to compute."""
    refusals: tuple[RefusedForm, ...]
    """Of rewrites, layouts and forms."""
    formless: tuple[RefusedForm, ...]
    """Candidates that cannot be written."""
    regions_left_out: int
    """Dispatch regions: an estimate does not tell which of them compile."""
    budget: CopyBudget | None = None
    first_group: int = 0
    """The number of the first group of pieces of conversions that compete."""
    type_sets: tuple[tuple[TensorType, ...], ...] = ()
    """Of the tensors, at each of the sizes that are planned for."""
    memory_bytes: int | None = None
    """What tensors may take while a plan runs; None for no bound."""

    @property
    def egraph(self) -> EGraph:
        """The function with all alternatives."""
        return self.space.egraph

    @property
    def graph(self) -> Graph:
        """The graph of the e-graph."""
        return self.space.egraph.graph

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """What candidates are ways to run."""
        return self.space.clusters

    @property
    def as_it_came(self) -> Choice:
        """The plan that changes nothing."""
        return Choice(tuple(self.identity_ns), ())

    def work(self, key: Candidate | Conversion) -> tuple[Work, ...]:
        """The pieces of work whose cheapest is the price of ``key``."""
        return (self.candidates[key],) if isinstance(key, Candidate) else self.conversions[key]

    def made_by(self, key: Candidate | Conversion, work: Work) -> Hashable:
        """What a piece of work of ``key`` comes from: its form and rules, or how it is lowered."""
        if isinstance(key, Conversion):
            return work.lowered
        return key.form, tuple(self.egraph.rule[self.clusters[key.cluster].root])

    def at_sizes(self, places: Sequence[int]) -> PlanSpace:
        """The same at some of the sizes that it is planned at, by place."""
        candidates = {c: work.at_sizes(places) for c, work in self.candidates.items()}
        estimates = {c: estimate_ns(candidates[c].form, self.target)
                     for c in self.identity_ns if c in candidates}  # fmt: skip
        return replace(
            self,
            candidates=candidates,
            conversions={
                c: tuple(piece.at_sizes(places) for piece in pieces)
                for c, pieces in self.conversions.items()
            },
            identity_ns={**self.identity_ns, **estimates},
            type_sets=tuple(self.type_sets[place] for place in places),
        )

    def refused(self, key: Candidate | Conversion, reason: str) -> RefusedForm:
        """A refusal of ``key``, as the report lists it."""
        if isinstance(key, Conversion):
            return RefusedForm(f"tensor {key.tensor}", "conversion", reason)
        return _refused(self.space, key, reason)

    @property
    def budgeted_weights(self) -> dict[int, Hashable]:
        """The weights whose copies take of a budget, with what tells them from others."""
        if self.budget is None:
            return {}
        weights = dict.fromkeys(t for cluster in self.clusters for t in cluster.weights)
        return {t: self.budget.held.meaning(self.graph, t) for t in weights}

    def selection(
        self, costs: Mapping[Candidate, int], conversion_costs: Mapping[Conversion, int]
    ) -> Selection:
        """The integer problem of the function alone; what has no cost is left out."""
        found = build_selection(
            self.graph, self.clusters, costs, conversion_costs, self.free, self.budget
        )
        if self.memory_bytes is None:
            return found
        return in_memory(found, self.memory, self.forms, self.memory_bytes)

    @cached_property
    def memory(self) -> MemoryMap:
        """Where its tensors lie while a plan runs."""
        own_ops = self.egraph.original_ops
        return MemoryMap(self.graph, self.clusters, own_ops, self.type_sets)

    def forms(self, candidate: Candidate) -> tuple[PhysicalForm, ...]:
        """What is emitted for a candidate, at each of the sizes that are planned for."""
        work = self.candidates.get(candidate)
        if work is not None:
            return tuple(piece.form for piece in work.everywhere)
        return form_alone(self.graph, self.clusters, candidate)

    def peak_bytes(self, choice: Choice) -> int:
        """What tensors take at most while a plan runs."""
        return peak_bytes(choice, self.memory, self.forms)


def plan_space(
    graph: Graph,
    explored: Explored,
    estimated: bool,
    refused: Collection[str] = (),
    first_group: int = 0,
) -> PlanSpace:
    """Enumerate the candidates of a function and the conversions between them, as work to price.

    ``explored``: what was enumerated before; for which target, with which options.
    ``estimated``: prices are estimates, which do not tell which dispatch regions compile.
    ``refused``: digests of candidates that do not compile inside the model. ``first_group``: the
    number of the first group of pieces that compete.
    """
    space, target, options = explored.space(graph), explored.target, explored.options
    egraph, clusters = space.egraph, space.clusters
    dropped = among(space.candidates, egraph.graph, clusters, refused)
    regions = {c for c in space.candidates if estimated and clusters[c.cluster].region} - dropped
    kept = [c for c in space.candidates if c not in dropped and c not in regions]
    refusals = [*space.refusals]
    refusals += [_refused(space, c, _REFUSED_INSIDE) for c in space.candidates if c in dropped]
    identity = identity_candidates(egraph, clusters)
    left_out = {*identity} - {*kept}  # where the objective wants them packed, or IREE refused them
    own = (dict.fromkeys(egraph.came), range(egraph.original_ops))
    references = References(egraph.graph, own)
    formed = [*kept, *(c for c in identity if c in left_out)]
    found, formless = candidate_work(
        egraph.graph, clusters, formed, target, first_group, references
    )
    weight, others = other_sizes(egraph.graph, options.sizes)
    for share, graph_there in others:
        there = References(graph_there, own)
        pieces, _ = candidate_work(graph_there, clusters, formed, target, first_group, there)
        found = with_others(found, weight, pieces, share)
    marked = own_marked(found, identity)
    work = {c: piece for c, piece in marked.items() if c not in left_out}
    free = free_tensors(egraph.graph) if options.free_io_layout else ()
    budget = options.weight_budget
    found_space = PlanSpace(
        space,
        target,
        work,
        {},
        (),
        free,
        identity,
        {c: estimate_ns(marked[c].form, target) for c in identity if c in marked},
        references,
        tuple(refusals),
        tuple(_refused(space, c, reason) for c, reason in formless),
        len(regions),
        None
        if budget is None
        else CopyBudget(
            budget.size_bytes(weight_bytes([graph])), HeldCopies(constant_names(graph, 0))
        ),
        first_group + len(egraph.graph.types),
        (egraph.graph.types, *(graph_there.types for _, graph_there in others)),
    )
    needed = needed_conversions(egraph.graph, clusters, tuple(work), free)
    return with_conversions(found_space, needed, options)


def with_conversions(
    space: PlanSpace, conversions: Iterable[Conversion], options: Options
) -> PlanSpace:
    """The space with more conversions, as work to price."""
    known = {*space.conversions, *space.unmoved}
    new = tuple(c for c in conversions if c not in known)
    counts = options.objective is Objective.CONVERSIONS
    lowered = options.lower_packs or (False if counts else None)
    moves = conversion_work(space.graph, new, space.target, space.first_group, lowered)
    weight, others = other_sizes(space.graph, options.sizes)
    for share, graph_there in others:
        there = conversion_work(graph_there, new, space.target, space.first_group, lowered)
        moves = with_others(moves, weight, there, share)
    changes = dict(space.conversions)
    for conversion, piece in moves:
        changes[conversion] = (*changes.get(conversion, ()), piece)
    unmoved = (c for c in new if is_free(space.graph, c))
    return replace(space, conversions=changes, unmoved=(*space.unmoved, *unmoved))


def _refused(space: Space, candidate: Candidate, reason: str) -> RefusedForm:
    cluster = space.clusters[candidate.cluster]
    form = form_name(space.egraph, cluster, candidate)
    return RefusedForm(space.egraph.graph.name_of(cluster.root), form, reason)
