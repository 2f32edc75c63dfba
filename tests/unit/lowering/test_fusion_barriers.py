"""What IREE would fuse against the prices is kept apart in the plan."""

from __future__ import annotations

import pytest

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.explore import Space
from layoutopt.candidates.form import Form
from layoutopt.ir.graph import FusionBarrier
from tests.parsing import lifted
from tests.planning import planned

LAYER = """
  %w{n} = arith.constant dense_resource<w{n}> : tensor<48x48xf32>
  %e{n} = tensor.empty() : tensor<20x48xf32>
  %f{n} = linalg.fill ins(%zero : f32) outs(%e{n} : tensor<20x48xf32>) -> tensor<20x48xf32>
  %{to} = linalg.matmul ins(%{of}, %w{n} : tensor<20x48xf32>, tensor<48x48xf32>)
                        outs(%f{n} : tensor<20x48xf32>) -> tensor<20x48xf32>
"""
MODEL = f"""
func.func @main(%x: tensor<20x48xf32>) -> tensor<20x48xf32> {{
  %zero = arith.constant 0.0 : f32
  {LAYER.format(n=0, of="x", to="y")}
  {LAYER.format(n=1, of="y", to="z")}
  return %z : tensor<20x48xf32>
}}
"""


@pytest.mark.parametrize(
    ("tiled", "barriers"),
    [((False, False), 0), ((False, True), 1), ((True, True), 0), ((True, False), 0)],
)
def test_a_contraction_is_not_fused_with_the_tiling_of_the_next(
    tiled: tuple[bool, bool], barriers: int
) -> None:
    """IREE 3.13 takes ten times as long where it puts one behind the other in a dispatch."""

    def price(space: Space, candidate: Candidate) -> int:
        roots = sorted({cluster.root for cluster in space.clusters})
        place = roots.index(space.clusters[candidate.cluster].root)
        plain = all(layout.is_row_major for _, layout in candidate.layouts)
        return 1 if plain and (candidate.form is Form.DATA_TILED) == tiled[place] else 1000

    found = planned(lifted(MODEL), price, 10_000)
    assert sum(isinstance(op, FusionBarrier) for op in found.graph.ops) == barriers


@pytest.mark.parametrize(("scheduled", "barriers"), [((True, True), 2), ((True, False), 1)])
def test_scheduled_contractions_are_kept_apart_from_what_is_around_them(
    scheduled: tuple[bool, bool], barriers: int
) -> None:
    """Transposes would change their loops. One barrier serves both sides; arguments need none."""

    def price(space: Space, candidate: Candidate) -> int:
        roots = sorted({cluster.root for cluster in space.clusters})
        place = roots.index(space.clusters[candidate.cluster].root)
        plain = all(layout.is_row_major for _, layout in candidate.layouts)
        form = Form.SCHEDULED if scheduled[place] else Form.AS_IT_CAME
        return 1 if plain and candidate.form is form else 1000

    text = MODEL.replace("48", "64")
    found = planned(lifted(text), price, 10_000)
    assert sum(isinstance(op, FusionBarrier) for op in found.graph.ops) == barriers
