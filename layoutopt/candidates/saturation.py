"""Saturation: run all rewrite rules until nothing new appears or a limit is met."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from layoutopt.candidates.classes import Addition, Classes
from layoutopt.candidates.egraph import EGraph, RefusedRewrite, SaturationStop
from layoutopt.candidates.matching import Chosen, Matcher, Matches
from layoutopt.candidates.soundness import Soundness
from layoutopt.ir.graph import Graph
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rule import EVERY_EXACTNESS, Exactness, Expression, RewriteRule

_Rules = Sequence[RewriteRule[Any]]


@dataclass(frozen=True, slots=True)
class Limits:
    """Where saturation ends though more may be found."""

    ops: int = 20_000
    tries: int = 50_000
    """How often rules are tried at most in all, however small the model."""
    tries_per_op: int = 400
    """And for each of its ops: models take 20 to 180."""

    def reached(self, model_ops: int, ops: int, tries: int) -> SaturationStop | None:
        """The limit that is reached, if any."""
        if ops > self.ops:
            return SaturationStop.OP_LIMIT
        if tries > max(self.tries, self.tries_per_op * model_ops):
            return SaturationStop.MATCH_LIMIT
        return None


_LIMITS = Limits()


def saturate(
    graph: Graph,
    rules: _Rules = REWRITES,
    limits: Limits = _LIMITS,
    soundness: Soundness | None = None,
    admitted: Collection[Exactness] = EVERY_EXACTNESS,
    made_by: Sequence[tuple[str, ...]] | None = None,
) -> EGraph:
    """Add every alternative that the rules find, over every producer of what they look into.

    ``soundness``: refuses those that compute something else than the op that they replace.
    ``admitted``: rules of another exactness are left out. ``made_by``: for each op the rules that
    made it before.
    Where a class that a rule looked into gets another producer or reader, it looks again.
    """
    admitted_rules = [rule for rule in rules if rule.exactness in admitted]
    run = _Run(graph, admitted_rules, soundness, made_by or [()] * len(graph.ops))
    stop = None
    while run.pending:
        stop = limits.reached(len(graph.ops), len(run.classes.graph.ops), run.tried)
        if stop is not None:
            break
        run.look_at(run.next())
    return run.egraph(stop or SaturationStop.SATURATED)


class _Run:
    def __init__(
        self,
        graph: Graph,
        rules: _Rules,
        soundness: Soundness | None,
        made_by: Sequence[tuple[str, ...]],
    ) -> None:
        self.classes = Classes(graph)
        self.tried = 0
        self.pending: dict[int, None] = dict.fromkeys(range(len(graph.ops)))
        self._original = len(graph.ops)
        self._rules, self._soundness = rules, soundness
        self._origin = list(range(len(graph.ops)))
        self._made = [*made_by]
        self._refusals: dict[RefusedRewrite, None] = {}
        self._canonicalized: set[int] = set()
        self._atomic: list[tuple[int, ...]] = []
        self._fired: set[tuple[int, str, Chosen]] = set()
        self._matcher = Matcher(graph, ())
        self._matches: dict[tuple[int, str], Matches] = {}
        self._replaced: set[tuple[int, str]] = set()
        """Ops that a rule replaced together with others."""
        self._lookers: defaultdict[int, dict[int, None]] = defaultdict(dict)
        """For each class the ops at which some rule looked into it."""

    def next(self) -> int:
        """The op that waits for the longest time."""
        first = next(iter(self.pending))
        del self.pending[first]
        return first

    def look_at(self, index: int) -> None:
        """Apply all rules at one op, but for those that would see what they saw before."""
        wanted = index not in self.classes.atomic and _is_computed(self.classes.graph, index)
        for rule in self._rules if wanted else ():
            graph = self.classes.graph
            known = self._matches.get((index, rule.name))
            if (index, rule.name) in self._replaced or (known is not None and known.hold(graph)):
                continue
            if self._matcher.graph is not graph:
                self._matcher = Matcher(graph, self.classes.atomic)
            found = self._matcher.matches(rule, index)
            self._matches[index, rule.name] = found
            self.tried += found.tried
            for tensor in found.producers:
                self._lookers[tensor][index] = None
            for expression, chosen in found.found:
                if isinstance(expression, Refusal):
                    self._refuse(index, rule, expression.reason)
                elif (index, rule.name, chosen) not in self._fired:
                    self._fired.add((index, rule.name, chosen))
                    self._take(index, rule, self.classes.current(expression, len(graph.types)))

    def _take(self, index: int, rule: RewriteRule[Any], found: Expression) -> None:
        """Add what one rule found at one op."""
        replaced = found.replaces or (index,)
        if found.replaces:
            self._replaced.update((i, rule.name) for i in found.replaces)
        addition = self.classes.lacking(found)
        if addition.is_empty:
            if rule.canonicalizes:
                self._canonicalized.add(index)
            return
        graph = self.classes.graph
        if self._soundness is not None:
            reasons = (self._soundness.reason(graph, i, found) for i in replaced)
            unsound = next(filter(None, reasons), "")
            if unsound:
                self._refuse(index, rule, unsound)
                return
        if rule.canonicalizes:
            self._canonicalized.add(index)
        self._add(index, rule.name, replaced, addition)

    def _add(self, index: int, rule: str, replaced: Iterable[int], addition: Addition) -> None:
        graph = self.classes.graph
        of_result = {t: i for i in replaced for t in graph.ops[i].outputs}
        ops = addition.expression.ops
        homes = [
            self._origin[next((of_result[t] for t in op.outputs if t in of_result), index)]
            for op in ops
        ]
        new, changed = self.classes.add(addition, [graph.name_of(home) for home in homes])
        self._origin += homes
        self._made += [(*self._made[index], rule)] * len(ops)
        if addition.expression.atomic:
            self._atomic.append(tuple(i for i in new if _is_computed(self.classes.graph, i)))
        else:
            self.pending.update(dict.fromkeys(new))
        grown = self.classes.graph
        for tensor in sorted(changed.union(of_result)):
            readers = dict.fromkeys(grown.consumers[tensor])
            self.pending.update(readers | self._lookers[tensor])

    def _refuse(self, index: int, rule: RewriteRule[Any], reason: str) -> None:
        self._refusals[RefusedRewrite(self._origin[index], rule.name, reason)] = None

    def egraph(self, stop: SaturationStop) -> EGraph:
        """All that was found."""
        graph, place = self.classes.compacted()
        kept = {new: old for old, new in reversed(place.items())}
        return EGraph(
            graph,
            self._original,
            tuple(self._made[kept[new]] for new in range(len(graph.ops))),
            frozenset(place[i] for i in self._canonicalized if i in place),
            tuple(tuple(place[i] for i in ops) for ops in self._atomic),
            tuple(self._refusals),
            stop,
            tuple(range(self._original)),
        )


def _is_computed(graph: Graph, index: int) -> bool:
    """What constants compute is evaluated ahead of time and needs no other form."""
    return not all(t in graph.constants for t in graph.ops[index].outputs)
