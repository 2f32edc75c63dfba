"""What a rewrite rule claims to be proved is proved here, and nothing passes that is not so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from layoutopt.ir.affine import Affine
from layoutopt.ir.graph import Graph, Op, Pad, Scatter, Slice, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rule import Evidence, Exactness, Expression, RewriteRule, Unproven
from tests.marks import long
from tests.proofs.paths import DisprovedError
from tests.proofs.rewritten import prove_rewrite
from tests.proofs.table import PROOFS, Case

Rule = RewriteRule[Any]
DOCS = Path(__file__).parents[2] / "docs" / "rules.md"
RULES: dict[str, Rule] = {rule.name: rule for rule in REWRITES}
PROVED = [rule for rule in REWRITES if rule.evidence is Evidence.PROVED]


def name_of(value: object) -> str:
    return value.name if hasattr(value, "name") else getattr(value, "__name__", "")


def test_rules_claim_what_the_table_proves() -> None:
    assert {rule.name for rule in PROVED} == set(PROOFS)
    assert not any(isinstance(rule.argument, Unproven) for rule in PROVED)


def test_the_docs_say_over_what() -> None:
    rows = [
        f"| {rule.name} | {rule.exactness.value} | {PROOFS[rule.name].over} |" for rule in PROVED
    ]
    lines = DOCS.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.split()[1:2] and line.split()[1] in RULES] == rows


@pytest.mark.parametrize(
    "name", [long(n) if n == "split-convolution-into-phases" else n for n in PROOFS]
)
def test_both_sides_are_equal_for_all_indices(name: str) -> None:
    for case, named_by in PROOFS[name].pairs:
        assert prove_rewrite(RULES[name], case, named_by) > 0


Change = Callable[[Op], Op | None]
"""A wrong op in place of one that a rule made; None where there is nothing to change."""


def later(op: Op) -> Op | None:
    """The first offset is one further."""
    match op:
        case Slice():
            return replace(op, offsets=(op.offsets[0] + 1, *op.offsets[1:]))
        case Scatter():
            first = (op.offsets[0][0] + 1, *op.offsets[0][1:])
            return replace(op, offsets=(first, *op.offsets[1:]))
        case Pad():
            return replace(
                op, low=(op.low[0] + 1, *op.low[1:]), high=(op.high[0] - 1, *op.high[1:])
            )
        case _:
            return None


def wider(op: Op) -> Op | None:
    """Every stride is one more."""
    if isinstance(op, Slice | Scatter):
        return replace(op, strides=tuple(s + 1 for s in op.strides))
    return None


def swapped(op: Op) -> Op | None:
    """An operand's last two dims are read in the wrong order."""
    if not isinstance(op, Structured) or len(op.maps[0]) < 2:
        return None
    *others, one, other = op.maps[0]
    if one == other:
        return None
    return replace(op, maps=((*others, other, one), *op.maps[1:]))


def beside(op: Op) -> Op | None:
    """An operand is read one element further, along its last dim."""
    if not isinstance(op, Structured) or not op.maps[0]:
        return None
    *others, last = op.maps[0]
    moved = Affine(last.terms, last.offset + 1)
    return replace(op, maps=((*others, moved), *op.maps[1:]))


def filled(op: Op) -> Op | None:
    """Another background, or another padding value."""
    match op:
        case Scatter() if op.background is not None:
            return replace(op, background="7.0 : f32")
        case Pad():
            return replace(op, value="7.0 : f32")
        case _:
            return None


CHANGES: tuple[Change, ...] = (later, wider, swapped, beside, filled)


@dataclass
class Planted:
    """A rule whose rewrite is wrong in the first op that can be; elsewhere it does not fire."""

    rule: Rule
    change: Change
    fired: bool = False

    name = summary = argument = "planted"
    evidence, exactness = Evidence.ARGUMENT, Exactness.BIT_EXACT
    canonicalizes, examples = False, ()

    def match(self, graph: Graph, op: int) -> Expression | None:
        match = self.rule.match(graph, op)
        if match is None or self.rule.guard(match) is not None:
            return None
        found = self.rule.rewrite(graph, match)
        for position, made in enumerate(found.ops):
            wrong = self.change(made)
            if wrong is not None:
                self.fired = True
                ops = (*found.ops[:position], wrong, *found.ops[position + 1 :])
                return replace(found, ops=ops)
        return None

    def guard(self, match: Expression) -> Refusal | None:
        return None

    def rewrite(self, graph: Graph, match: Expression) -> Expression:
        return match


def fails(rule: Rule, case: Case, named_by: int | None) -> bool:
    try:
        prove_rewrite(rule, case, named_by)
    except DisprovedError:
        return True
    return False


@pytest.mark.long
@pytest.mark.parametrize("rule", PROVED, ids=name_of)
def test_a_wrong_map_is_not_proved(rule: Rule) -> None:
    """For each change of an op that the rule makes, some case disproves it."""
    fired = []
    for change in CHANGES:
        wrong = Planted(rule, change)
        found = any(fails(wrong, *pair) for pair in PROOFS[rule.name].pairs)
        assert found == wrong.fired, change
        fired.append(wrong.fired)
    assert any(fired)
