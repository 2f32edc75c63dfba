"""Which measurements could change a plan that rests on estimates.

Let every estimate err against the plan by its standard error: what the plan uses costs more, what
it does not use costs less. Where another plan wins then, the two are told apart by measuring what
only one of them uses. Those measurements are taken to come out as estimated, and the same is asked
of the rest, until nothing but what would be measured could change the plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice
from layoutopt.candidates.conversion import Conversion
from layoutopt.candidates.form_name import form_name
from layoutopt.ir.graph import Graph
from layoutopt.options import Options
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.joint_selection import JointChoice
from layoutopt.planning.joint_space import JointSpace
from layoutopt.planning.planner import plan_graph
from layoutopt.planning.priced import Text, text_of
from layoutopt.planning.setting import PlanSetting
from layoutopt.solver import TimeLimit

_SURE = 0.05
"""A relative error at which a price counts as known: that to which measurements repeat."""

Step = Candidate | Conversion


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """One measurement that could change the plan."""

    what: str
    """The op, or the tensor that is converted; the first one of several equal ones."""
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


def open_questions(graphs: Sequence[Graph], setting: PlanSetting) -> tuple[OpenQuestion, ...]:
    """Plan with the prices there are; list what could change it, the most at stake first."""
    found: list[OpenQuestion] = []
    for graph in graphs:
        limit = TimeLimit(setting.options.time_limit_s)
        plan = plan_graph(graph, replace(setting, limit=limit))
        with setting.clock.stage("select"):
            found += _Question(plan, setting.options).ask()
    return tuple(sorted(found, key=lambda question: (-question.at_stake_ns, question.what)))


class _Question:
    """The prices of one plan, and the plans that other prices would lead to."""

    def __init__(self, plan: GraphPlan, options: Options) -> None:
        assert plan.space is not None, "it was planned just now"
        self._plan, self._space, self._options = plan, plan.space, options
        self._price = plan.piece_prices
        steps: tuple[Step, ...] = (*plan.costs, *plan.space.conversions)
        pieces = {step: plan.space.work(step) for step in steps}
        texts = {step: tuple(map(text_of, found)) for step, found in pieces.items()}
        known = {s: tuple(t for t in ts if self._is_known(t)) for s, ts in texts.items()}
        self._ways = {step: found for step, found in known.items() if found}
        """Each step in the forms that it may take: a conversion as packs, or as a transpose."""
        self._transposes = {text_of(p) for found in pieces.values() for p in found if p.lowered}

    def _is_known(self, text: Text) -> bool:
        return text in self._price and self._price[text].cost_ns is not None

    def ask(self) -> list[OpenQuestion]:
        """The measurements that could change this plan."""
        mine = self._used(self._plan.choice, lambda text: self._price[text].cost_ns or 0)
        uses = Counter(mine)
        measured: dict[Text, None] = {}
        while True:
            other = self._alternative(mine, measured)
            uses |= other
            differ = [t for t in {**mine, **other} if mine[t] != other[t] and t not in measured]
            new = [t for t in differ if self._is_open(t)]
            if not new:
                break
            measured.update(dict.fromkeys(new))
        first: dict[Text, Step] = {}
        for step, ways in self._ways.items():
            for text in ways:
                first.setdefault(text, step)
        return [
            OpenQuestion(
                *self._named(first[text], text), uses[text], text in mine, round(price.nominal_ns),
                price.uncertainty,
            )
            for text in measured
            for price in [self._price[text]]
        ]  # fmt: skip

    def _alternative(self, mine: Counter[Text], measured: Mapping[Text, None]) -> Counter[Text]:
        """The best plan where every estimate that is not measured errs against this one."""

        def way_ns(text: Text) -> int:
            price = self._price[text]
            if text in measured or not price.estimated:
                return round(price.nominal_ns)
            error = price.uncertainty if text in mine else -min(1.0, price.uncertainty)
            return round(price.nominal_ns * (1 + error))

        def cost_ns(step: Step, otherwise: int) -> int:
            ways = self._ways.get(step)
            return min(map(way_ns, ways)) if ways else otherwise  # none: it is free

        costs = {c: cost_ns(c, ns) for c, ns in self._plan.costs.items()}
        changes = {c: cost_ns(c, ns) for c, ns in self._plan.conversion_costs.items()}
        selection, solution = JointSpace.alone(self._space).solved(
            [(costs, changes)],
            self._options.search,
            TimeLimit(self._options.time_limit_s),
            [JointChoice((self._plan.choice,), {})],
        )
        return self._used(selection.choice(solution).parts[0], way_ns)

    def _is_open(self, text: Text) -> bool:
        price = self._price[text]
        return price.estimated and price.uncertainty > _SURE

    def _used(self, choice: Choice, way_ns: Callable[[Text], int]) -> Counter[Text]:
        """How often a plan runs each piece of work that is not free, in its cheapest form."""
        steps: tuple[Step, ...] = (*choice.candidates, *choice.conversions)
        return Counter(min(self._ways[s], key=way_ns) for s in steps if s in self._ways)

    def _named(self, step: Step, text: Text) -> tuple[str, str]:
        """What is measured, and in which form."""
        graph = self._plan.egraph.graph
        if not isinstance(step, Candidate):
            form = f"{step.source} to {step.target}"
            form += ", as a transpose" * (text in self._transposes)
            return f"tensor {step.tensor}: {graph.types[step.tensor]}", form
        cluster = self._plan.clusters[step.cluster]
        form = form_name(self._plan.egraph, cluster, step)
        layouts = [str(step.layout_of(t)) for t in (*cluster.inputs[:1], *cluster.outputs[:1])]
        return graph.name_of(cluster.root), f"{form}, {' to '.join(layouts)}"
