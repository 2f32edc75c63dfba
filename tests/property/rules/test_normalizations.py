"""Every normalization rule in the table, checked for what house rules ask of a rule."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutopt.ir.graph import Constant, Graph
from layoutopt.ir.refusal import Refusal
from layoutopt.normalize import NORMALIZATIONS
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.oracle import evaluate
from layoutopt.rules.rule import (
    Exactness,
    Example,
    Expression,
    NormalizationRule,
    replacement,
)
from tests.parsing import verified
from tests.property.rules.constant_inits import half_read, ops_with_constant_inits
from tests.property.rules.equivalence import assert_same, assert_well_formed, leaves
from tests.property.rules.functions import smooth_functions
from tests.property.rules.naming import name_of
from tests.property.rules.odd import odd_graph
from tests.property.rules.ops import STRUCTURED
from tests.property.rules.packed import packed_ops, round_trips
from tests.property.rules.quantized import dequantized_contractions, quantizations, zero_point_ops

Rule = NormalizationRule[Any]
EXAMPLES = [(rule, example) for rule in NORMALIZATIONS for example in rule.examples]
GRAPHS = (
    ops_with_constant_inits(),
    half_read(),
    zero_point_ops(),
    dequantized_contractions(),
    packed_ops(),
    round_trips(),
    quantizations(),
    smooth_functions(),
)
ODD = range(200)


def assert_replaces(graph: Graph, op: int, found: Expression, seed: int = 0) -> None:
    """The expression makes the results of the op that are read, as they were."""
    types = (*graph.types, *found.types)
    read = {t for o in graph.ops for t in o.inputs}.union(graph.outputs)
    made = {t for new in found.ops for t in new.outputs}
    assert read.intersection(graph.ops[op].outputs) <= made
    for new in found.ops:
        assert_well_formed(types, new)
    ops = (*graph.ops[:op], *found.ops, *graph.ops[op + 1 :])
    given = leaves(graph, Random(seed))
    wanted = evaluate(graph, given)
    values = evaluate(Graph(types, ops, graph.inputs, graph.outputs), given)
    for tensor in made:
        assert values[tensor].shape == types[tensor].shape
    assert_same(sorted(read.intersection(graph.ops[op].outputs)), values, wanted, found.rounds)


def assert_valid(graph: Graph) -> None:
    """The graph is MLIR; constants, whose values a graph does not hold, come in as inputs."""
    constants = tuple(op.result for op in graph.ops if isinstance(op, Constant))
    ops = tuple(op for op in graph.ops if not isinstance(op, Constant))
    verified(Graph(graph.types, ops, (*graph.inputs, *constants), graph.outputs))


@pytest.mark.parametrize(("rule", "example"), EXAMPLES, ids=name_of)
def test_examples_do_what_they_say(rule: Rule, example: Example) -> None:
    found = replacement(rule, example.graph, example.op)
    if example.refusal is None:
        assert isinstance(found, Expression)
        assert_replaces(example.graph, example.op, found)
        assert_valid(canonical_form(example.graph, rules=(rule,)).graph)
    else:
        assert found == Refusal(example.refusal)
        assert re.match(r"expected .* but ", example.refusal)
        assert example.refusal in [r.reason for r in canonical_form(example.graph).refusals]


def test_rules_are_sound_wherever_they_fire() -> None:
    fired: Counter[str] = Counter()

    def hold(graph: Graph) -> None:
        for op in range(len(graph.ops)):
            for rule in NORMALIZATIONS:
                found = replacement(rule, graph, op)
                if isinstance(found, Expression):
                    fired[rule.name] += 1
                    assert_replaces(graph, op, found)

    for graphs in GRAPHS:
        settings(max_examples=60)(given(graphs)(hold))()
    for kind in STRUCTURED.values():
        settings(max_examples=10)(given(kind())(hold))()
    for seed in ODD:
        hold(odd_graph(Random(seed)))
    assert [rule.name for rule in NORMALIZATIONS if not fired[rule.name]] == []


@given(st.one_of(ops_with_constant_inits(), half_read(), packed_ops(), round_trips()))
@settings(max_examples=60)
def test_the_canonical_form_is_the_same_function(graph: Graph) -> None:
    found = canonical_form(graph).graph
    assert_valid(found)
    given = leaves(graph, Random(0))
    assert_same(graph.outputs, evaluate(found, given), evaluate(graph, given))


@given(st.one_of(*GRAPHS))
@settings(max_examples=60)
def test_the_canonical_form_has_a_canonical_form_of_its_own(graph: Graph) -> None:
    found = canonical_form(graph).graph
    assert canonical_form(found).graph is found


@pytest.mark.parametrize("rule", NORMALIZATIONS, ids=name_of)
def test_what_is_not_admitted_is_refused(rule: Rule) -> None:
    (fires,) = [example for example in rule.examples if example.refusal is None]
    exactness = rule.exactness_of(rule.match(fires.graph, fires.op))
    found = replacement(rule, fires.graph, fires.op, {*Exactness} - {exactness})
    assert found == Refusal(
        f"expected an exactness that the options admit, but got '{exactness.value}'"
    )
