"""Where a rule fits in an e-graph: over every producer of the classes that it looks into."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, SupportsIndex

from layoutopt.ir.graph import Graph
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rule import EveryProducer, Expression, RewriteRule, apply

_MOST = 64
"""Ways to choose producers at most, for one rule at one op."""

_LIMIT = Refusal(f"expected at most {_MOST} ways to match, the budget of saturation, but got more")

Chosen = tuple[tuple[int, int | None], ...]
"""Classes, and the one producer of each that a rule sees, if any."""


@dataclass(frozen=True, slots=True)
class Matches:
    """All that a rule finds at one op."""

    found: tuple[tuple[Expression | Refusal, Chosen], ...]
    """Each with the producers that it was found with."""
    producers: Mapping[int, tuple[int, ...]]
    """Those of the classes that the rule looked into: with others it may find more."""
    consumers: Mapping[int, tuple[int, ...]]
    """The same for ops that read a class."""
    tried: int = 0
    """How often the rule ran."""

    def hold(self, graph: Graph) -> bool:
        """Whether the rule would see the same in a graph that has grown since."""
        return all(graph.producers[t] == known for t, known in self.producers.items()) and all(
            graph.consumers[t] == known for t, known in self.consumers.items()
        )


class _Asked(tuple[tuple[int, ...], ...]):
    """For each class some ops, and of which classes a rule asked for them, in order."""

    asked: dict[int, None]

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        if isinstance(key, slice):
            return tuple(self[place] for place in range(*key.indices(len(self))))
        self.asked[key.__index__()] = None
        return super().__getitem__(key)


class _Seen(_Asked):
    """The producers of each class as a rule sees them."""

    chosen: Mapping[int, int | None]
    hidden: Collection[int]

    @classmethod
    def of(cls, graph: Graph, chosen: Chosen, hidden: Collection[int]) -> Self:
        seen = cls(graph.producers)
        seen.asked, seen.chosen, seen.hidden = {}, dict(chosen), hidden
        return seen

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        makers = super().__getitem__(key)
        if isinstance(key, slice):
            return makers
        tensor = key.__index__()
        if tensor in self.chosen:
            maker = self.chosen[tensor]
            return () if maker is None else (maker,)
        return self._shown(makers) if self.hidden else makers

    def _shown(self, makers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(maker for maker in makers if maker not in self.hidden)

    def undecided(self) -> tuple[int, tuple[int, ...]] | None:
        """The first class that was asked for and has several producers, and these."""
        for tensor in self.asked:
            makers = () if tensor in self.chosen else self[tensor]
            if len(makers) > 1:
                return tensor, makers
        return None


class Matcher:
    """Applies rules to the ops of one graph. ``hidden``: ops that no rule sees."""

    def __init__(self, graph: Graph, hidden: Collection[int]) -> None:
        self.graph, self._hidden = graph, hidden
        self._readers = _Asked(graph.consumers)
        self._all = self._view(())

    def matches(self, rule: RewriteRule[Any], op: int) -> Matches:
        """All that a rule finds at an op: for each class it looks into over one producer at a time.

        Where a producer is of no use to the rule, as it is where the rule finds the same without
        any, the others count alone.
        """
        self._readers.asked = {}
        search = _Search(rule, op, self._view)
        self._all[1].asked = {}
        found = tuple(search.found((), self._all))
        return Matches(
            found,
            {t: self.graph.producers[t] for t in search.asked},
            {t: self.graph.consumers[t] for t in self._readers.asked},
            search.tried,
        )

    def _view(self, chosen: Chosen) -> _View:
        seen = _Seen.of(self.graph, chosen, self._hidden)
        return self.graph.seen_with(seen, self._readers), seen


_View = tuple[Graph, _Seen]
_Found = list[tuple[Expression | Refusal, Chosen]]


@dataclass
class _Search:
    rule: RewriteRule[Any]
    op: int
    view: Callable[[Chosen], _View]
    asked: set[int] = field(default_factory=set)
    tried: int = 0

    def found(self, chosen: Chosen, view: _View) -> _Found:
        """What the rule finds with these producers, and any others of other classes."""
        graph, seen = view
        self.tried += 1
        if self.tried > _MOST:
            return [(_LIMIT, chosen)]
        result = apply(self.rule, graph, self.op)
        self.asked.update(seen.asked)
        undecided = None if isinstance(self.rule, EveryProducer) else seen.undecided()
        if undecided is None:
            return [] if result is None else [(result, chosen)]
        tensor, makers = undecided
        without = self._with(chosen, tensor, None)
        known = [result for result, _ in without]
        through = [
            (result, those)
            for maker in makers
            for result, those in self._with(chosen, tensor, maker)
            if result not in known
        ]
        return through or without

    def _with(self, chosen: Chosen, tensor: int, maker: int | None) -> _Found:
        more = (*chosen, (tensor, maker))
        return self.found(more, self.view(more))
