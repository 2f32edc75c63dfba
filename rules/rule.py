"""What a rule is: the shapes that all rules share."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeVar

from layoutopt.ir.graph import Graph, Op
from layoutopt.ir.layout import Layout
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.size import Undecided
from layoutopt.ir.types import TensorType

OpT_contra = TypeVar("OpT_contra", bound=Op, contravariant=True)
MatchT = TypeVar("MatchT")


def over_budget(got: int, most: int, of: str, purpose: str) -> Refusal | None:
    """Why something sound is not even priced: a limit of its own, where forms would explode."""
    if got <= most:
        return None
    return Refusal(f"expected at most {most} {of}, the budget of {purpose}, but got {got}")


class PropagationRule(Protocol[OpT_contra]):
    """How layouts pass through one kind of op."""

    @property
    def name(self) -> str:
        """The file's name with hyphens, then ``layouts``."""

    def propagate(
        self, op: OpT_contra, types: tuple[TensorType, ...], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """Given a layout of one operand or result, the layouts that the others get."""

    def relayout(self, op: OpT_contra, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Add the op over tensors in these layouts to ``physical``, or say why it has no form."""


class Exactness(Enum):
    """How far the numbers of two equal ways to compute a tensor may differ."""

    BIT_EXACT = "bit-exact"
    """The same operations on the same numbers in the same order, for Inf and NaN too."""
    REASSOCIATES = "up to reassociation"
    """The same terms, added up in another order."""
    ASSUMES_FINITE = "assumes finite values"
    """Products by zero are left out: 0 * x = 0, which no Inf and no NaN keeps."""
    APPROXIMATES = "other operations, assumes finite values"
    """Equal in real numbers; the roundings are others, and one Inf or NaN spreads."""


EVERY_EXACTNESS = frozenset(Exactness)


class Evidence(Enum):
    """How it is established that both sides of a rewrite are equal."""

    PROVED = "index maps proved equal (Z3) over what docs/rules.md says, and property tests"
    """By ``tests/proofs``, which check it."""
    ARGUMENT = "argument and property tests"


@dataclass(frozen=True, slots=True)
class Unproven:
    """In place of an argument: why there is none."""

    why: str


@dataclass(frozen=True, slots=True)
class Example:
    """A graph to test a rule on: op ``op`` is rewritten, or refused with this exact text."""

    graph: Graph
    op: int
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Expression:
    """New tensors and ops that compute an op's results in another way.

    The ops are numbered as tensors of the graph extended by ``types``; the last ops make the
    very tensors that the replaced op makes, so that both are in one e-class.
    """

    types: tuple[TensorType, ...]
    ops: tuple[Op, ...]
    rounds: bool = False
    """Whether the numbers are equal up to rounding only, on small integers too."""
    atomic: bool = False
    """Whether the ops get one price as a whole; no rule looks at them one by one."""
    stands_for: int | None = None
    """The op that the first structured one does the work of, where that has other loops."""
    replaces: tuple[int, ...] = ()
    """All ops whose results are made, where there are others beside the one that was matched."""


class Rule(Protocol[MatchT]):
    """Two equal ways to compute a tensor: match, guard, rewrite."""

    @property
    def name(self) -> str:
        """The file's name with hyphens."""

    @property
    def summary(self) -> str:
        """Before -> after, in one line."""

    @property
    def argument(self) -> str | Unproven:
        """Why both sides are equal, in one line."""

    @property
    def evidence(self) -> Evidence:
        """How that is established."""

    @property
    def exactness(self) -> Exactness:
        """How far the numbers of both sides may differ at most."""

    @property
    def examples(self) -> tuple[Example, ...]:
        """Graphs that the rule fires on and graphs that it refuses."""

    def match(self, graph: Graph, op: int) -> MatchT | None:
        """The facts where the structure fits, else None."""

    def guard(self, match: MatchT) -> Refusal | None:
        """Why the rule would not be sound here."""

    def rewrite(self, graph: Graph, match: MatchT) -> Expression:
        """The other way: all results of the op that are read; cannot fail after the guard."""


class RewriteRule(Rule[MatchT], Protocol[MatchT]):
    """An alternative, among which prices decide."""

    @property
    def canonicalizes(self) -> bool:
        """Whether the new form is the same computation with fewer loops.

        Where it exists, no other layout of the old form is priced.
        """


class EveryProducer:
    """Base of rules that look through all producers of a tensor by themselves.

    Others see one at a time, and run once for each way to choose them.
    """


class NormalizationRule(Rule[MatchT], Protocol[MatchT]):
    """A form that takes the place of another before anything is priced.

    The form that it replaces stays a candidate as it came, in its own layouts.
    """

    @property
    def part(self) -> str:
        """What ops are called in reports that come beside the one that is replaced."""

    def exactness_of(self, match: MatchT) -> Exactness:
        """How far the numbers of both sides may differ here."""


def apply(rule: RewriteRule[MatchT], graph: Graph, op: int) -> Expression | Refusal | None:
    """Run one rule at one op: its expression, its refusal, or None where it does not match.

    An op that reads or makes an empty tensor costs nothing and keeps its form. A rule that asks
    something of a size which its range leaves open refuses.
    """
    found = graph.ops[op]
    if graph.empty and not graph.empty.isdisjoint((*found.inputs, *found.outputs)):
        return None
    try:
        match = rule.match(graph, op)
        if match is None:
            return None
        return rule.guard(match) or rule.rewrite(graph, match)
    except Undecided as question:
        return Refusal(str(question))


def replacement(
    rule: NormalizationRule[MatchT],
    graph: Graph,
    op: int,
    admitted: Collection[Exactness] = EVERY_EXACTNESS,
) -> Expression | Refusal | None:
    """What takes the place of one op, why nothing does, or None where the rule does not match."""
    try:
        match = rule.match(graph, op)
        if match is None:
            return None
        exactness = rule.exactness_of(match)
        if exactness not in admitted:
            return rule.guard(match) or Refusal(
                f"expected an exactness that the options admit, but got '{exactness.value}'"
            )
        return rule.guard(match) or rule.rewrite(graph, match)
    except Undecided as question:
        return Refusal(str(question))
