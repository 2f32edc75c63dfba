"""Sizes that are planned for and tried go together in what a function computes."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.ir.concrete import concrete
from layoutopt.ir.fitting_sizes import fitting_sizes, going_together, misfit
from layoutopt.pipeline.stages import read
from layoutopt.verification.input_sizes import Sizes
from tests.parsing import lifted

TAIL = """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %left = arith.subi %n, %c5 : index
  %0 = tensor.extract_slice %x[1] [%left] [1] : tensor<?xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""
"""Five elements at least."""
INTO_ALL = """
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?x1xf32> {
  %c0 = arith.constant 0 : index
  %dim = tensor.dim %x, %c0 : tensor<?xf32>
  %n = util.assume.int %dim<umin = 8, umax = 40, udiv = 8> : index
  %0 = tensor.insert_slice %x into %y[0] [%n] [1] : tensor<?xf32> into tensor<?xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [%n, 1]
      : tensor<?xf32> into tensor<?x1xf32>
  return %1 : tensor<?x1xf32>
}
"""
"""The second argument has as many elements as the first one, a multiple of eight."""


@pytest.mark.parametrize("text", [TAIL, INTO_ALL])
def test_what_contradicts_itself_is_not_planned_for(text: str, tmp_path: Path) -> None:
    assert misfit(concrete(lifted(text)))
    path = tmp_path / "model.mlir"
    path.write_text(text)
    with read(path) as model:
        (function,) = model.functions
        assert misfit(concrete(function.graph)) == ""


def test_what_goes_together_stays() -> None:
    graph = lifted(TAIL.replace("constant 5", "constant 1"))
    assert misfit(concrete(graph)) == ""
    assert fitting_sizes(graph) == {}


def test_sizes_that_stay_leave_the_others_to_change() -> None:
    graph = lifted(INTO_ALL)
    assert fitting_sizes(graph, {"arg0.0"}) == {"arg1.0": 8}
    assert fitting_sizes(graph, {"arg0.0", "arg1.0"}) == {}


def test_sizes_that_are_tried_are_mended() -> None:
    graph = lifted(INTO_ALL)
    shapes = {place: graph.types[t].shape for place, t in enumerate(graph.inputs)}
    tried = Sizes({"arg0.0/8": 2, "arg1.0": 7}, shapes).going_together(graph)
    at_sizes = concrete(graph, tried.values)
    assert misfit(at_sizes) == ""
    assert [tried.of(place, ()) for place in shapes] == [
        at_sizes.types[t].shape for t in graph.inputs
    ]


def test_sizes_out_of_reach_are_told() -> None:
    graph = lifted(TAIL)
    name = next(iter(going_together(graph, {}) or {}))
    assert going_together(graph, {name: 3}, {name}) is None
    assert "slice" in misfit(concrete(graph, {name: 3}))
