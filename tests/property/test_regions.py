"""A pad inside the dispatch that reads it computes what the model computes, in every layout."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from layoutopt.candidates.candidate import physical_form
from layoutopt.candidates.cluster import form_clusters
from layoutopt.candidates.enumeration import enumerate_candidates
from layoutopt.candidates.regions import emitted, padded_regions
from layoutopt.candidates.saturation import saturate
from layoutopt.candidates.space import layout_sets
from layoutopt.ir.graph import DispatchRegion, Graph, Pad, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.types import TensorType
from tests.contraction_forms import EVERY_FORM
from tests.property.forms import outputs_of, random_values
from tests.property.layouts import assert_close
from tests.property.rules.ops import convolutions, poolings

FLOATS = ("f64", "f32", "f16", "bf16")


@st.composite
def padded(draw: st.DrawFn) -> Graph:
    """A convolution or a pooling of a padded tensor."""
    graph = draw(convolutions() | poolings())
    (op,) = graph.ops
    assert isinstance(op, Structured)
    whole = op.sources[0]
    kind = graph.types[whole]
    widths = [draw(st.integers(0, n - 1)) for n in kind.shape]
    low = tuple(draw(st.integers(0, width)) for width in widths)
    high = tuple(width - n for width, n in zip(widths, low, strict=True))
    value = draw(st.sampled_from(["0", "2"])) + (".0" if kind.element in FLOATS else "")
    small = TensorType(tuple(n - w for n, w in zip(kind.shape, widths, strict=True)), kind.element)
    source = len(graph.types)
    return Graph(
        (*graph.types, small),
        (Pad(source, whole, low, high, f"{value} : {kind.element}"), op),
        tuple(source if t == whole else t for t in graph.inputs),
        graph.outputs,
    )


fired = 0


@given(padded())
@settings(max_examples=80, deadline=None)
def check(graph: Graph) -> None:
    global fired  # noqa: PLW0603 -- hypothesis hands nothing back
    egraph = saturate(graph)
    regions = tuple(padded_regions(egraph.graph, form_clusters(egraph)))
    found, _ = enumerate_candidates(egraph, regions, layout_sets(egraph, None, 12), EVERY_FORM)
    values = random_values(egraph.graph)
    for candidate in found:
        cluster = regions[candidate.cluster]
        form = physical_form(egraph.graph, cluster, candidate)
        if isinstance(form, Refusal):
            continue
        assert [type(op) for op in emitted(form).ops] == [DispatchRegion]
        for tensor, layout, memory in outputs_of(cluster, candidate, form, values):
            back = layout.undo(memory, egraph.graph.types[tensor].shape)
            assert_close(back.astype("f8"), values[tensor].astype("f8"))
            fired += not candidate.layout_of(cluster.inputs[0]).is_row_major


def test_pads_inside_dispatches_are_right_in_every_layout() -> None:
    check()
    assert fired, "no pad was read in another layout"
