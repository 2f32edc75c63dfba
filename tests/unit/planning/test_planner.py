"""From a graph to a lowered plan, with made-up prices: no compiler, no clock."""

import numpy as np
import pytest

from layoutopt.candidates.candidate import Candidate, identity_candidate
from layoutopt.candidates.choice import needed_conversions
from layoutopt.candidates.explore import Space, explore
from layoutopt.candidates.partition import is_transpose
from layoutopt.ir.graph import Graph, Slice, Structured
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.lowered import Lowered
from layoutopt.ir.roles import is_windowed
from layoutopt.oracle import evaluate
from layoutopt.profiles.target import load_target
from tests.marks import long
from tests.models import CONVOLUTIONS
from tests.parsing import lifted
from tests.planning import Price, planned

HOST = load_target("host")
NHWC = Layout((0, 2, 3, 1))


def identity_only(space: Space, candidate: Candidate) -> int:
    cluster = space.clusters[candidate.cluster]
    graph = space.egraph.graph
    return 1 if candidate == identity_candidate(graph, candidate.cluster, cluster) else 10**9


def likes_nhwc(space: Space, candidate: Candidate) -> int:
    """Images in NHWC are cheap, everything else is dear."""
    images = [x for _, x in candidate.layouts if x.rank == 4]
    return 10 if NHWC in images else 10_000


def _free_for(favourite: Candidate) -> Price:
    return lambda space, candidate: 0 if candidate == favourite else 1000


def meaning(graph: Graph, lowered: Lowered) -> tuple[list[object], list[object]]:
    """Results of the graph and of the plan, on the same small integers."""
    rng = np.random.default_rng(0)
    values = {
        t: rng.integers(-2, 3, graph.types[t].shape).astype(np.float32) for t in lowered.inputs
    }
    expected = evaluate(graph, values)
    inside = {p: values[t] for t, p in lowered.inputs.items()}
    for weight in lowered.hoisted:
        leaves = {p: values[t] for t, p in weight.inputs.items()}
        inside[weight.planned_tensor] = evaluate(weight.graph, leaves)[weight.result]
    found = evaluate(lowered.graph, inside)
    return (
        [found[p].tolist() for p in lowered.outputs.values()],
        [expected[t].tolist() for t in lowered.outputs],
    )


@pytest.fixture(scope="module")
def graph() -> Graph:
    return lifted(CONVOLUTIONS)


def test_the_identity_plan_is_the_model(graph: Graph) -> None:
    lowered = planned(graph, identity_only, conversion_ns=10**9)
    assert not lowered.hoisted
    assert contractions_of(lowered) == contractions_of(graph)
    got, expected = meaning(graph, lowered)
    assert got == expected


def contractions_of(found: Graph | Lowered) -> list[str]:
    ops = found.ops if isinstance(found, Graph) else found.graph.ops
    return [str(op.maps) for op in ops if isinstance(op, Structured) and op.is_contraction]


def test_cheap_nhwc_pulls_the_whole_model_over(graph: Graph) -> None:
    lowered = planned(graph, likes_nhwc, conversion_ns=100)
    transposes = [op for op in lowered.graph.ops if is_transpose(op)]
    assert len(transposes) == 1, "one conversion in; the last contraction writes row-major itself"
    got, expected = meaning(graph, lowered)
    assert got == expected


def test_dear_conversions_keep_the_model_where_it_is(graph: Graph) -> None:
    lowered = planned(graph, likes_nhwc, conversion_ns=10**8)
    assert not any(map(is_transpose, lowered.graph.ops))


@pytest.mark.parametrize("every", [7, long(1)])
def test_each_candidate_alone_means_the_same(graph: Graph, every: int) -> None:
    """Make candidates free in turn: what the solver builds around each is right."""
    space = explore(graph, HOST)
    for favourite in space.candidates[::every]:
        lowered = planned(graph, _free_for(favourite), conversion_ns=1)
        got, expected = meaning(graph, lowered)
        assert np.allclose(
            np.asarray(got), np.asarray(expected), rtol=1e-4, atol=1e-4
        )  # Winograd rounds


def test_alternatives_of_a_strided_convolution(graph: Graph) -> None:
    def likes_matmuls(space: Space, candidate: Candidate) -> int:
        root = space.clusters[candidate.cluster].root
        op = space.egraph.graph.ops[root]
        windowed = isinstance(op, Structured) and op.is_contraction and is_windowed(op)
        return 1000 if windowed or not space.egraph.rule[root] else 1

    lowered = planned(graph, likes_matmuls, conversion_ns=1)
    assert any(isinstance(op, Slice) for op in lowered.graph.ops)
    contractions = [
        op for op in lowered.graph.ops if isinstance(op, Structured) and op.is_contraction
    ]
    assert all(len(form.terms) == 1 for op in contractions for m in op.maps for form in m)
    got, expected = meaning(graph, lowered)
    assert got == expected


def test_a_weight_budget_of_nothing_keeps_the_weights_as_they_are(graph: Graph) -> None:
    lowered = planned(graph, likes_nhwc, conversion_ns=100, budget=0)
    assert not lowered.hoisted
    got, expected = meaning(graph, lowered)
    assert got == expected


def test_conversions_start_where_the_tensor_is_made(graph: Graph) -> None:
    space = explore(graph, HOST)
    found = needed_conversions(space.egraph.graph, space.clusters, space.candidates)
    tensor = graph.inputs[0]
    assert {c.source for c in found if c.tensor == tensor} == {row_major(4)}
