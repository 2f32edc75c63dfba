"""Which measurements would settle a plan that rests on estimates.

Let every estimate err against the plan by its standard error: what the plan uses costs more, what
it does not use costs less. Where another plan wins then, the two are told apart by measuring what
only one of them uses. Those measurements are taken to come out as estimated, and the same is asked
of the rest, until nothing but what would be measured could change the plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice
from layoutopt.candidates.conversion import Conversion
from layoutopt.candidates.form_name import form_name
from layoutopt.errors import SolverError
from layoutopt.ir.graph import Graph
from layoutopt.options import Options
from layoutopt.planning.planner import GraphPlan, plan_graph
from layoutopt.pricing.prices import Price, Pricer, Work
from layoutopt.profiles.target import Target
from layoutopt.runtime.steps import Clock, Steps
from layoutopt.solver import Status

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
        plan = plan_graph(graph, target, pricer, options, clock)
        with clock.stage("select"):
            found += _Question(plan, options).ask()
    return tuple(sorted(found, key=lambda question: (-question.at_stake_ns, question.what)))


class _Question:
    """The prices of one plan, and the plans that other prices would lead to."""

    def __init__(self, plan: GraphPlan, options: Options) -> None:
        assert plan.space is not None, "it was planned just now"
        self._plan, self._space, self._options = plan, plan.space, options
        self._text: dict[Step, str] = {}
        self._price: dict[str, Price] = {}
        for step, price in plan.prices.items():
            pieces = plan.space.work(step)
            text = _text(next(p for p in pieces if p.lowered == (step in plan.transposed)))
            self._text[step], self._price[text] = text, price

    def ask(self) -> list[OpenQuestion]:
        """The measurements that would settle this plan."""
        mine = self._used(self._plan.choice)
        uses = Counter(mine)
        settled: dict[str, None] = {}
        while True:
            other = self._used(self._alternative(mine, settled))
            uses |= other
            differ = [t for t in {**mine, **other} if mine[t] != other[t] and t not in settled]
            new = [t for t in differ if self._is_open(t)]
            if not new:
                break
            settled.update(dict.fromkeys(new))
        first: dict[str, Step] = {}
        for step, text in self._text.items():
            first.setdefault(text, step)
        return [
            OpenQuestion(
                *self._named(first[text]), uses[text], text in mine, round(price.nominal_ns),
                price.uncertainty,
            )
            for text in settled
            for price in [self._price[text]]
        ]  # fmt: skip

    def _alternative(self, mine: Counter[str], settled: Mapping[str, None]) -> Choice:
        """The best plan where every estimate that is not settled errs against this one."""

        def cost_ns(step: Step, otherwise: int) -> int:
            text = self._text.get(step)
            if text is None:  # free
                return otherwise
            price = self._price[text]
            if text in settled or not price.estimated:
                return round(price.nominal_ns)
            error = price.uncertainty if text in mine else -min(1.0, price.uncertainty)
            return round(price.nominal_ns * (1 + error))

        selection, solution = self._space.solved(
            {c: cost_ns(c, ns) for c, ns in self._plan.costs.items()},
            {c: cost_ns(c, ns) for c, ns in self._plan.conversion_costs.items()},
            self._options,
        )
        if solution.status in (Status.INFEASIBLE, Status.UNKNOWN):
            raise SolverError(
                "selection", "a plan for other prices", solution.status.value,
                "give the solver more time with --time-limit",
            )  # fmt: skip
        return selection.choice(solution.candidates, solution.conversions)

    def _is_open(self, text: str) -> bool:
        price = self._price[text]
        return price.estimated and price.uncertainty > _SURE

    def _used(self, choice: Choice) -> Counter[str]:
        """How often a plan runs each piece of work that is not free."""
        steps: tuple[Step, ...] = (*choice.candidates, *choice.conversions)
        return Counter(self._text[step] for step in steps if step in self._text)

    def _named(self, step: Step) -> tuple[str, str]:
        """What is measured, and in which form."""
        graph = self._plan.egraph.graph
        if not isinstance(step, Candidate):
            what = f"tensor {step.tensor}: {graph.types[step.tensor]}"
            return what, f"{step.source} to {step.target}"
        cluster = self._plan.clusters[step.cluster]
        form = form_name(self._plan.egraph, cluster, step)
        layouts = [str(step.layout_of(t)) for t in (*cluster.inputs[:1], *cluster.outputs[:1])]
        return graph.name_of(cluster.root), f"{form}, {' to '.join(layouts)}"


def _text(work: Work) -> str:
    return "\n".join((*work.benchmark.flags, work.benchmark.text))
