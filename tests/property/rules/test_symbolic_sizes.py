"""What is propagated and written for open sizes is right at every number in their place."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from layoutopt.ir.concrete import concrete
from layoutopt.ir.graph import Gather, Graph, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.oracle import evaluate
from layoutopt.rules.propagation import propagate, relayout
from tests.property.layouts import small_integers
from tests.property.rules.moves import MOVES
from tests.property.rules.ops import STRUCTURED
from tests.property.rules.quantized import QUANTIZED
from tests.property.rules.symbolic import MOST, opened

_MOST_POINTS = 100_000
KINDS = STRUCTURED | QUANTIZED | MOVES
SIZES = st.fixed_dictionaries({f"s{d}": st.integers(1, MOST) for d in range(12)})


@st.composite
def any_layouts(draw: st.DrawFn, rank: int) -> Layout:
    """A layout of a tensor of any sizes: tiles divide them, or pad."""
    outer = tuple(draw(st.permutations(range(rank))))
    tiled = [d for d in draw(st.permutations(range(rank))) if draw(st.booleans())]
    tiles = tuple(draw(st.sampled_from([1, 2, 3, 4, 8])) for _ in tiled)
    return Layout(outer, tuple(tiled), tiles, draw(st.sampled_from(Padding)))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), numbers=SIZES)
@settings(max_examples=60)
def test_propagated_layouts_are_right_at_every_size(
    kind: str, data: st.DataObject, numbers: dict[str, int]
) -> None:
    static = data.draw(KINDS[kind]())
    graph = opened(data.draw, static)
    if graph is None or len(graph.ops) != 1:
        return
    (op,) = graph.ops
    tensor = data.draw(st.sampled_from([*op.inputs, *op.outputs]))
    layout = data.draw(any_layouts(len(graph.types[tensor].shape)))
    chosen = propagate(op, graph.types, tensor, layout)
    if isinstance(chosen, Refusal):
        event("refused by propagation")
        return
    values = _at_symbols(graph, numbers)
    if _points(concrete(graph, values)) > _MOST_POINTS:
        event("too large to evaluate")
        return
    refusal = assert_right_at(graph, chosen, values)
    event("refused by relayout" if refusal else "moved")


def _points(graph: Graph) -> int:
    """Points of the iteration domain, or elements of the largest tensor."""
    (op,) = graph.ops
    points = math.prod(op.domain) if isinstance(op, Structured) else 0
    return max(points, *(kind.elements for kind in graph.types))


def _at_symbols(graph: Graph, numbers: dict[str, int]) -> dict[str, int]:
    """The numbers by the names that symbols have, those with divisors among them."""
    found = dict(numbers)
    for divisor in (2, 4):
        found |= {f"{name}/{divisor}": n for name, n in numbers.items()}
    return found


def assert_right_at(graph: Graph, chosen: Assignment, numbers: dict[str, int]) -> Refusal | None:
    """Write the op for open sizes, and compare it with the op itself at these numbers."""
    (op,) = graph.ops
    physical = Physical(graph.types)
    refusal = relayout(op, chosen, physical)
    if refusal is not None:
        return refusal
    place = {t: physical.tensor(t, chosen[t]) for t in (*op.inputs, *op.outputs)}
    built = physical.builder.build([place[t] for t in op.inputs], [place[t] for t in op.outputs])
    built, known = concrete(built, numbers), concrete(graph, numbers)
    values = {t: small_integers(known.types[t], t) for t in op.inputs}
    if isinstance(op, Gather):
        values[op.indices] %= known.types[op.table].shape[op.axis]
    found = evaluate(built, {place[t]: chosen[t].apply(v) for t, v in values.items()})
    wanted = evaluate(known, values)
    for t in op.outputs:
        memory = found[place[t]]
        assert memory.shape == chosen[t].physical_shape(known.types[t].shape)
        required = chosen[t].apply(wanted[t])
        if chosen[t].padding is Padding.ANY:
            kept = chosen[t].apply(np.ones(wanted[t].shape, bool), False)
            memory, required = memory[kept], required[kept]
        assert np.array_equal(memory, required)
    return None
