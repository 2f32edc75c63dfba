"""Up to which sizes a model finds the rows that it looks up."""

from __future__ import annotations

import pytest

from layoutopt.ir.graph import Gather, Graph
from layoutopt.oracle.size_limits import size_limits
from tests.parsing import lifted

SAME = "affine_map<(i) -> (i)>"


def table_of(rows: int, places: str, of_argument: bool = False) -> Graph:
    """A table whose rows are looked up at the places that ``places`` computes of ``%i: i64``."""
    source = "ins(%x : tensor<?xi64>) outs(%e : tensor<?xi64>) {\n^bb0(%i: i64, %o: i64):\n"
    counted = (
        "outs(%e : tensor<?xi64>) {\n^bb0(%o: i64):\n%d = linalg.index 0 : index\n"
        "%i = arith.index_cast %d : index to i64\n"
    )
    maps = ", ".join([SAME] * (2 if of_argument else 1))
    return lifted(
        f"func.func @f(%x: tensor<?xi64>, %t: tensor<{rows}x4xf32>) -> tensor<?x4xf32> {{\n"
        "%c0 = arith.constant 0 : index\n%n = tensor.dim %x, %c0 : tensor<?xi64>\n"
        "%e = tensor.empty(%n) : tensor<?xi64>\n"
        f'%p = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}} '
        f"{source if of_argument else counted}{places}\n"
        "linalg.yield %r : i64\n} -> tensor<?xi64>\n"
        "%z = tensor.empty(%n) : tensor<?x4xf32>\n"
        "%y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, "
        'affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} '
        "ins(%p : tensor<?xi64>) outs(%z : tensor<?x4xf32>) {\n^bb0(%a: i64, %b: f32):\n"
        "%k = arith.index_cast %a : i64 to index\n%j = linalg.index 1 : index\n"
        f"%v = tensor.extract %t[%k, %j] : tensor<{rows}x4xf32>\nlinalg.yield %v : f32\n}} "
        "-> tensor<?x4xf32>\nreturn %y : tensor<?x4xf32>\n}"
    )


@pytest.mark.parametrize(
    ("rows", "places", "limit"),
    [
        (64, "%c = arith.constant 0 : i64\n%r = arith.addi %i, %c : i64", 64),
        (37, "%c = arith.constant 2 : i64\n%r = arith.addi %i, %c : i64", 35),
        (64, "%c = arith.constant 2 : i64\n%r = arith.divsi %i, %c : i64", 128),
        (1, "%c = arith.constant 0 : i64\n%r = arith.addi %i, %c : i64", 1),
    ],
)
def test_a_table_of_positions_ends(rows: int, places: str, limit: int) -> None:
    graph = table_of(rows, places)
    assert any(isinstance(op, Gather) for op in graph.ops)
    assert size_limits(graph) == {"arg0.0": limit}


def test_places_that_are_held_inside_have_no_end() -> None:
    graph = table_of(64, "%c = arith.constant 63 : i64\n%r = arith.minsi %i, %c : i64")
    assert size_limits(graph) == {}


def test_places_that_the_caller_gives_say_nothing() -> None:
    graph = table_of(64, "%c = arith.constant 0 : i64\n%r = arith.addi %i, %c : i64", True)
    assert any(isinstance(op, Gather) for op in graph.ops)
    assert size_limits(graph) == {}


COUNTED = """
func.func @f(%x: tensor<?xKIND>, %t: tensor<64x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i64
  %n = tensor.dim %x, %c0 : tensor<?xKIND>
  %e = tensor.empty() : tensor<i64>
  %f = linalg.fill ins(%zero : i64) outs(%e : tensor<i64>) -> tensor<i64>
  %count = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
      iterator_types = ["reduction"]} ins(%x : tensor<?xKIND>) outs(%f : tensor<i64>) {
  ^bb0(%a: KIND, %s: i64):
    BODY
    %r = arith.addi %s, %w : i64
    linalg.yield %r : i64
  } -> tensor<i64>
  %z = tensor.empty(%n) : tensor<?x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%count : tensor<i64>) outs(%z : tensor<?x4xf32>) {
  ^bb0(%a: i64, %b: f32):
    %k = arith.index_cast %a : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %t[%k, %j] : tensor<64x4xf32>
    linalg.yield %v : f32
  } -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
"""


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (
            "i64",
            "%pad = arith.constant 1 : i64\n%p = arith.cmpi ne, %a, %pad : i64\n"
            "%w = arith.extui %p : i1 to i64",
        ),
        ("i1", "%w = arith.extui %a : i1 to i64"),
    ],
)
def test_places_may_count_what_the_caller_gives(kind: str, body: str) -> None:
    """As those of tokens that are no padding: of 64, all may count, and the last place is 63."""
    graph = lifted(COUNTED.replace("KIND", kind).replace("BODY", body))
    assert size_limits(graph) == {"arg0.0": 63}
