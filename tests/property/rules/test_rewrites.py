"""Every rewrite rule in the table, checked for what house rules ask of a rule."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutopt.ir.graph import Graph
from layoutopt.ir.refusal import Refusal
from layoutopt.oracle import evaluate
from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rule import Example, Expression, RewriteRule, apply
from tests.parsing import verified
from tests.property.layouts import assert_close, small_integers
from tests.property.rules.algebra import ALGEBRA
from tests.property.rules.expanded import expanded
from tests.property.rules.interior_padded import (
    backward_convolutions,
    scatter_consumers,
    scatters,
    sliced,
    weight_gradients,
)
from tests.property.rules.moves import MOVES
from tests.property.rules.naming import name_of
from tests.property.rules.ops import (
    STRUCTURED,
    convolutions,
    elementwise,
    long_matmuls,
    matmuls,
    poolings,
)
from tests.property.rules.products import long_product, short_product
from tests.property.rules.repeating import repeating
from tests.property.rules.rewritten import rewritten
from tests.property.rules.short_splits import HalveShort, SplitShort
from tests.property.rules.siblings import behind_slices, siblings
from tests.property.rules.windowed import dense_convolutions, padded_convolutions
from tests.unit.rules.ways import assert_all_ways_agree

Rule = RewriteRule[Any]
EXAMPLES = [(rule, example) for rule in REWRITES for example in rule.examples]


def assert_equal(graph: Graph, op: int, found: Expression) -> None:
    """The expression makes the op's own tensors, bit for bit unless it rounds, and is MLIR."""
    other = rewritten(graph, op, found)
    types, outputs = other.types, other.outputs
    verified(other)
    assert found.ops[-1].outputs == outputs
    values = {t: small_integers(graph.types[t], t) for t in graph.inputs}
    there, here = evaluate(other, values), evaluate(graph, values)
    for tensor, kind in enumerate(types):
        if tensor in there:
            assert there[tensor].shape == kind.shape
    for tensor in outputs:
        assert there[tensor].dtype == here[tensor].dtype
        if found.rounds:
            assert_close(there[tensor], here[tensor])
        else:
            assert np.array_equal(there[tensor], here[tensor])


@pytest.mark.parametrize(("rule", "example"), EXAMPLES, ids=name_of)
def test_examples_do_what_they_say(rule: Rule, example: Example) -> None:
    found = apply(rule, example.graph, example.op)
    if example.refusal is None:
        assert isinstance(found, Expression)
        assert_equal(example.graph, example.op, found)
    else:
        assert found == Refusal(example.refusal)
        assert re.match(r"expected .* but ", example.refusal)


GRAPHS = (
    convolutions(),
    convolutions(filters=st.just(1)),
    convolutions(filters=st.just(1), unit_batch=True),
    dense_convolutions(),
    dense_convolutions(large=True),
    padded_convolutions(),
    long_matmuls(),
    siblings(),
    behind_slices(),
    expanded(),
    repeating(),
    *(st.randoms(use_true_random=False).map(made) for made in (*ALGEBRA, long_product)),
    poolings(),
    backward_convolutions(),
    backward_convolutions(filters=1),
    weight_gradients(),
    scatter_consumers(),
    scatter_consumers(kinds=("reshape",)),
    sliced(st.one_of(convolutions(), matmuls(), elementwise())),
    sliced(scatters()),
    MOVES["scatter"](),
    MOVES["pad"](),
)


def test_rules_are_sound_wherever_they_fire() -> None:
    fired: Counter[str] = Counter()

    def hold(graph: Graph) -> None:
        for op, rule in itertools.product(range(len(graph.ops)), REWRITES):
            found = apply(rule, graph, op)
            if isinstance(found, Expression):
                fired[rule.name] += 1
                assert_equal(graph, op, found)

    for graphs in GRAPHS:
        settings(max_examples=40)(given(graphs)(hold))()
    assert [rule.name for rule in REWRITES if not fired[rule.name]] == []


@pytest.mark.parametrize("kind", STRUCTURED)
@given(data=st.data())
@settings(max_examples=25)
def test_rules_are_sound_on_ops_they_were_not_written_for(kind: str, data: st.DataObject) -> None:
    graph = data.draw(STRUCTURED[kind]())
    for rule in REWRITES:
        found = apply(rule, graph, 0)
        if isinstance(found, Expression):
            assert_equal(graph, 0, found)


@pytest.mark.parametrize("kind", STRUCTURED)
@given(data=st.data())
@settings(max_examples=25)
def test_rules_are_sound_on_slices_of_any_op(kind: str, data: st.DataObject) -> None:
    graph = data.draw(sliced(STRUCTURED[kind]()))
    for rule in REWRITES:
        found = apply(rule, graph, len(graph.ops) - 1)
        if isinstance(found, Expression):
            assert_equal(graph, len(graph.ops) - 1, found)


@pytest.mark.parametrize("kind", STRUCTURED)
@given(data=st.data())
@settings(max_examples=25)
def test_any_sum_may_be_split(kind: str, data: st.DataObject) -> None:
    graph = data.draw(STRUCTURED[kind]())
    found = apply(SplitShort(), graph, 0)
    if isinstance(found, Expression):
        assert_equal(graph, 0, found)


@given(st.randoms(use_true_random=False).map(short_product))
@settings(max_examples=200)
def test_any_product_may_be_halved(graph: Graph) -> None:
    op = len(graph.ops) - 1
    found = apply(HalveShort(), graph, op)
    if isinstance(found, Expression):
        assert_equal(graph, op, found)


@given(convolutions())
@settings(max_examples=60)
def test_all_ways_in_a_saturated_graph_agree(graph: Graph) -> None:
    """For any choice of a producer of each tensor, the outputs are the same."""
    assert_all_ways_agree(graph)
