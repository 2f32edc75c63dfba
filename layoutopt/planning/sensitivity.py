"""Which measurements would settle a plan that rests on estimates.

Let every estimate err against the plan by its standard error: what the plan uses costs more, what
it does not use costs less. Where another plan wins then, the two are told apart by measuring what
only one of them uses. Those measurements are taken to come out as estimated, and the same is asked
of the rest, until nothing but what would be measured could change the plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice, Conversion
from layoutopt.candidates.form_name import form_name
from layoutopt.ir.graph import Graph
from layoutopt.ir.types import Array
from layoutopt.ir.weights import weight_bytes
from layoutopt.options import Options
from layoutopt.planning.free_io import free_tensors
from layoutopt.planning.planner import GraphPlan, plan_graph
from layoutopt.planning.selection import build_selection
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.prices import Price, Pricer, Work, candidate_work, conversion_work
from layoutopt.profiles.target import Target
from layoutopt.runtime.progress import Progress
from layoutopt.runtime.steps import Clock, Steps
from layoutopt.solver import TimeLimit

_SURE = 0.05
"""A relative error at which a price counts as known: that to which measurements repeat."""

Step = Candidate | Conversion


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """One measurement that could change the plan."""

    what: str
    """The op, or the tensor that is converted; the first one where several are alike."""
    form: str
    uses: int
    """How often the plan, or the plan that may be better, runs it."""
    chosen: bool
    """Whether the plan uses it as it stands."""
    estimate_ns: int
    uncertainty: float
    """Relative standard error of the estimate."""

    @property
    def at_stake_ns(self) -> int:
        """By how much a plan that uses it may be off, for a standard error of this estimate."""
        return round(self.uses * self.estimate_ns * self.uncertainty)


def open_questions(
    graphs: Sequence[Graph], target: Target, pricer: Pricer, options: Options, steps: Steps
) -> tuple[OpenQuestion, ...]:
    """Plan with the prices there are; list what would settle the plan, the most at stake first."""
    clock = Clock(steps)
    found: list[OpenQuestion] = []
    for graph in graphs:
        recorded = _Recorded(pricer)
        plan = plan_graph(graph, target, recorded, options, clock)
        with clock.stage("select"):
            found += _Question(plan, target, recorded.known, options).ask()
    return tuple(sorted(found, key=lambda question: (-question.at_stake_ns, question.what)))


class _Recorded:
    """A pricer that remembers what it said."""

    def __init__(self, pricer: Pricer) -> None:
        self.source = pricer.source
        self.known: dict[str, Price] = {}
        self._pricer = pricer

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        prices = self._pricer.price(work, progress)
        self.known.update(zip(map(_text, work), prices, strict=True))
        return prices

    def stored(self, work: Sequence[Work]) -> list[Price | None]:
        return self._pricer.stored(work)

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        return self._pricer.outputs(benchmark)


class _Question:
    """The prices of one plan, and the plans that other prices would lead to."""

    def __init__(
        self, plan: GraphPlan, target: Target, known: Mapping[str, Price], options: Options
    ) -> None:
        self._plan, self._options = plan, options
        graph = plan.egraph.graph
        work, _ = candidate_work(graph, plan.clusters, tuple(plan.costs), target, 0)
        paid = tuple(plan.conversion_costs)
        changes = conversion_work(graph, paid, target, 0, options.lower_packs or None)
        pieces: dict[Step, list[Work]] = {}
        everything: list[tuple[Step, Work]] = [*work, *changes]
        for step, piece in everything:
            if known[_text(piece)].cost_ns is not None:
                pieces.setdefault(step, []).append(piece)
        self._price = {text: known[text] for p in pieces.values() for text in map(_text, p)}
        self._ways = {step: tuple(map(_text, found)) for step, found in pieces.items()}
        """Each step in the forms that it may take: a conversion as packs, or as a transpose."""
        self._transposes = {_text(piece) for _, piece in changes if piece.lowered}

    def ask(self) -> list[OpenQuestion]:
        """The measurements that would settle this plan."""
        mine = self._used(self._plan.choice, lambda text: self._price[text].cost_ns or 0)
        uses = Counter(mine)
        settled: dict[str, None] = {}
        while True:
            other = self._rival(mine, settled)
            uses |= other
            differ = [t for t in {**mine, **other} if mine[t] != other[t] and t not in settled]
            new = [t for t in differ if self._is_open(t)]
            if not new:
                break
            settled.update(dict.fromkeys(new))
        first: dict[str, Step] = {}
        for step, ways in self._ways.items():
            for text in ways:
                first.setdefault(text, step)
        return [
            OpenQuestion(
                *self._named(first[text], text), uses[text], text in mine, round(price.nominal_ns),
                price.uncertainty,
            )
            for text in settled
            for price in [self._price[text]]
        ]  # fmt: skip

    def _rival(self, mine: Counter[str], settled: Mapping[str, None]) -> Counter[str]:
        """The best plan where every estimate that is not settled errs against this one."""

        def way_ns(text: str) -> int:
            price = self._price[text]
            if text in settled or not price.estimated:
                return round(price.nominal_ns)
            error = price.uncertainty if text in mine else -min(1.0, price.uncertainty)
            return round(price.nominal_ns * (1 + error))

        def cost_ns(step: Step, otherwise: int) -> int:
            ways = self._ways.get(step)
            return min(map(way_ns, ways)) if ways else otherwise  # none: it is free

        graph = self._plan.egraph.graph
        free = free_tensors(graph) if self._options.free_io_layout else ()
        budget = self._options.weight_budget
        selection = build_selection(
            graph,
            self._plan.clusters,
            {c: cost_ns(c, ns) for c, ns in self._plan.costs.items()},
            {c: cost_ns(c, ns) for c, ns in self._plan.conversion_costs.items()},
            free,
            None if budget is None else budget.size_bytes(weight_bytes(graph)),
        )
        limit = TimeLimit(self._options.time_limit_s)
        solution = selection.solved(limit, self._options.search, [self._plan.choice])
        return self._used(selection.choice(solution.candidates, solution.conversions), way_ns)

    def _is_open(self, text: str) -> bool:
        price = self._price[text]
        return price.estimated and price.uncertainty > _SURE

    def _used(self, choice: Choice, way_ns: Callable[[str], int]) -> Counter[str]:
        """How often a plan runs each piece of work that is not free, in its cheapest form."""
        steps: tuple[Step, ...] = (*choice.candidates, *choice.conversions)
        return Counter(min(self._ways[s], key=way_ns) for s in steps if s in self._ways)

    def _named(self, step: Step, text: str) -> tuple[str, str]:
        """What is measured, and in which form."""
        graph = self._plan.egraph.graph
        if not isinstance(step, Candidate):
            tensor, source, goal = step
            form = f"{source} to {goal}" + ", as a transpose" * (text in self._transposes)
            return f"tensor {tensor}: {graph.types[tensor]}", form
        cluster = self._plan.clusters[step.cluster]
        form = form_name(self._plan.egraph, cluster, step) + " + as a matmul" * step.collapsed
        layouts = [str(step.layout_of(t)) for t in (*cluster.inputs[:1], *cluster.outputs[:1])]
        return graph.name_of(cluster.root), f"{form}, {' to '.join(layouts)}"


def _text(work: Work) -> str:
    return "\n".join((*work.benchmark.flags, work.benchmark.text))
