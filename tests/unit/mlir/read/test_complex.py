"""Complex numbers that stand outside of bodies: starts of sums, padding, scalars."""

from __future__ import annotations

import numpy as np

from layoutopt.ir.graph import Fill, Graph, Opaque, Structured
from layoutopt.oracle import evaluate
from tests.parsing import lifted, through_text

NUMBER = "complex<f32>"


def product() -> Graph:
    """A sum that starts from 1 + 2i, of numbers times 3i, padded with -1."""
    return lifted(f"""
func.func @f(%x: tensor<4x5x{NUMBER}>) -> tensor<6x{NUMBER}> {{
  %start = complex.constant [1.0 : f32, 2.0 : f32] : {NUMBER}
  %factor = complex.constant [0.0 : f32, 3.0 : f32] : {NUMBER}
  %border = complex.constant [-1.0 : f32, 0.0 : f32] : {NUMBER}
  %e = tensor.empty() : tensor<4x{NUMBER}>
  %s = linalg.fill ins(%start : {NUMBER}) outs(%e : tensor<4x{NUMBER}>) -> tensor<4x{NUMBER}>
  %y = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  }} ins(%x : tensor<4x5x{NUMBER}>) outs(%s : tensor<4x{NUMBER}>) {{
    ^bb0(%a: {NUMBER}, %sum: {NUMBER}):
      %p = complex.mul %a, %factor : {NUMBER}
      %q = complex.add %sum, %p : {NUMBER}
      linalg.yield %q : {NUMBER}
  }} -> tensor<4x{NUMBER}>
  %z = tensor.pad %y low[1] high[1] {{
    ^bb0(%i: index):
      tensor.yield %border : {NUMBER}
  }} : tensor<4x{NUMBER}> to tensor<6x{NUMBER}>
  return %z : tensor<6x{NUMBER}>
}}""")


def test_they_are_no_barriers() -> None:
    graph = product()
    assert not any(isinstance(op, Opaque) for op in graph.ops)
    (made,) = (op for op in graph.ops if isinstance(op, Structured))
    assert isinstance(made.inits[0], Fill)


def test_they_are_written_as_they_were_read() -> None:
    graph = product()
    assert through_text(graph).ops == graph.ops


def test_they_mean_what_they_say() -> None:
    graph = product()
    x = np.arange(20, dtype=np.float32).reshape(4, 5) * np.complex64(1 - 2j)
    (found,) = (evaluate(graph, {graph.inputs[0]: x})[t] for t in graph.outputs)
    wanted = np.concatenate([[-1], 1 + 2j + 3j * x.sum(axis=1), [-1]])
    np.testing.assert_allclose(found, wanted)
