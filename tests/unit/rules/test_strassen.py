"""Seven products of halves: the identity itself, and which loops are halved."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from layoutopt.candidates.saturation import saturate
from layoutopt.ir.graph import Graph, GraphBuilder, Pad, Slice, Structured
from layoutopt.rules.rewrites.contraction_to_strassen import (
    LEFT,
    RESULT,
    RIGHT,
    ContractionToStrassen,
    Halved,
)
from layoutopt.rules.rewrites.examples import counted
from layoutopt.rules.rewrites.product import contraction
from layoutopt.rules.rule import Expression, apply

RULE = ContractionToStrassen()


def product(
    first: str, second: str, result: str, sizes: dict[str, int], *, weights: int | None = 1
) -> Graph:
    """A product by names of its loops; factor ``weights`` is constant."""
    builder = GraphBuilder()
    number = {name: d for d, name in enumerate(sizes)}
    orders = (first, second, result)
    tensors = [builder.tensor((sizes[d] for d in order), "f32") for order in orders]
    if weights is not None:
        builder.add(counted(tensors[weights], tuple(sizes[d] for d in orders[weights])))
    one, other, made = (tuple(number[d] for d in order) for order in orders)
    size = {number[name]: n for name, n in sizes.items()}
    x, w, y = tensors
    builder.add(contraction((x, w), (one, other, made), y, size, ("f32",) * 3))
    return builder.build([t for i, t in enumerate((x, w)) if i != weights], [y])


def match(graph: Graph) -> Halved:
    found = RULE.match(graph, len(graph.ops) - 1)
    assert found is not None
    return found


def ops_of(graph: Graph) -> Expression:
    found = apply(RULE, graph, len(graph.ops) - 1)
    assert isinstance(found, Expression)
    return found


def test_the_identity_holds_for_every_pair_of_parts() -> None:
    """Part (i, k) of one factor times part (l, j) of the other is in part (i, j), where k is l."""
    left, right, result = (np.array(m, float) for m in (LEFT, RIGHT, RESULT))
    for a, b, q in itertools.product(range(4), repeat=3):
        (i, k), (m, j), made = divmod(a, 2), divmod(b, 2), divmod(q, 2)
        assert (result[q] * left[:, a] * right[:, b]).sum() == (k == m and made == (i, j))


def test_rows_are_dealt_out_and_seven_contractions_are_left() -> None:
    found = ops_of(product("mk", "kn", "mn", {"m": 128, "n": 512, "k": 768}))
    contractions = [op for op in found.ops if isinstance(op, Structured) and op.is_contraction]
    assert [op.domain for op in contractions] == [(64, 256, 384)] * 7
    assert found.atomic
    assert not found.rounds
    slices = {op.strides for op in found.ops if isinstance(op, Slice)}
    assert slices == {(2, 1), (1, 1)}


def test_products_of_halves_are_not_halved_again() -> None:
    """They have one price together: no rule looks at the ops of what is atomic."""
    graph = product("mk", "kn", "mn", {"m": 512, "n": 2048, "k": 2048})
    found = saturate(graph, [RULE]).graph
    contractions = [op for op in found.ops if isinstance(op, Structured) and op.is_contraction]
    assert len(contractions) == 1 + 7


@pytest.mark.parametrize("result", ["bmn", "bnm"])
def test_images_are_rows_however_they_lie(result: str) -> None:
    """Height and width are one loop of 196 rows; channels may lie before them or behind."""
    sizes = {"b": 1, "h": 14, "w": 14, "n": 512, "k": 512}
    image, made = ("bhwk", "bhwn") if result == "bmn" else ("bkhw", "bnhw")
    graph = product(image, "nk", made, sizes)
    found = match(graph)
    assert (found.sizes[found.rows], found.dealt) == (196, found.rows)
    contractions = [
        op for op in ops_of(graph).ops if isinstance(op, Structured) and op.is_contraction
    ]
    assert {tuple(n for n in op.domain if n > 1) for op in contractions} == {(98, 256, 256)}


def test_weights_may_be_the_first_factor() -> None:
    found = match(product("nk", "km", "nm", {"m": 128, "n": 512, "k": 512}, weights=0))
    assert found.dealt == found.columns  # what is computed is dealt out, be it first or second


def test_an_odd_number_of_rows_gets_one_of_zeros() -> None:
    found = ops_of(product("mk", "kn", "mn", {"m": 197, "n": 768, "k": 768}))
    (pad,) = (op for op in found.ops if isinstance(op, Pad))
    assert (pad.low, pad.high) == ((0, 0), (1, 0))
    assert found.ops[-1].outputs == (2,)


@pytest.mark.parametrize("sizes", [{"m": 128, "n": 511, "k": 768}, {"m": 128, "n": 768, "k": 511}])
def test_odd_weights_stay(sizes: dict[str, int]) -> None:
    graph = product("mk", "kn", "mn", sizes)
    assert RULE.match(graph, 1) is None


def test_sums_of_both_factors_at_run_time_need_more_rows() -> None:
    few, many = (
        product("mk", "kn", "mn", {"m": m, "n": 1024, "k": 1024}, weights=None) for m in (256, 1024)
    )
    assert not isinstance(apply(RULE, few, 0), Expression)
    assert isinstance(apply(RULE, many, 0), Expression)
