"""Rules that compute something else are refused where they fire, with the numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from layoutopt.candidates.explore import explore
from layoutopt.candidates.saturation import saturate
from layoutopt.candidates.soundness import Soundness, _compared
from layoutopt.ir.affine import affine, identity_map
from layoutopt.ir.graph import (
    Constant,
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Op,
    Pad,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.normalize import NORMALIZATIONS
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.normalize.fold_broadcast import BroadcastRead, FoldBroadcast
from layoutopt.normalize.reduce_from_neutral_init import ReduceFromNeutralInit, ReductionInit
from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rewrites.examples import convolution_example
from layoutopt.rules.rewrites.resize_examples import linear_resize
from layoutopt.rules.rewrites.separate_resize import SeparateResize
from layoutopt.rules.rewrites.strided_unit_filter_to_slice import StridedUnitFilterToSlice
from layoutopt.rules.rewrites.window import Convolution
from layoutopt.rules.rule import Expression, NormalizationRule, apply
from tests.models import CONVOLUTIONS
from tests.parsing import lifted
from tests.planning import HOST
from tests.scattered_convolution import POOLED


class OffByOne(StridedUnitFilterToSlice):
    """Reads the elements between the strides."""

    def rewrite(self, graph: Graph, match: Convolution) -> Expression:
        found = super().rewrite(graph, match)
        cut = found.ops[0]
        assert isinstance(cut, Slice)
        return replace(found, ops=(replace(cut, offsets=(0, 0, 1, 0)), *found.ops[1:]))


class OtherStart(StridedUnitFilterToSlice):
    """Adds up from one in place of zero."""

    def rewrite(self, graph: Graph, match: Convolution) -> Expression:
        found = super().rewrite(graph, match)
        op = found.ops[-1]
        assert isinstance(op, Structured)
        started = replace(op, inits=(Fill("1.0 : f32"),))
        return replace(found, ops=(*found.ops[:-1], started))


def strided() -> Graph:
    """A strided convolution of an image with a margin that no window reads."""
    return convolution_example(filter_size=1, stride=2, margin=1)


@pytest.mark.parametrize("rule", [OffByOne(), OtherStart()])
def test_an_unsound_rule_is_refused(rule: StridedUnitFilterToSlice) -> None:
    egraph = saturate(strided(), (rule,), soundness=Soundness())
    assert len(egraph.graph.ops) == egraph.original_ops
    (refused,) = egraph.refusals
    assert refused.rule == "strided-unit-filter-to-slice"
    assert refused.reason.startswith("computes something else than the model's own op: result 0: ")
    assert "values are wrong; at (0, 0, 0, 0): expected" in refused.reason


def factors_off_by(share: float) -> Expression:
    """A resize by filters whose numbers are a little larger."""
    graph = linear_resize((5, 2), (15, 2), corners=True)
    found = apply(SeparateResize(), graph, 0)
    assert isinstance(found, Expression)

    def larger(op: Op) -> Op:
        if not isinstance(op, Structured) or op.sources:
            return op
        body = replace(op.body, ops=tuple(map(scaled, op.body.ops)))
        return replace(op, body=body)

    def scaled(op: ScalarOp) -> ScalarOp:
        if op.type != "f32" or op.name != "arith.constant":
            return op
        number = float(op.attribute("value").partition(" : ")[0]) * (1 + share)
        return replace(op, attributes=(("value", f"{number:.9e} : f32"),))

    return replace(found, ops=tuple(map(larger, found.ops)))


@pytest.mark.parametrize(("share", "sound"), [(0.0, True), (1e-3, False)])
def test_constants_of_a_rule_may_be_rounded_otherwise(share: float, sound: bool) -> None:
    """Factors of one period of a filter stand for those of all; the op rounds each place."""
    graph = linear_resize((5, 2), (15, 2), corners=True)
    reason = Soundness().reason(graph, 0, factors_off_by(share))
    assert (reason == "") == sound, reason


def test_without_the_check_it_would_have_been_taken() -> None:
    egraph = saturate(strided(), (OffByOne(),))
    assert len(egraph.graph.ops) > egraph.original_ops


class WrongRow(FoldBroadcast):
    """Reads the same element for all columns."""

    def rewrite(self, graph: Graph, match: BroadcastRead) -> Expression:
        maps = (*match.through.maps[:1], (affine(()),), *match.through.maps[2:])
        return Expression((), (replace(match.through, maps=maps),))


class ForgottenStart(ReduceFromNeutralInit):
    """Leaves the init out."""

    def rewrite(self, graph: Graph, match: ReductionInit) -> Expression:
        found = super().rewrite(graph, match)
        reduction = found.ops[0]
        assert isinstance(reduction, Structured)
        return Expression((), (replace(reduction, results=match.op.results),))


@pytest.mark.parametrize("rule", [WrongRow(), ForgottenStart()])
def test_an_unsound_normalization_is_refused(rule: FoldBroadcast | ReduceFromNeutralInit) -> None:
    (graph,) = [example.graph for example in rule.examples if example.refusal is None]
    found = canonical_form(graph, check=Soundness().reason, rules=(rule,))
    assert found.graph is graph
    (refused,) = found.refusals
    assert refused.rule == rule.name
    assert refused.reason.startswith("computes something else than the model's own op: result 0: ")
    assert canonical_form(graph, rules=(rule,)).graph is not graph


@pytest.mark.parametrize("rule", NORMALIZATIONS, ids=lambda rule: str(rule.name))
def test_sound_normalizations_pass(rule: NormalizationRule[Any]) -> None:
    (graph,) = [example.graph for example in rule.examples if example.refusal is None]
    soundness = Soundness()
    found = canonical_form(graph, check=soundness.reason, rules=(rule,))
    assert found.graph.ops == canonical_form(graph, rules=(rule,)).graph.ops != graph.ops
    assert not found.refusals
    assert not soundness.skipped


def test_sound_rules_pass() -> None:
    graph = lifted(CONVOLUTIONS)
    soundness = Soundness()
    checked = saturate(graph, REWRITES, soundness=soundness)
    assert checked.graph.ops == saturate(graph, REWRITES).graph.ops
    assert not soundness.skipped


def test_what_a_rule_knows_of_a_producer_holds_in_the_check() -> None:
    """The rule may read through a padding: both sides see the same padded tensor."""
    builder = GraphBuilder()
    x = builder.tensor((2, 3, 7, 7), "f32")
    padded = builder.tensor((2, 3, 8, 8), "f32")
    builder.add(Pad(x, padded, (0, 0, 0, 0), (0, 0, 1, 1), "0.0 : f32"))
    graph = convolution_example(filter_size=1, stride=2, margin=1)
    w = builder.tensor(graph.types[1].shape, "f32")
    y = builder.tensor(graph.types[2].shape, "f32")
    op = graph.ops[0]
    assert isinstance(op, Structured)
    builder.add(replace(op, sources=(padded, w), results=(y,)))
    soundness = Soundness()
    egraph = saturate(builder.build((x, w), (y,)), soundness=soundness)
    reasons = [r.reason for r in egraph.refusals]
    assert not any("something else" in reason for reason in reasons)
    assert not soundness.skipped


def test_what_is_too_large_is_counted() -> None:
    soundness = Soundness()
    graph = convolution_example(filter_size=1, stride=2, channels=(256, 256), image=64)
    egraph = saturate(graph, (OffByOne(),), soundness=soundness)
    assert len(egraph.graph.ops) > egraph.original_ops
    assert soundness.skipped == {"they have more than 4000000 points": 1}


def test_what_is_too_large_in_all_is_counted() -> None:
    soundness = Soundness(most_in_all=10)
    graph = convolution_example(filter_size=1, stride=2, margin=1)
    egraph = saturate(graph, (OffByOne(),), soundness=soundness)
    assert len(egraph.graph.ops) > egraph.original_ops
    assert soundness.skipped == {"they have more than 10 points in all": 1}


def test_equal_types_are_stored_once() -> None:
    (graph,) = [e.graph for e in FoldBroadcast.examples if e.refusal is None]
    (found,) = canonical_form(graph, rules=(FoldBroadcast(),)).graph.ops[1:]
    soundness = Soundness(most_in_all=15)
    assert [soundness.reason(graph, 1, Expression((), (found,))) for _ in range(3)] == [""] * 3
    assert not soundness.skipped


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


@pytest.mark.parametrize("name", ["arith.addf", "arith.mulf"])
def test_what_makes_the_inputs_is_left_out_where_the_rule_does_not_look_at_it(name: str) -> None:
    """A rewrite is the same check whatever comes before it."""
    graph = strided()
    kind = graph.types[0]
    builder = GraphBuilder(len(graph.types))
    raw, two = builder.tensor(kind.shape, "f32"), builder.tensor(kind.shape, "f32")
    body = Body(("f32",) * 3, (ScalarOp(name, (0, 1), "f32"),), (3,))
    parallel = (IteratorType.PARALLEL,) * 4
    maps = (identity_map(4),) * 3
    builder.add(Constant(two, "2.0"))
    builder.add(Structured((raw, two), (Uninitialized(),), (0,), kind.shape, parallel, maps, body))
    behind = Graph(
        (*graph.types, *builder.types), (*builder.ops, *graph.ops), (raw, 1), graph.outputs
    )
    saturate(graph, (StridedUnitFilterToSlice(),), soundness=Soundness())
    before = _compared.cache_info()
    egraph = saturate(behind, (StridedUnitFilterToSlice(),), soundness=Soundness())
    assert len(egraph.graph.ops) > egraph.original_ops
    assert _compared.cache_info().misses == before.misses
    refused = saturate(behind, (OffByOne(),), soundness=Soundness()).refusals
    assert "computes something else" in refused[0].reason


def test_a_scatter_of_more_than_a_slice_reads_is_no_other_op() -> None:
    """The check computes the scattered tensor from what the rewrite reads, not from elsewhere."""
    space = explore(lifted(POOLED), HOST)
    assert any("fold-slice-of-scatter" in rules for rules in space.egraph.rule)
    assert [r for r in space.refusals if "computes something else" in r.reason] == []


def test_tensors_that_memory_does_not_hold_are_not_made() -> None:
    """A pad may ask for any size; the rewrite stays, and the report says that it is unchecked."""
    builder = GraphBuilder()
    x, y = builder.tensor((4,), "f32"), builder.tensor((1 << 39,), "f32")
    builder.add(Pad(x, y, (0,), ((1 << 39) - 4,), "0.0 : f32"))
    space = explore(builder.build((x,), (y,)), HOST)
    assert any("more than 33554432 elements" in r.reason for r in space.refusals)


TWICE_READ = """
func.func @f(%x: tensor<3x1x3xi32>) -> tensor<3x1x3xi32> {
  %z = arith.constant dense<0> : tensor<3x3x3xi32>
  %s = tensor.insert_slice %x into %z[0, 1, 0] [3, 1, 3] [1, 2, 1]
      : tensor<3x1x3xi32> into tensor<3x3x3xi32>
  %e = tensor.empty() : tensor<3x1x3xi32>
  %c0 = arith.constant 0 : i32
  %f = linalg.fill ins(%c0 : i32) outs(%e : tensor<3x1x3xi32>) -> tensor<3x1x3xi32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2 * 3 + d4, d3)>,
                       affine_map<(d0, d1, d2, d3, d4) -> (d4, d3, d1)>,
                       affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%s, %s : tensor<3x3x3xi32>, tensor<3x3x3xi32>) outs(%f : tensor<3x1x3xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<3x1x3xi32>
  return %r : tensor<3x1x3xi32>
}
"""


def test_what_is_computed_in_two_ways_is_computed_from_one_source() -> None:
    """A reshape of a scatter is the scatter of a reshape too, and both operands come from it."""
    space = explore(lifted(TWICE_READ), HOST)
    assert not [r for r in space.refusals if "computes something else" in r.reason]
    assert any("split-reduction-into-phases" in made for made in space.egraph.rule)
