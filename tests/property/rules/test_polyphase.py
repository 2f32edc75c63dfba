"""Contractions along an interior-padded dim, with any coefficients in common with its stride."""

from __future__ import annotations

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from layoutopt.ir.affine import plain_map
from layoutopt.ir.graph import Graph
from layoutopt.ir.refusal import Refusal
from layoutopt.oracle import evaluate
from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rule import Expression, apply
from tests.property.layouts import small_integers
from tests.property.rules.equivalence import assert_rewritten
from tests.unit.rules.contractions import form, interior_padded

RULES = [
    rule
    for rule in REWRITES
    if rule.name.startswith(("split-", "commute-scatter-with-contraction"))
]


def windows(
    small: int, offset: int, stride: int, sizes: tuple[int, int], read: tuple[int, int, int]
) -> Graph:
    """Op 1: ``y[i] = sum_k s[c*i + e*k + b] * w[k]`` of a scatter s."""
    images, filters = sizes
    c, e, b = read
    held = offset + (small - 1) * stride + 1
    whole = max(held, b + c * (images - 1) + e * (filters - 1) + 1)
    maps = ((form((0, c), (1, e), at=b),), plain_map((1,)), plain_map((0,)))
    shapes = ((whole,), (filters,), (images,))
    return interior_padded((small,), (offset,), (stride,), shapes, maps, sizes, "pr")


ANY = st.builds(
    windows,
    small=st.integers(1, 4),
    offset=st.integers(0, 9),
    stride=st.integers(2, 6),
    sizes=st.tuples(st.integers(1, 7), st.integers(1, 4)),
    read=st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(0, 9)),
)


@given(ANY)
@example(windows(small=3, offset=2, stride=2, sizes=(4, 1), read=(3, 1, 0)))
@settings(max_examples=400)
def test_phases_make_the_same_sums(graph: Graph) -> None:
    positive = {t: abs(small_integers(graph.types[t], t)) + 1 for t in graph.inputs}
    values = evaluate(graph, positive)
    for rule in RULES:
        found = apply(rule, graph, 1)
        if isinstance(found, Expression):
            assert_rewritten(graph, 1, found, values)
            event(rule.name)
        elif found is not None:
            assert found == Refusal("expected some phase with products, but got none")
            assert not values[graph.outputs[0]].any()
