"""Which layouts pass through a gather of rows, and how one is read from MLIR."""

from __future__ import annotations

import pytest

from layoutopt.ir.graph import Gather, Graph, GraphBuilder
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.rules.propagation import propagate, relayout
from tests.parsing import lifted

PLAIN = Layout((0,))
LOOK_UP = """
func.func @main(%i: tensor<5xi64>, %w: tensor<9x12xf32>) -> tensor<5x12xf32> {
  %e = tensor.empty() : tensor<5x12xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>,
      affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<5xi64>) outs(%e : tensor<5x12xf32>) {
  ^bb0(%in: i64, %out: f32):
    %row = arith.index_cast %in : i64 to index
    %column = linalg.index 1 : index
    %v = tensor.extract %w[%row, %column] : tensor<9x12xf32>
    linalg.yield %v : f32
  } -> tensor<5x12xf32>
  return %y : tensor<5x12xf32>
}
"""


def rows() -> Graph:
    """12 columns of the 9 rows that 5 numbers name."""
    g = GraphBuilder()
    w, i, y = g.tensor((9, 12), "f32"), g.tensor((5,), "i64"), g.tensor((5, 12), "f32")
    g.add(Gather(w, i, y, (0,), (None, 1)))
    return g.build((w, i), (y,))


def test_an_embedding_is_a_gather() -> None:
    (op,) = lifted(LOOK_UP).ops
    assert isinstance(op, Gather)
    assert (op.axis, op.index_dims, op.table_dims) == (0, (0,), (None, 1))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%row, %column", "%column, %row"),
        ("index_cast %in", "index_cast %flip"),
    ],
)
def test_what_is_no_gather_of_rows_is_not_taken_for_one(before: str, after: str) -> None:
    text = LOOK_UP.replace(before, after).replace("9x12", "12x12")
    text = text.replace("    %row =", "    %flip = arith.addi %in, %in : i64\n    %row =")
    assert not any(isinstance(op, Gather) and op.axis == 0 for op in lifted(text).ops)


def test_tiles_of_columns_are_tiles_of_the_table() -> None:
    graph = rows()
    tiled = Layout((0, 1), (1,), (4,))
    assert propagate(graph.ops[0], graph.types, 2, tiled) == {0: tiled, 1: PLAIN, 2: tiled}


def test_a_padded_table_gives_padded_rows() -> None:
    graph = rows()
    padded = Layout((0, 1), (1,), (8,), Padding.LOWEST)
    assert propagate(graph.ops[0], graph.types, 0, padded) == {0: padded, 1: PLAIN, 2: padded}


@pytest.mark.parametrize(
    ("tensor", "layout", "reason"),
    [
        (0, Layout((0, 1), (0,), (3,)), "expected no tile of the dim that is looked up, but got "),
        (2, Layout((0, 1), (0,), (4,)), "expected indices in whole tiles of 4, but got 5 of them"),
        (1, Layout((0,), (0,), (5,)), "expected row-major indices, but got "),
    ],
)
def test_refusals(tensor: int, layout: Layout, reason: str) -> None:
    graph = rows()
    found = propagate(graph.ops[0], graph.types, tensor, layout)
    assert isinstance(found, Refusal)
    assert found.reason == reason + (str(layout) if reason.endswith("got ") else "")


def test_padding_that_the_table_does_not_hold_is_refused() -> None:
    graph = rows()
    padded = Layout((0, 1), (1,), (8,), Padding.ANY)
    layouts = {0: padded, 1: PLAIN, 2: padded.padded_with(Padding.ZERO)}
    refusal = relayout(graph.ops[0], layouts, Physical(graph.types))
    assert refusal == Refusal("expected a table with zero in its padding")


@pytest.mark.parametrize("layout", [Layout((0, 1), (1,), (4,)), Layout((1, 0), (1,), (2,))])
def test_a_part_of_each_row_has_no_tiles(layout: Layout) -> None:
    """The table's last tile of what is read may lie within one of what is not."""
    g = GraphBuilder()
    w, i, y = g.tensor((9, 12), "f32"), g.tensor((5,), "i64"), g.tensor((5, 8), "f32")
    g.add(Gather(w, i, y, (0,), (None, 1)))
    graph = g.build((w, i), (y,))
    wanted = Refusal("expected whole rows where they are tiled, but 8 of 12 are read")
    for tensor in (w, y):
        assert propagate(graph.ops[0], graph.types, tensor, layout) == wanted
    assert not isinstance(propagate(graph.ops[0], graph.types, y, Layout((1, 0))), Refusal)
