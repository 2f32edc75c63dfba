"""Packed contractions, conversions and whole plans compute what the model computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutopt.candidates.candidate import physical_form
from layoutopt.candidates.cluster import form_clusters
from layoutopt.candidates.conversion import Conversion, conversion_form, lower_packs
from layoutopt.candidates.enumeration import enumerate_candidates
from layoutopt.candidates.matmul_ways import ContractionForms
from layoutopt.candidates.packing.options import PackingOptions, packings
from layoutopt.candidates.packing.tiling import Packing, PackingRule, plain_loops, tiled_layout
from layoutopt.candidates.saturation import saturate
from layoutopt.candidates.space import layout_sets
from layoutopt.ir.graph import Graph, Pack, Pad, Reshape, Slice, Structured, Unpack
from layoutopt.ir.layout import ConversionKind, Layout, conversion_kind
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.types import TensorType
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.oracle import evaluate
from layoutopt.planning.objective import moves
from layoutopt.profiles.op_pattern import ROLES, OpPattern
from layoutopt.profiles.target import Tile
from tests.marks import long
from tests.property.forms import outputs_of, random_values
from tests.property.layouts import layouts, shapes, small_integers
from tests.property.rules.ops import argmaxes, convolutions, matmuls

WRITTEN: dict[ConversionKind, set[type]] = {
    ConversionKind.NOTHING: set(),
    ConversionKind.RESHAPE: set(),
    ConversionKind.TRANSPOSE: {Structured},
    ConversionKind.PACK: {Pack},
    ConversionKind.UNPACK: {Unpack},
    ConversionKind.UNPACK_PACK: {Pack, Unpack},
    ConversionKind.REFILL: {Structured},
}


def moved(graph: Graph, source: Layout, target: Layout, lowered: bool) -> None:
    kind = graph.types[0]
    form = conversion_form(graph, Conversion(0, source, target))
    built = lower_packs(form.graph) if lowered else form.graph
    assert not lowered or not any(isinstance(op, Pack | Unpack) for op in built.ops)
    written = {type(op) for op in form.graph.ops} - {Reshape}
    expected = WRITTEN[conversion_kind(kind.shape, source, target)]
    if expected & {Pack, Unpack}:  # where no element moves, a pad or slice stands for one
        assert written <= expected | {Pad, Slice}
    else:
        assert written == expected
    array = small_integers(kind, 1)
    found = evaluate(built, {form.inputs[0]: source.apply(array)})[form.outputs[0]]
    assert found.shape == target.physical_shape(kind.shape)
    assert np.array_equal(target.undo(found, kind.shape), array)
    if target.padding is not Padding.ANY:
        assert np.array_equal(found, target.apply(array))


@given(st.data(), shapes(), st.booleans(), st.booleans())
def test_conversions_move_every_element_and_meet_padding_contracts(
    data: st.DataObject, shape: tuple[int, ...], dividing: bool, lowered: bool
) -> None:
    graph = Graph((TensorType(shape, "f32"),), (), (0,), (0,))
    source, target = data.draw(layouts(shape, dividing)), data.draw(layouts(shape, dividing))
    if not dividing and data.draw(st.booleans()):
        order = data.draw(st.permutations(range(len(source.inner_tiles))))
        target = replace(
            source,
            outer_dims_perm=target.outer_dims_perm,
            inner_dims_pos=tuple(source.inner_dims_pos[i] for i in order),
            inner_tiles=tuple(source.inner_tiles[i] for i in order),
            padding=target.padding,
        )
    moved(graph, source, target, lowered)


@pytest.mark.parametrize("dividing", [True, False])
def test_a_pack_and_an_unpack_are_one_move_each(dividing: bool) -> None:
    graph = Graph((TensorType((6, 8), "f32"),), (), (0,), (0,))
    plain = Layout((0, 1))
    tiled = Layout((0, 1), (0, 1), (3, 4) if dividing else (4, 3))
    for pair in ((plain, tiled), (tiled, plain)):
        assert moves(conversion_form(graph, Conversion(0, *pair))).count == 1


@st.composite
def patterns(draw: st.DrawFn) -> OpPattern:
    """Any tiles of any roles, with any orders of inner and outer dims."""
    tile = tuple((role, draw(st.integers(1, 4))) for role in ROLES)
    orders = [draw(st.permutations(ROLES))[: draw(st.integers(0, 4))] for _ in range(4)]
    inner, *outer = map(tuple, orders)
    return OpPattern(tile, inner, tuple(outer), draw(st.booleans()), only=draw(st.booleans()))


@st.composite
def customs(draw: st.DrawFn) -> PackingRule:
    """A callable that tiles loops that stand alone by any sizes."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=8, max_size=8))
    mmt4d = draw(st.booleans())

    def rule(op: Structured, types: tuple[TensorType, ...]) -> Iterator[Packing]:
        loops = plain_loops(op, tuple(range(len(op.domain))))
        tiles = tuple((loop, size) for loop, size in zip(loops, sizes, strict=False) if size > 1)
        lhs, rhs, result = (
            tiled_layout(index_map, types[tensor], tuple(range(len(index_map))), tiles)
            for index_map, tensor in zip(op.maps, (*op.sources, *op.results), strict=True)
        )
        yield Packing(lhs, rhs, result, mmt4d)

    return rule


TILES = st.builds(Tile, st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.booleans())


@pytest.mark.parametrize("kind", ["matmul", long("convolution")])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_packed_contractions_are_right(kind: str, data: st.DataObject) -> None:
    graph = data.draw(matmuls() if kind == "matmul" else convolutions())
    tiles = tuple(data.draw(st.lists(TILES, min_size=1, max_size=2)))
    own = tuple(data.draw(st.lists(patterns(), max_size=2)))
    rule = data.draw(st.none() | customs())
    options = PackingOptions(dict.fromkeys(ELEMENTS, tiles), rule, own)
    egraph = saturate(graph)
    clusters = form_clusters(egraph)
    sets = layout_sets(egraph, options, 12)
    found, _ = enumerate_candidates(egraph, clusters, sets, ContractionForms(), options)
    values = random_values(egraph.graph)
    for candidate in found:
        cluster = clusters[candidate.cluster]
        form = physical_form(egraph.graph, cluster, candidate)
        if isinstance(form, Refusal):
            continue
        for tensor, layout, memory in outputs_of(cluster, candidate, form, values):
            back = layout.undo(memory, egraph.graph.types[tensor].shape)
            assert np.array_equal(back, values[tensor])
            if layout.padding is not Padding.ANY:
                assert np.array_equal(memory, layout.apply(values[tensor]))


ELEMENTS = ("f64", "f32", "f16", "bf16", "i8", "i16", "i32", "i64")


@given(matmuls(), TILES)
def test_packings_pad_what_is_summed_with_zeros(graph: Graph, tile: Tile) -> None:
    (op,) = graph.ops
    assert isinstance(op, Structured)
    options = PackingOptions(dict.fromkeys(ELEMENTS, (tile,)))
    for packing in packings(op, graph.types, options, constant_rhs=False):
        for t, index_map, layout in zip(
            (*op.inputs[:2], *op.outputs),
            op.maps,
            (packing.lhs, packing.rhs, packing.result),
            strict=True,
        ):
            for d in layout.inner_dims_pos:
                loop = index_map[d].plain_dim
                if loop in op.reduction_dims and graph.types[t].shape[d] % layout.tile_of(d):
                    assert layout.padding is Padding.ZERO


@given(argmaxes(), st.data())
def test_dropping_dead_results_changes_no_other(graph: Graph, data: st.DataObject) -> None:
    (op,) = graph.ops
    kept = data.draw(st.sampled_from(op.outputs))
    narrowed = canonical_form(Graph(graph.types, graph.ops, graph.inputs, (kept,))).came
    values = {t: small_integers(graph.types[t], t) for t in op.inputs}
    assert np.array_equal(evaluate(narrowed, values)[kept], evaluate(graph, values)[kept])
