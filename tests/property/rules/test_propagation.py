"""Every op over tensors in any layouts computes what it computes over row-major ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from layoutopt.ir.graph import FromTensor, Gather, Graph, Structured
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.oracle import evaluate
from layoutopt.rules.propagation import propagate, relayout
from tests.property.layouts import divisors, layouts, small_integers
from tests.property.rules.moves import MOVES
from tests.property.rules.ops import STRUCTURED
from tests.property.rules.quantized import QUANTIZED

EXAMPLES = 40
COMPUTED = STRUCTURED | QUANTIZED


def relaid(graph: Graph, chosen: Assignment) -> Refusal | None:
    """Hold the op in these layouts against the logical op; a refusal is handed back."""
    (op,) = graph.ops
    physical = Physical(graph.types)
    refusal = relayout(op, chosen, physical)
    if refusal is not None:
        assert not physical.builder.ops
        return refusal
    values = {t: small_integers(graph.types[t], t) for t in op.inputs}
    if isinstance(op, Gather):
        values[op.indices] %= graph.types[op.table].shape[op.axis]
    place = {t: physical.tensor(t, chosen[t]) for t in (*op.inputs, *op.outputs)}
    built = physical.builder.build([place[t] for t in op.inputs], [place[t] for t in op.outputs])
    found = evaluate(built, {place[t]: chosen[t].apply(v) for t, v in values.items()})
    wanted = evaluate(graph, values)
    for t in op.outputs:
        memory = found[place[t]]
        assert memory.shape == chosen[t].physical_shape(graph.types[t].shape)
        back = chosen[t].undo(memory, graph.types[t].shape)
        assert back.dtype == wanted[t].dtype
        assert np.array_equal(back, wanted[t])
        required = chosen[t].apply(wanted[t])
        kept = chosen[t].apply(np.ones(wanted[t].shape, bool), False)
        if chosen[t].padding is Padding.ANY:
            memory, required = memory[kept], required[kept]
        assert np.array_equal(memory, required)
    return None


def untiled(data: st.DataObject, graph: Graph) -> dict[int, Layout]:
    return {
        t: Layout(tuple(data.draw(st.permutations(range(len(kind.shape))))))
        for t, kind in enumerate(graph.types)
    }


def inits_as_results(graph: Graph, chosen: dict[int, Layout]) -> None:
    (op,) = graph.ops
    if isinstance(op, Structured):
        for init, result in zip(op.inits, op.results, strict=True):
            if isinstance(init, FromTensor):
                chosen[init.tensor] = chosen[result]


def tiled(data: st.DataObject, graph: Graph, chosen: dict[int, Layout]) -> None:
    """Tile some loops with sizes that divide, in some of the dims where they stand alone."""
    (op,) = graph.ops
    assert isinstance(op, Structured)
    tiles = {d: data.draw(st.sampled_from(divisors(n))) for d, n in enumerate(op.domain)}
    for tensor, index_map in zip((*op.sources, *op.results), op.maps, strict=True):
        inner = []
        for d in data.draw(st.permutations(range(len(index_map)))):
            loop = index_map[d].plain_dim
            if loop is not None and data.draw(st.booleans()):
                inner.append((d, tiles[loop]))
        chosen[tensor] = Layout(
            chosen[tensor].outer_dims_perm, tuple(d for d, _ in inner), tuple(t for _, t in inner)
        )


@pytest.mark.parametrize("kind", COMPUTED)
@given(data=st.data())
@settings(max_examples=EXAMPLES)
def test_structured_ops_take_any_permutations(kind: str, data: st.DataObject) -> None:
    graph = data.draw(COMPUTED[kind]())
    chosen = untiled(data, graph)
    inits_as_results(graph, chosen)
    assert relaid(graph, chosen) is None


@pytest.mark.parametrize("kind", COMPUTED)
@given(data=st.data())
@settings(max_examples=EXAMPLES)
def test_structured_ops_take_tiles_that_divide(kind: str, data: st.DataObject) -> None:
    graph = data.draw(COMPUTED[kind]())
    chosen = untiled(data, graph)
    tiled(data, graph, chosen)
    inits_as_results(graph, chosen)
    refusal = relaid(graph, chosen)
    assert refusal is None


@pytest.mark.parametrize("kind", COMPUTED)
@given(data=st.data())
@settings(max_examples=2 * EXAMPLES)
def test_structured_ops_take_tiles_that_pad(kind: str, data: st.DataObject) -> None:
    """Every operand tiles what some operand pads; each may hold any padding."""
    graph = data.draw(COMPUTED[kind]())
    (op,) = graph.ops
    assert isinstance(op, Structured)
    operands = list(zip((*op.sources, *op.results), op.maps, strict=True))
    alone = [
        d
        for d in range(len(op.domain))
        if all(form.plain_dim == d for _, m in operands for form in m if d in form.dims)
    ]
    tiles = {d: data.draw(st.integers(1, op.domain[d] + 2)) for d in alone}
    chosen = untiled(data, graph)
    zeros = data.draw(st.booleans())
    for tensor, index_map in operands:
        at = {form.plain_dim: d for d, form in enumerate(index_map)}
        inner = [d for d in data.draw(st.permutations(list(tiles))) if d in at]
        padding = Padding.ZERO if zeros else data.draw(st.sampled_from(Padding))
        chosen[tensor] = Layout(
            chosen[tensor].outer_dims_perm,
            tuple(at[d] for d in inner),
            tuple(tiles[d] for d in inner),
            padding,
        )
    inits_as_results(graph, chosen)
    loose = {t: x.padded_with(Padding.ANY) if t in op.results else x for t, x in chosen.items()}
    event("padded" if any(op.domain[d] % t for d, t in tiles.items()) else "divided")
    refusal = relaid(graph, chosen)
    event(refusal.reason if refusal else "held")
    if refusal is not None and not op.is_contraction:
        refusal = relaid(graph, loose)
        assert refusal is None


@pytest.mark.parametrize("kind", COMPUTED | MOVES)
@given(data=st.data())
@settings(max_examples=EXAMPLES)
def test_any_layouts_are_right_or_refused(kind: str, data: st.DataObject) -> None:
    graph = data.draw((COMPUTED | MOVES)[kind]())
    chosen = {t: data.draw(layouts(k.shape, dividing=False)) for t, k in enumerate(graph.types)}
    if data.draw(st.booleans()) and kind in MOVES:
        shared = next(iter(chosen.values()))
        chosen = {
            t: shared if shared.rank == len(graph.types[t].shape) else chosen[t] for t in chosen
        }
    event("refused" if relaid(graph, chosen) else "moved")


@pytest.mark.parametrize("kind", COMPUTED | MOVES)
@given(data=st.data(), dividing=st.booleans())
@settings(max_examples=EXAMPLES)
def test_propagated_layouts_are_right_or_refused(
    kind: str, data: st.DataObject, dividing: bool
) -> None:
    graph = data.draw((COMPUTED | MOVES)[kind]())
    (op,) = graph.ops
    tensor = data.draw(st.sampled_from([*op.inputs, *op.outputs]))
    layout = data.draw(layouts(graph.types[tensor].shape, dividing))
    chosen = propagate(op, graph.types, tensor, layout)
    if isinstance(chosen, Refusal):
        event("refused by propagation")
        return
    assert chosen[tensor] == layout
    assert chosen.keys() == {*op.inputs, *op.outputs}
    event("refused by relayout" if relaid(graph, chosen) else "moved")


@pytest.mark.parametrize("kind", COMPUTED | MOVES)
@given(data=st.data())
@settings(max_examples=20)
def test_row_major_passes_everywhere(kind: str, data: st.DataObject) -> None:
    graph = data.draw((COMPUTED | MOVES)[kind]())
    chosen = {t: row_major(len(k.shape)) for t, k in enumerate(graph.types)}
    assert relaid(graph, chosen) is None


@pytest.mark.parametrize("kind", [k for k in MOVES if k != "reshape"])
@given(data=st.data())
@settings(max_examples=EXAMPLES)
def test_a_permutation_passes_through_moves(kind: str, data: st.DataObject) -> None:
    graph = data.draw(MOVES[kind]())
    perm = tuple(data.draw(st.permutations(range(len(graph.types[0].shape)))))
    chosen = propagate(graph.ops[0], graph.types, 0, Layout(perm))
    assert not isinstance(chosen, Refusal)
    assert relaid(graph, chosen) is None
