"""What callers can call, and where their tensors are in the graph."""

from __future__ import annotations

from pathlib import Path

from layoutopt.mlir.module import parse_module
from layoutopt.mlir.read.entry import Exported

PLAIN = """
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func private @declared(tensor<4xf32>)
func.func @main(%k: f32, %x: tensor<4xf32>, %d: tensor<?xf32>) -> (f32, tensor<4xf32>) {
  %y = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %k, %y : f32, tensor<4xf32>
}
func.func @branches(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  cf.cond_br %c, ^a, ^b
^a:
  return %x : tensor<4xf32>
^b:
  return %x : tensor<4xf32>
}
"""
IMPORTED = """
util.func public @main$async(%a: !hal.buffer_view, %w: !hal.fence, %s: !hal.fence)
    -> !hal.buffer_view {
  %t = hal.tensor.import wait(%w) => %a : !hal.buffer_view -> tensor<2x4xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %y = linalg.transpose ins(%t : tensor<2x4xf32>) outs(%e : tensor<4x2xf32>) permutation = [1, 0]
  %r = hal.tensor.barrier join(%y : tensor<4x2xf32>) => %s : !hal.fence
  %v = hal.tensor.export %r : tensor<4x2xf32> -> !hal.buffer_view
  util.return %v : !hal.buffer_view
}
util.func public @main(%a: !hal.buffer_view) -> !hal.buffer_view {
  util.return %a : !hal.buffer_view
}
"""


def test_positions_count_all_that_a_caller_hands_over(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(PLAIN)
    module = parse_module(tmp_path / "m.mlir")
    place = module.names.index("main")
    graph, boundary = module.graphs[place], module.boundary(place)
    assert boundary.arguments == {1: graph.inputs[0], 2: graph.inputs[1]}
    assert [str(graph.types[t]) for t in graph.inputs[:2]] == ["tensor<4xf32>", "tensor<?xf32>"]
    assert list(boundary.results) == [1]
    assert boundary.types == ("f32", "tensor<4xf32>", "tensor<?xf32>")
    assert module.exported == (
        Exported("main", "main", calls=True),
        Exported("branches", "branches", calls=False),
    )


def test_fences_are_no_arguments_and_buffer_views_are_seen_through(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(IMPORTED)
    module = parse_module(tmp_path / "m.mlir")
    graph, boundary = module.graphs[0], module.boundary(0)
    assert [graph.types[t].shape for t in boundary.arguments.values()] == [(2, 4)]
    assert [graph.types[t].shape for t in boundary.results.values()] == [(4, 2)]
    assert (list(boundary.arguments), list(boundary.results)) == ([0], [0])
    assert boundary.types == ("tensor<2x4xf32>",)
    assert [e.name for e in module.exported] == ["main"]
