"""What was priced by itself is a dispatch of its own in the plan."""

from __future__ import annotations

import pytest

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.explore import Space
from layoutopt.candidates.form import Form
from layoutopt.ir.graph import FusionBarrier, Graph
from tests.parsing import lifted
from tests.planning import planned

LAYER = """
  %w{n} = arith.constant dense_resource<w{n}> : tensor<64x64xf32>
  %e{n} = tensor.empty() : tensor<20x64xf32>
  %f{n} = linalg.fill ins(%zero : f32) outs(%e{n} : tensor<20x64xf32>) -> tensor<20x64xf32>
  %{to} = linalg.matmul ins(%{of}, %w{n} : tensor<20x64xf32>, tensor<64x64xf32>)
                        outs(%f{n} : tensor<20x64xf32>) -> tensor<20x64xf32>
"""
MODEL = f"""
func.func @main(%x: tensor<20x64xf32>) -> tensor<20x64xf32> {{
  %zero = arith.constant 0.0 : f32
  {LAYER.format(n=0, of="x", to="y")}
  {LAYER.format(n=1, of="y", to="z")}
  return %z : tensor<20x64xf32>
}}
"""
RESHAPED = """
func.func @main(%x: tensor<4x6xf32>) -> tensor<24xf32> {
  %y = tensor.collapse_shape %x [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
  return %y : tensor<24xf32>
}
"""


def barriers(graph: Graph) -> int:
    return sum(isinstance(op, FusionBarrier) for op in graph.ops)


@pytest.mark.parametrize("second", [Form.AS_IT_CAME, Form.DATA_TILED, Form.SCHEDULED])
@pytest.mark.parametrize("first", [Form.AS_IT_CAME, Form.DATA_TILED, Form.SCHEDULED])
def test_a_barrier_stands_between_dispatches(first: Form, second: Form) -> None:
    """IREE 3.13 takes ten times as long where it tiles for the second in the first's dispatch."""

    def price(space: Space, candidate: Candidate) -> int:
        roots = sorted({cluster.root for cluster in space.clusters})
        place = roots.index(space.clusters[candidate.cluster].root)
        plain = all(layout.is_row_major for _, layout in candidate.layouts)
        return 1 if plain and candidate.form is (first, second)[place] else 1000

    behind_the_last = second is Form.SCHEDULED  # others would change its loops
    assert barriers(planned(lifted(MODEL), price, 10_000).graph) == 1 + behind_the_last


def test_no_barrier_stands_behind_what_costs_nothing() -> None:
    assert barriers(planned(lifted(RESHAPED), lambda *_: 1, 10_000).graph) == 0
