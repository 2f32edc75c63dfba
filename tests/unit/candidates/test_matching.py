"""Rules see one producer of a class at a time, and all of them in turn."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from layoutopt.candidates.matching import Matcher
from layoutopt.candidates.saturation import saturate
from layoutopt.ir.graph import Concat, Graph, Op, Pad, Reshape
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.types import TensorType
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

KIND = TensorType((4,), "f32")
X, A, Y = 0, 1, 2
OP = 4
"""Reads class ``A``, which ops 0 to 3 make."""


def several() -> Graph:
    """A class of four producers, two of them pads, and an op that reads it."""
    ops: tuple[Op, ...] = (
        Reshape(X, A),
        Pad(X, A, (1,), (0,), "0.0"),
        Pad(X, A, (0,), (1,), "0.0"),
        Concat((X, X), A, 0),
        Reshape(A, Y),
    )
    return Graph((KIND,) * 3, ops, (X,), (Y,))


@dataclass(frozen=True)
class FoldPad:
    """Reads what the first pad reads that makes the source; refuses widths on the far side."""

    finds_without: bool = False
    name: str = "fold-pad"
    summary: str = "reshape(pad(x)) -> concat(x, x)"
    argument: str = "none: a test"
    evidence: Evidence = Evidence.ARGUMENT
    exactness: Exactness = Exactness.BIT_EXACT
    canonicalizes: bool = False
    examples: tuple[Example, ...] = ()

    def match(self, graph: Graph, op: int) -> tuple[int, Pad | None] | None:
        found = graph.ops[op]
        if not isinstance(found, Reshape) or found.result != Y:
            return None
        makers = [graph.ops[i] for i in graph.producers[found.source]]
        pad = next((maker for maker in makers if isinstance(maker, Pad)), None)
        return (found.result, pad) if pad is not None or self.finds_without else None

    def guard(self, match: tuple[int, Pad | None]) -> Refusal | None:
        pad = match[1]
        return Refusal("far side") if pad is not None and pad.high == (1,) else None

    def rewrite(self, graph: Graph, match: tuple[int, Pad | None]) -> Expression:
        result, pad = match
        return Expression((), (Concat((X, X), result, 1 if pad is None else 2),))


def test_every_producer_is_tried() -> None:
    found = Matcher(several(), ()).matches(FoldPad(), OP)
    assert found.found == (
        (Expression((), (Concat((X, X), Y, 2),)), ((A, 1),)),
        (Refusal("far side"), ((A, 2),)),
    )
    assert found.producers == {A: (0, 1, 2, 3)}


def test_producers_of_no_use_count_where_no_other_is_of_any() -> None:
    rule = FoldPad(finds_without=True)
    assert [chosen for _, chosen in Matcher(several(), ()).matches(rule, OP).found] == [
        ((A, 1),),
        ((A, 2),),
    ]
    found = Matcher(several(), {1, 2}).matches(rule, OP).found
    assert found == ((Expression((), (Concat((X, X), Y, 1),)), ((A, None),)),)


def test_hidden_ops_are_not_seen() -> None:
    assert not Matcher(several(), {1, 2}).matches(FoldPad(), OP).found


def test_a_rule_that_asks_for_nothing_runs_once() -> None:
    assert Matcher(several(), ()).matches(FoldPad(), 0).found == ()
    assert Matcher(several(), ()).matches(FoldPad(), 0).producers == {}


def test_matches_hold_until_a_class_gets_another_producer() -> None:
    graph = several()
    found = Matcher(graph, ()).matches(FoldPad(), OP)
    assert found.hold(graph)
    assert found.hold(graph.extended((), [Reshape(A, Y)]))
    assert not found.hold(graph.extended((), [Pad(X, A, (2,), (0,), "0.0")]))


@pytest.mark.parametrize(("count", "limited"), [(62, False), (63, True)])
def test_ways_to_match_are_limited(count: int, limited: bool) -> None:
    pads = tuple(Pad(X, A, (i,), (0,), "0.0") for i in range(2, count + 2))
    graph = Graph((KIND,) * 3, (*pads, Reshape(A, Y)), (X,), (Y,))
    found = Matcher(graph, ()).matches(FoldPad(), count).found
    reasons = {refused.reason for refused, _ in found if isinstance(refused, Refusal)}
    limit = "expected at most 64 ways to match, the budget of saturation, but got more"
    assert reasons == ({limit} if limited else set())


def test_the_producers_that_a_rule_adds_are_matched_too() -> None:
    """The pad is the class's second producer, found by another rule after this one ran."""

    @dataclass(frozen=True)
    class MakePad(FoldPad):
        name: str = "make-pad"

        def match(self, graph: Graph, op: int) -> tuple[int, Pad | None] | None:
            found = graph.ops[op]
            return (found.result, None) if found == Reshape(X, A) else None

        def rewrite(self, graph: Graph, match: tuple[int, Pad | None]) -> Expression:
            return Expression((), (Pad(X, match[0], (1,), (0,), "0.0"),))

    graph = Graph((KIND,) * 3, (Reshape(X, A), Reshape(A, Y)), (X,), (Y,))
    for rules in [(FoldPad(), MakePad()), (MakePad(), FoldPad())]:
        made = saturate(graph, rules)
        assert {*made.graph.ops[2:]} == {Pad(X, A, (1,), (0,), "0.0"), Concat((X, X), Y, 2)}
