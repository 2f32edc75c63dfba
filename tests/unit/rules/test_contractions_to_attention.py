"""Attention as one op: for which targets, and of which parts."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from layoutopt.candidates.explore import explore
from layoutopt.ir.extensions.attention import Attention
from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.neutral import Padding
from layoutopt.ir.scalar import scalar_constant
from layoutopt.ir.size import symbol
from layoutopt.ir.types import TensorType
from layoutopt.profiles.target import load_target
from layoutopt.rules.rewrites.contractions_to_attention import ContractionsToAttention
from layoutopt.rules.rule import Expression, apply
from tests.property.rules.attentions import attention_parts

RULE = ContractionsToAttention()
WHOLE = RULE.examples[0].graph


@pytest.mark.parametrize(("target", "joined"), [("mi355x", True), ("x86-64-avx512", False)])
def test_gpus_run_it_as_one_op_and_processors_as_its_parts(target: str, joined: bool) -> None:
    space = explore(WHOLE, load_target(target))
    assert any(RULE.name in rules for rules in space.egraph.rule) == joined


def test_what_was_joined_is_not_taken_apart_again() -> None:
    space = explore(WHOLE, load_target("mi355x"))
    assert not any("attention-to-contractions" in rules for rules in space.egraph.rule)


def found_in(graph: Graph) -> Attention | None:
    made = apply(RULE, graph, len(graph.ops) - 1)
    if not isinstance(made, Expression):
        return None
    return next(op for op in made.ops if isinstance(op, Attention))


def test_a_factor_between_products_and_softmax_is_the_scale() -> None:
    scales = {op.scale for seed in range(60) if (op := found_in(attention_parts(Random(seed))))}
    assert scales == {"1.0 : f32", "5.000000e-01 : f32"}


def test_a_factor_that_is_no_number_is_none() -> None:
    seed = next(
        s
        for s in range(60)
        if (op := found_in(attention_parts(Random(s)))) and op.scale == "5.000000e-01 : f32"
    )
    graph = attention_parts(Random(seed))

    def infinite(op: Structured) -> Structured:
        ops = tuple(
            scalar_constant("0x7F800000 : f32", "f32") if o.name == "arith.constant" else o
            for o in op.body.ops
        )
        return replace(op, body=replace(op.body, ops=ops))

    ops = tuple(infinite(op) if isinstance(op, Structured) else op for op in graph.ops)
    assert found_in(replace(graph, ops=ops)) is None


def test_open_columns_without_tiles_are_left_as_parts() -> None:
    """IREE's kernel of the one op is no better there, and an op that came is taken as it came."""
    maps = ((0, 2), (3, 2), (3, 1), (0, 3), (0, 1))
    keys = symbol("s", 1, planned=40)
    shapes = ((64, 8), (keys, 8), (keys, 4), (64, keys), (64, 4))
    types = tuple(TensorType(shape, "f16") for shape in shapes)
    came = Attention((0, 1, 2, 3), (4,), maps)
    joined = replace(came, joined=True)
    plain = dict.fromkeys(range(5), row_major(2))
    tiles = plain | {
        1: Layout((0, 1), (0, 1), (32, 8)),
        2: Layout((0, 1), (0, 1), (32, 4)),
        3: Layout((0, 1), (1,), (32,), Padding.LOWEST),
    }
    assert came.refusal(plain, types) is None
    assert joined.refusal(tiles, types) is None
    refusal = joined.refusal(plain, types)
    assert refusal is not None
    assert refusal.reason.startswith("expected a tile along the open size s")
    one_row = (TensorType((1, 8), "f16"), *types[1:3])
    one_row = (*one_row, TensorType((1, keys), "f16"), TensorType((1, 4), "f16"))
    assert joined.refusal(plain, one_row) is None
    refusal = came.refusal(tiles | {3: Layout((0, 1), (1,), (32,))}, types)
    assert refusal is not None
    assert refusal.reason.startswith("expected padding lowest around attention")
