from layoutopt.candidates.egraph import SaturationStop, saturate
from layoutopt.ir.graph import Constant, Graph, Reshape, Slice, Structured
from layoutopt.rules.rewrites.examples import convolution_example


def test_three_rules_in_a_row() -> None:
    """Strided 1x1 convolution -> slice + 1x1 convolution -> slice + matmul."""
    egraph = saturate(convolution_example(filter_size=1, stride=2))
    assert egraph.stop_reason is SaturationStop.SATURATED
    assert egraph.original_ops == 1
    assert [type(op) for op in egraph.graph.ops] == [Structured, Slice, Structured, Structured]
    assert egraph.rule == (
        (),
        ("strided-unit-filter-to-slice",),
        ("strided-unit-filter-to-slice",),
        ("strided-unit-filter-to-slice", "unit-filter-to-contraction"),
    )
    assert egraph.canonicalized == {2}
    reasons = {(r.op, r.rule): r.reason for r in egraph.refusals}
    assert reasons[0, "unit-filter-to-contraction"] == "expected stride 1, but got 2"


def test_patches_and_windows_are_both_kept() -> None:
    egraph = saturate(convolution_example(filter_size=2, stride=2))
    assert [type(op) for op in egraph.graph.ops] == [Structured, Reshape, *[Structured] * 3]
    assert len(egraph.graph.producers[2]) == 3
    assert not egraph.canonicalized


def test_the_limit_is_reported() -> None:
    egraph = saturate(convolution_example(filter_size=2, stride=2), op_limit=0)
    assert egraph.stop_reason is SaturationStop.OP_LIMIT
    assert len(egraph.graph.ops) == 1


def test_new_ops_carry_the_name_of_their_origin() -> None:
    named = convolution_example(filter_size=1, stride=1)
    plain = Graph(named.types, named.ops, named.inputs, named.outputs)
    assert saturate(plain).graph.names == ("convolution.0", "convolution.0")
    assert saturate(named).graph.names == ("convolution.0", "convolution.0")


def test_what_constants_compute_is_left_alone() -> None:
    graph = convolution_example(filter_size=1, stride=1)
    folded = Graph(graph.types, (Constant(0), Constant(1), *graph.ops), (), graph.outputs)
    assert len(saturate(folded).graph.ops) == 3
