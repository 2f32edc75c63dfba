"""How far the numbers of a rewritten op may differ, and what an option leaves out."""

from __future__ import annotations

from layoutopt.candidates.saturation import saturate
from layoutopt.ir.graph import FromTensor, Graph, Structured
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rewrites.interior_padding_examples import interior_padded_example
from layoutopt.rules.rule import Exactness
from tests.parsing import lifted

EXACT = (Exactness.BIT_EXACT,)


def test_rules_say_how_exact_they_are() -> None:
    found = {rule.name: rule.exactness for rule in REWRITES}
    inexact = {name: kind for name, kind in found.items() if kind is not Exactness.BIT_EXACT}
    assert inexact == {
        "drop-padding-taps": Exactness.ASSUMES_FINITE,
        "convolution-to-space-to-depth": Exactness.ASSUMES_FINITE,
        "commute-scatter-with-contraction": Exactness.ASSUMES_FINITE,
        "split-reduction-into-phases": Exactness.ASSUMES_FINITE,
        "split-convolution-into-phases": Exactness.ASSUMES_FINITE,
        "split-reduction": Exactness.REASSOCIATES,
        "split-contraction-of-concat": Exactness.REASSOCIATES,
        "attention-to-contractions": Exactness.APPROXIMATES,
        "contractions-to-attention": Exactness.APPROXIMATES,
        "pad-attention": Exactness.APPROXIMATES,
        "reassociate-contractions": Exactness.APPROXIMATES,
        "fold-scale-into-weights": Exactness.APPROXIMATES,
        "merge-summed-contractions": Exactness.APPROXIMATES,
        "separate-resize": Exactness.APPROXIMATES,
        "widen-sums": Exactness.APPROXIMATES,
        "convolution-to-winograd-f2": Exactness.APPROXIMATES,
        "convolution-to-winograd-f4": Exactness.APPROXIMATES,
        "convolution-to-winograd-f6": Exactness.APPROXIMATES,
        "contraction-to-strassen": Exactness.APPROXIMATES,
    }


def test_only_admitted_rules_saturate() -> None:
    graph = interior_padded_example(filter_size=1, stride=2)
    assert "commute-scatter-with-contraction" in str(saturate(graph).rule)
    exact = saturate(graph, admitted=(Exactness.BIT_EXACT, Exactness.REASSOCIATES))
    assert "commute-scatter-with-contraction" not in str(exact.rule)
    assert "scatter-to-index-arithmetic" in str(exact.rule)


def starting_from_constants(element: str) -> Graph:
    add = "addf" if element == "f32" else "addi"
    return lifted(f"""func.func @f(%x: tensor<4x3x{element}>) -> tensor<3x{element}> {{
      %c = arith.constant dense_resource<w> : tensor<3x{element}>
      %r = linalg.reduce ins(%x : tensor<4x3x{element}>) outs(%c : tensor<3x{element}>)
        dimensions = [0] (%a: {element}, %b: {element}) {{
          %q = arith.{add} %a, %b : {element}
          linalg.yield %q : {element}
        }}
      return %r : tensor<3x{element}>
    }}""")


def starts_from_a_tensor(graph: Graph) -> bool:
    structured = [op for op in graph.ops if isinstance(op, Structured)]
    return any(isinstance(init, FromTensor) for op in structured for init in op.inits)


def test_sums_of_floats_start_from_zero_where_they_may_be_reassociated() -> None:
    graph = starting_from_constants("f32")
    assert not starts_from_a_tensor(canonical_form(graph).graph)
    assert starts_from_a_tensor(canonical_form(graph, EXACT).graph)
    integers = canonical_form(starting_from_constants("i32"), EXACT)
    assert not starts_from_a_tensor(integers.graph)
    assert not integers.refusals
