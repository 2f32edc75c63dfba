"""Run the normalization rules until none of them finds anything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from layoutopt.ir.graph import Graph, Op, Reshape, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.renaming import renumbered
from layoutopt.ir.types import TensorType
from layoutopt.normalize import NORMALIZATIONS
from layoutopt.normalize.drop_dead_results import DropDeadResults
from layoutopt.rules.rule import (
    EVERY_EXACTNESS,
    Exactness,
    Expression,
    NormalizationRule,
    replacement,
)

Rules = Sequence[NormalizationRule[Any]]
Check = Callable[[Graph, int, Expression], str]
"""Why an expression does not compute what an op does; empty where it does."""


@dataclass(frozen=True, slots=True)
class RefusedNormalization:
    """A rule that matched an op, named as in reports, and was not applied there."""

    op: str
    rule: str
    reason: str


@dataclass(frozen=True)
class CanonicalForm:
    """A graph after the rules, and as it came; tensors that both have are the same."""

    graph: Graph
    rules: tuple[tuple[str, ...], ...]
    """For each op the rules that made it; none for those that are as they came."""
    came: Graph
    """The graph before, less what is not read: that has no price."""
    refusals: tuple[RefusedNormalization, ...]


def canonical_form(
    graph: Graph,
    admitted: Collection[Exactness] = EVERY_EXACTNESS,
    check: Check | None = None,
    rules: Rules = NORMALIZATIONS,
) -> CanonicalForm:
    """The graph that the rewrites are applied to.

    ``admitted``: a rule that changes the numbers further is refused. ``check``: refuses what
    computes something else than the op that it replaces.
    """
    run = _Run(admitted, check)
    start = _Ruled(graph, ((),) * len(graph.ops))
    came = run.exhausted(start, [rule for rule in rules if isinstance(rule, DropDeadResults)])
    found = run.exhausted(replace(came, rules=((),) * len(came.graph.ops)), rules)
    found = _without_second_names(found)
    return CanonicalForm(found.graph, found.rules, came.graph, tuple(run.refusals))


@dataclass(frozen=True)
class _Ruled:
    graph: Graph
    rules: tuple[tuple[str, ...], ...]


@dataclass
class _Run:
    admitted: Collection[Exactness]
    check: Check | None
    refusals: dict[RefusedNormalization, None] = field(default_factory=dict)

    def exhausted(self, start: _Ruled, rules: Rules) -> _Ruled:
        """The graph when no rule finds anything more: after one that did, the first comes again."""
        found, place = start, 0
        while place < len(rules):
            before, found = found, self._swept(found, rules[place])
            place = place + 1 if found is before else 0
        return found

    def _swept(self, ruled: _Ruled, rule: NormalizationRule[Any]) -> _Ruled:
        """The rule at every op, each seen in the graph as it was before."""
        graph = ruled.graph
        replaced = _Replaced(graph.types)
        fired = False
        for index, op in enumerate(graph.ops):
            found = self._found(rule, graph, index)
            fired = fired or found is not None
            if found is None:
                replaced.keep(op, graph.name_of(index), ruled.rules[index])
                continue
            name = graph.name_of(index if found.stands_for is None else found.stands_for)
            replaced.add(op, found, (name, rule.part), (*ruled.rules[index], rule.name))
        return replaced.ruled(graph) if fired else ruled

    def _found(self, rule: NormalizationRule[Any], graph: Graph, index: int) -> Expression | None:
        found = replacement(rule, graph, index, self.admitted)
        if isinstance(found, Expression) and found.ops and self.check is not None:
            unsound = self.check(graph, index, found)
            found = Refusal(unsound) if unsound else found
        if isinstance(found, Refusal):
            refused = RefusedNormalization(graph.name_of(index), rule.name, found.reason)
            self.refusals[refused] = None
            return None
        return found


class _Replaced:
    """The ops of a graph with others in place of some; equal ops are computed once."""

    def __init__(self, types: tuple[TensorType, ...]) -> None:
        self.given = len(types)
        self.types = list(types)
        self.ops: list[Op] = []
        self.names: list[str] = []
        self.rules: list[tuple[str, ...]] = []
        self._seen: dict[tuple[Op, tuple[TensorType, ...]], tuple[int, ...]] = {}

    def keep(self, op: Op, name: str, rules: tuple[str, ...]) -> None:
        """An op as it is."""
        self.ops.append(op)
        self.names.append(name)
        self.rules.append(rules)

    def add(
        self, op: Op, found: Expression, names: tuple[str, str], rules: tuple[str, ...]
    ) -> None:
        """An expression; the op that does the work of the replaced one keeps its name."""
        name, part = names
        number: dict[int, int] = {}
        known = found.stands_for is not None
        main = next((new for new in found.ops if _does_work_of(new, op, known)), None)
        for new in found.ops:
            moved = self._moved(new, found.types, number)
            if moved is not None:
                self.keep(moved, name if new is main else f"{name}.{part}", rules)

    def _moved(self, op: Op, types: tuple[TensorType, ...], number: dict[int, int]) -> Op | None:
        """The op over tensors of this graph; None where one before it computes the same."""
        new = [t for t in op.outputs if t >= self.given]
        kinds = tuple(types[t - self.given] for t in new)
        stay = {t: number.get(t, t) for t in (*op.inputs, *op.outputs)}
        key = renumbered(op, stay | {t: -1 - i for i, t in enumerate(new)}), kinds
        known = self._seen.get(key)
        if known is not None:
            number.update(zip(new, known, strict=True))
            return None
        made = tuple(range(len(self.types), len(self.types) + len(new)))
        self._seen[key] = made
        self.types.extend(kinds)
        number.update(zip(new, made, strict=True))
        return renumbered(op, stay | dict(zip(new, made, strict=True)))

    def ruled(self, graph: Graph) -> _Ruled:
        """The graph of all that was added."""
        made = replace(graph, types=tuple(self.types), ops=tuple(self.ops), names=tuple(self.names))
        return _Ruled(made, tuple(self.rules))


def _does_work_of(new: Op, old: Op, known: bool) -> bool:
    """Whether an op has the loops of the one it replaces; ``known``: or others, in their place."""
    if not isinstance(new, Structured):
        return False
    if known:
        return True
    return isinstance(old, Structured) and (
        (new.domain, new.iterators) == (old.domain, old.iterators)
    )


def _without_second_names(ruled: _Ruled) -> _Ruled:
    """The graph whose outputs are made under their own names, where a rule put a reshape ahead."""
    graph = ruled.graph
    own: dict[int, int] = {}
    ops: list[int] = []
    for index, op in enumerate(graph.ops):
        if _renames(graph, op) and op.inputs[0] not in own:
            own[op.inputs[0]] = op.outputs[0]
        else:
            ops.append(index)
    if not own:
        return ruled
    number = {t: own.get(t, t) for t in range(len(graph.types))}
    made = replace(
        graph,
        ops=tuple(renumbered(graph.ops[i], number) for i in ops),
        names=tuple(graph.name_of(i) for i in ops),
    )
    return _Ruled(made, tuple(ruled.rules[i] for i in ops))


def _renames(graph: Graph, op: Op) -> bool:
    """Whether an op gives a tensor that is computed here another name, to hand it out."""
    if not isinstance(op, Reshape) or graph.types[op.source] != graph.types[op.result]:
        return False
    outside = {*graph.inputs, *graph.outputs, *graph.constants}
    return op.result in graph.outputs and op.source not in outside
