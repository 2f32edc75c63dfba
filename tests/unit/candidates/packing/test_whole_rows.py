"""Open sizes in whole tiles that stay where they are."""

from __future__ import annotations

from dataclasses import replace

from layoutopt.candidates.matmul_form import with_matmuls
from layoutopt.candidates.packing.options import PackingOptions, packings
from layoutopt.candidates.packing.whole_rows import whole_rows
from layoutopt.ir.affine import plain_map
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, IteratorType, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.packs_as_transposes import stays_in_place
from layoutopt.ir.scalar import contraction_body
from layoutopt.ir.size import Size, symbol
from layoutopt.ir.types import TensorType

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION
ROWS = symbol("s", planned=128)


def matmul(rows: int, sums: int = 64, columns: int = 48) -> Graph:
    """``y[m, n] += x[m, k] * w[k, n]``."""
    builder = GraphBuilder()
    x, w = builder.tensor((rows, sums), "f16"), builder.tensor((sums, columns), "f16")
    y = builder.tensor((rows, columns), "f32")
    builder.add(
        Structured(
            (x, w), (Fill("0.0 : f32"),), (y,), (rows, columns, sums), (P, P, R),
            (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1))),
            contraction_body("f16", "f16", "f32"),
        )
    )  # fmt: skip
    return builder.build((x, w), (y,))


def test_rows_get_a_tile_and_what_stands_behind_them_is_one() -> None:
    graph = matmul(ROWS)
    (op,) = graph.ops
    assert isinstance(op, Structured)
    (packing,) = whole_rows(op, graph.types)
    assert packing.lhs == Layout((0, 1), (0, 1), (32, 64))
    assert not packing.rhs.is_tiled
    assert packing.result == Layout((0, 1), (0, 1), (32, 48))
    assert stays_in_place((ROWS, 64), packing.lhs)
    assert stays_in_place((ROWS, 48), packing.result)


def test_sums_of_open_size_are_filled_with_zeros() -> None:
    graph = matmul(16, sums=ROWS)
    (op,) = graph.ops
    assert isinstance(op, Structured)
    options = PackingOptions(whole_rows=True)
    found = packings(op, graph.types, options, constant_rhs=False)
    assert found
    assert all(p.lhs.tile_of(1) == 32 and p.lhs.padding.value == "zero" for p in found)


def batched(batch: int, rows: int) -> Structured:
    """``y[b, m, n] += x[b, m, k] * w[k, n]``."""
    (op,) = matmul(4).ops
    assert isinstance(op, Structured)
    maps = (plain_map((0, 1, 3)), plain_map((3, 2)), plain_map((0, 1, 2)))
    return replace(op, domain=(batch, rows, 48, 64), iterators=(P, P, P, R), maps=maps)


def test_of_two_open_loops_the_inner_one_gets_a_tile() -> None:
    op = batched(symbol("b"), ROWS)
    types = tuple(TensorType(shape, "f16") for shape in ((symbol("b"), ROWS, 64), (64, 48)))
    (packing,) = whole_rows(op, (*types, TensorType((symbol("b"), ROWS, 48), "f32")))
    assert packing.lhs == Layout((0, 1, 2), (1, 2), (32, 64))


def test_images_of_known_size_need_no_tiles() -> None:
    op = batched(symbol("b"), 197)
    assert list(whole_rows(op, ())) == []


def test_sizes_that_are_known_are_left_alone() -> None:
    graph = matmul(100)
    (op,) = graph.ops
    assert isinstance(op, Structured)
    assert list(whole_rows(op, graph.types)) == []


def test_a_loop_of_known_size_stays_apart_from_an_open_one() -> None:
    """What is joined is a loop of open size, which GPU compilers make little of."""
    builder = GraphBuilder()
    tiles = symbol("t")
    x, w = builder.tensor((tiles, 32, 64), "f16"), builder.tensor((64, 48), "f16")
    y = builder.tensor((tiles, 32, 48), "f32")
    builder.add(
        Structured(
            (x, w), (Fill("0.0 : f32"),), (y,), (tiles, 32, 48, 64), (P, P, P, R),
            (plain_map((0, 1, 3)), plain_map((3, 2)), plain_map((0, 1, 2))),
            contraction_body("f16", "f16", "f32"),
        )
    )  # fmt: skip
    graph = builder.build((x, w), (y,))

    def rows(apart: bool) -> list[int]:
        made = with_matmuls(graph, rows_apart=apart)
        (op,) = (op for op in made.ops if isinstance(op, Structured))
        return [n for n in op.domain if isinstance(n, Size) or n == 32]

    assert rows(apart=True) == [tiles, 32]
    assert rows(apart=False) == [32 * tiles]
