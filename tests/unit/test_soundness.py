"""A rewrite of what another one made is held against the model with all that both know."""

from __future__ import annotations

from layoutopt.explore import explore
from tests.parsing import lifted
from tests.planning import HOST

REPEATED = """
func.func @main(%x: tensor<2x1xi8>) -> tensor<4x1xi8> {
  %zero = arith.constant 0 : i8
  %e = tensor.empty() : tensor<2x1xi8>
  %f = linalg.fill ins(%zero : i8) outs(%e : tensor<2x1xi8>) -> tensor<2x1xi8>
  %s = tensor.insert_slice %x into %f[0, 0] [2, 1] [1, 2] : tensor<2x1xi8> into tensor<2x1xi8>
  %o = tensor.empty() : tensor<4x1xi8>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>],
    iterator_types = ["parallel", "parallel"]} outs(%o : tensor<4x1xi8>) {
  ^bb0(%v: i8):
    %i = linalg.index 0 : index
    %k = linalg.index 1 : index
    %two = arith.constant 2 : index
    %j = arith.divui %i, %two : index
    %q = tensor.extract %s[%j, %k] : tensor<2x1xi8>
    linalg.yield %q : i8
  } -> tensor<4x1xi8>
  return %r : tensor<4x1xi8>
}
"""


def test_what_both_sides_read_is_computed_from_one_source() -> None:
    """The scatter and its source, both made by rewrites, are one tensor seen in two ways."""
    space = explore(lifted(REPEATED), HOST)
    assert not [r for r in space.refusals if "computes something else" in r.reason]
    made = {rule for rules in space.egraph.rule for rule in rules}
    assert "push-scatter-through-reshape" in made
