"""Layouts put each element in a place of its own, and conversions move each to its place."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest
import z3

from layoutopt.candidates.conversion import Conversion, conversion_form, lower_packs
from layoutopt.ir.graph import Graph, GraphBuilder, Pack, Unpack
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.types import TensorType
from tests.proofs.arrays import Index, SymbolicArray, symbolic
from tests.proofs.elements import Constant, Elements, Read
from tests.proofs.equality import prove_equal
from tests.proofs.paths import DisprovedError, Paths, term

FILLER = Constant("padding")
TILES = (1, 2, 3, 8)


def layouts(rank: int) -> Iterator[Layout]:
    """Every permutation, every choice and order of tiled dims, some tiles."""
    for perm in itertools.permutations(range(rank)):
        for count in range(rank + 1):
            for number, tiled in enumerate(itertools.permutations(range(rank), count)):
                tiles = tuple(TILES[(number + i) % len(TILES)] for i in range(count))
                yield Layout(perm, tiled, tiles)


def logical(layout: Layout, place: Index) -> Index:
    """The element at a place in memory, as ``linalg.pack`` has it."""
    found = [0] * layout.rank
    for at, d in zip(place, layout.outer_dims_perm, strict=False):
        found[d] = found[d] + at * layout.tile_of(d)
    for at, d in zip(place[layout.rank :], layout.inner_dims_pos, strict=True):
        found[d] = found[d] + at
    return tuple(found)


def given(paths: Paths, shape: tuple[int, ...]) -> SymbolicArray:
    return SymbolicArray(paths, shape, lambda index: Read(0, index))


def hold(layout: Layout, wrong: int = 0) -> None:
    """Of a tensor of any shape; ``wrong`` is added to where the first element is looked for."""

    def follow(paths: Paths) -> None:
        shape = tuple(paths.symbol("n", 1) for _ in range(layout.rank))
        memory = symbolic(layout.apply(given(paths, shape).as_array, FILLER))
        for n, m in zip(memory.shape, layout.physical_shape(shape), strict=True):
            paths.prove(term(n) == term(m), "physical_shape")
        # Each place holds the element that linalg.pack puts there, or padding where there is none.
        place = tuple(paths.symbol("at", 0, n) for n in memory.shape)
        wanted = logical(layout, place)
        wanted = (wanted[0] + wrong, *wanted[1:])
        inside = z3.And([term(i) < term(n) for i, n in zip(wanted, shape, strict=True)])
        found = memory.at(place)
        assert isinstance(found, Read | Constant)
        prove_equal(paths, found, Read(0, wanted) if paths.holds(inside) else FILLER)
        # No element has two places.
        other = tuple(paths.symbol("at", 0, n) for n in memory.shape)
        same = zip(logical(layout, place), logical(layout, other), strict=True)
        equal = z3.And([term(i) == term(j) for i, j in zip(place, other, strict=True)])
        one = z3.And([term(i) == term(j) for i, j in same])
        paths.prove(z3.Implies(one, equal), "one place for each element")
        # Each element has one: what is packed and unpacked is what it was.
        index = tuple(paths.symbol("i", 0, n) for n in shape)
        back = symbolic(layout.undo(memory.as_array, shape)).at(index)
        assert isinstance(back, Read | Constant)
        prove_equal(paths, back, Read(0, index))

    Paths().every(follow)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_places_and_elements_are_one_to_one(rank: int) -> None:
    for number, layout in enumerate(layouts(rank)):
        if rank < 3 or number % 7 == 0:
            hold(layout)


def test_a_wrong_place_is_not_proved() -> None:
    with pytest.raises(DisprovedError, match="the element that is read"):
        hold(Layout((1, 0), (0,), (3,)), wrong=1)


SHAPES = ((12, 8), (5, 7), (6, 4))
PAIRS = [
    (row_major(2), Layout((1, 0))),
    (row_major(2), Layout((0, 1), (1, 0), (4, 2))),
    (Layout((1, 0)), Layout((1, 0), (0,), (3,))),
    (Layout((0, 1), (0, 1), (2, 4)), Layout((1, 0), (1, 0), (2, 6))),
    (Layout((0, 1), (0,), (4,)), Layout((1, 0), (1,), (3,))),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("one", "other"), PAIRS)
@pytest.mark.parametrize("lowered", [False, True])
def test_a_conversion_and_back_is_the_identity(
    shape: tuple[int, int], one: Layout, other: Layout, lowered: bool
) -> None:
    """Sizes are plain numbers here, the index is not."""
    graph = Graph((TensorType(shape, "f32"),), (), (0,), (0,))
    there = conversion_form(graph, Conversion(0, one, other))
    back = conversion_form(graph, Conversion(0, other, one))
    steps = [lower_packs(form.graph) if lowered else form.graph for form in (there, back)]

    def follow(paths: Paths) -> None:
        memory = one.physical_shape(shape)
        index = tuple(paths.symbol("i", 0, n) for n in memory)
        first, second = (Elements(paths, step) for step in steps)
        middle = second.at(back.outputs[0], index)
        assert isinstance(middle, Read | Constant)
        inside = [i < n for i, n in zip(map(term, logical(one, index)), shape, strict=True)]
        if paths.holds(z3.And(inside)):
            assert isinstance(middle, Read)
            start = first.at(there.outputs[0], middle.index)
            prove_equal(paths, start, Read(there.inputs[0], index))

    Paths().every(follow)


@pytest.mark.parametrize("tile", [2, 3, 8])
def test_pack_and_unpack_are_inverse_for_any_size(tile: int) -> None:
    layout = Layout((1, 0), (1, 0), (tile, 4))

    def follow(paths: Paths) -> None:
        shape = (paths.symbol("n", 1), paths.symbol("m", 1))
        builder = GraphBuilder()
        x, y = (builder.tensor(shape, "f32") for _ in range(2))
        packed = builder.tensor(layout.physical_shape(shape), "f32")
        builder.add(Pack(x, packed, layout, "0.0 : f32"))
        builder.add(Unpack(packed, y, layout))
        index = tuple(paths.symbol("i", 0, n) for n in shape)
        prove_equal(paths, Elements(paths, builder.build((x,), (y,))).at(y, index), Read(x, index))

    Paths().every(follow)


def test_an_unpack_with_other_tiles_is_not_proved() -> None:
    paths = Paths()
    layout = Layout((0, 1), (0, 1), (2, 4))
    wrong = replace(layout, inner_dims_pos=(1, 0))
    builder = GraphBuilder()
    x, y = (builder.tensor((8, 8), "f32") for _ in range(2))
    packed = builder.tensor(layout.physical_shape((8, 8)), "f32")
    builder.add(Pack(x, packed, layout))
    builder.add(Unpack(packed, y, wrong))
    graph = builder.build((x,), (y,))

    def follow(paths: Paths) -> None:
        index = tuple(paths.symbol("i", 0, 8) for _ in range(2))
        prove_equal(paths, Elements(paths, graph).at(y, index), Read(x, index))

    with pytest.raises(DisprovedError):
        paths.every(follow)
