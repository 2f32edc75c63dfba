"""Generics that read tensors at places which their bodies compute."""

from __future__ import annotations

import numpy as np
import pytest

from layoutopt.ir.extensions.computed_reads import ComputedReads
from layoutopt.ir.graph import Graph, Opaque
from layoutopt.ir.layout import Layout
from layoutopt.oracle import evaluate_bounded
from layoutopt.rules.propagation import propagate
from layoutopt.verification.index_bounds import integers_of
from tests.parsing import lifted, through_text

X, Y = "tensor<1x3x5x4xf32>", "tensor<1x3x8x4xf32>"
MAP = "affine_map<(n, c, i, j) -> (n, c, i, j)>"
HALF = """
      %c = linalg.index 1 : index
      %i = linalg.index 2 : index
      %j = linalg.index 3 : index
      %k = arith.index_cast %i : index to i64
      %f = arith.sitofp %k : i64 to f32
      %g = arith.mulf %f, %step : f32
      %low = math.floor %g : f32
      %share = arith.subf %g, %low : f32
      %a = arith.fptosi %low : f32 to i64
      %above = arith.index_cast %a : i64 to index
      %b = arith.addi %above, %one : index
      %below = arith.minui %b, %last : index
      %p = tensor.extract %x[%zero, %c, %above, %j] : tensor<1x3x5x4xf32>
      %q = tensor.extract %x[%zero, %c, %below, %j] : tensor<1x3x5x4xf32>
      %d = arith.subf %q, %p : f32
      %m = arith.mulf %d, %share : f32
      %r = arith.addf %p, %m : f32
      linalg.yield %r : f32"""


def resized(body: str = HALF) -> Graph:
    return lifted(f"""func.func @f(%x: {X}, %other: index) -> {Y} {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %last = arith.constant 4 : index
  %step = arith.constant 0.5625 : f32
  %e = tensor.empty() : {Y}
  %y = linalg.generic {{indexing_maps = [{MAP}],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]}} outs(%e : {Y}) {{
    ^bb0(%out: f32):{body}
    }} -> {Y}
  return %y : {Y}
}}""")


def test_rows_between_two_others_are_read() -> None:
    graph = resized()
    (op,) = graph.ops
    assert isinstance(op, ComputedReads)
    assert through_text(graph).ops == graph.ops
    x = np.random.default_rng(0).standard_normal((1, 3, 5, 4)).astype("float32")
    found, errors = evaluate_bounded(graph, {0: x})
    places = np.arange(8) * 0.5625
    low = np.floor(places).astype(int)
    share = (places - low)[:, None]
    wanted = x[:, :, low] + share * (x[:, :, np.minimum(low + 1, 4)] - x[:, :, low])
    (y,) = graph.outputs
    assert (np.abs(found[y] - wanted) <= errors[y]).all()
    assert errors[y].max() < 1e-5


def test_channels_go_innermost_on_both_sides() -> None:
    graph = resized()
    last = Layout((0, 2, 3, 1))
    for tensor in (0, 1):
        assert propagate(graph.ops[0], graph.types, tensor, last) == {0: last, 1: last}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("%p, %m : f32", "%p, %out : f32", "expected an index that is linear in the loops"),
        (
            "%zero, %c, %below",
            "%other, %c, %below",
            "expected an index that is linear in the loops",
        ),
    ],
)
def test_others_stay_with_the_reason_that_they_had(old: str, new: str, reason: str) -> None:
    (op,) = (op for op in resized(HALF.replace(old, new)).ops if isinstance(op, Opaque))
    assert op.reason.startswith(reason)


LOOKUP = """func.func @f(%x: tensor<6x8xf32>, %i: tensor<3xi64>, %j: tensor<4xi64>)
    -> tensor<3x4xf32> {
  %e = tensor.empty() : tensor<3x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (b)>,
      affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
    ins(%i, %j : tensor<3xi64>, tensor<4xi64>) outs(%e : tensor<3x4xf32>) {
    ^bb0(%p: i64, %q: i64, %out: f32):
      %k = arith.index_cast %p : i64 to index
      %l = arith.index_cast %q : i64 to index
      %v = tensor.extract %x[%k, %l] : tensor<6x8xf32>
      linalg.yield %v : f32
    } -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}"""


def test_places_may_be_inputs() -> None:
    graph = lifted(LOOKUP)
    (op,) = graph.ops
    assert isinstance(op, ComputedReads)
    assert integers_of(graph, 1) == 6
    assert integers_of(graph, 2) == 8
    x = np.arange(48, dtype="float32").reshape(6, 8)
    found, errors = evaluate_bounded(
        graph, {0: x, 1: np.asarray([5, 0, 2]), 2: np.asarray([7, 1, 1, 0])}
    )
    np.testing.assert_array_equal(found[graph.outputs[0]], x[[5, 0, 2]][:, [7, 1, 1, 0]])
    assert not errors


def test_places_that_are_computed_from_inputs_may_lie_anywhere() -> None:
    shifted = "%s = arith.addi %p, %q : i64\n%k = arith.index_cast %s"
    graph = lifted(LOOKUP.replace("%k = arith.index_cast %p", shifted))
    assert any(isinstance(op, Opaque) for op in graph.ops)
