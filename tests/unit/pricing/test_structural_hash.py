"""Equal clusters are worked out once, and what is worked out is what each would have given."""

from __future__ import annotations

from layoutopt.candidates.candidate import physical_form
from layoutopt.candidates.explore import explore
from layoutopt.ir.affine import affine, dim, plain_map
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, IteratorType, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import contraction_body
from layoutopt.pricing.benchmarks import candidate_benchmark
from layoutopt.pricing.prices import candidate_work
from layoutopt.profiles.target import load_target

HOST = load_target("host")
_P, _R = IteratorType.PARALLEL, IteratorType.REDUCTION


def convolutions() -> Graph:
    """Two equal 3x3 convolutions of two images, and one with other channels."""
    builder = GraphBuilder()
    inputs, outputs = [], []
    windows = (affine([(2, 1), (5, 1)]), affine([(3, 1), (6, 1)]))
    for filters in (4, 4, 8):
        image = builder.tensor((1, 4, 12, 12), "f32")
        weight = builder.tensor((filters, 4, 3, 3), "f32")
        made = builder.tensor((1, filters, 10, 10), "f32")
        builder.add(
            Structured(
                (image, weight),
                (Fill("0.0 : f32"),),
                (made,),
                (1, filters, 10, 10, 4, 3, 3),
                (_P, _P, _P, _P, _R, _R, _R),
                ((dim(0), dim(4), *windows), plain_map((1, 4, 5, 6)), plain_map((0, 1, 2, 3))),
                contraction_body("f32", "f32", "f32"),
            )
        )
        inputs += [image, weight]
        outputs.append(made)
    return builder.build(inputs, outputs)


def test_work_is_that_of_each_candidate_by_itself() -> None:
    space = explore(convolutions(), HOST)
    graph = space.egraph.graph
    found, refused = candidate_work(graph, space.clusters, space.candidates, HOST, 7)
    assert len(found) + len(refused) == len(space.candidates)
    for candidate, work in found:
        cluster = space.clusters[candidate.cluster]
        form = physical_form(graph, cluster, candidate)
        assert not isinstance(form, Refusal)
        alone = candidate_benchmark(graph, cluster, candidate, form, HOST)
        assert work.benchmark.text == alone.text
        assert work.group == 7 + cluster.outputs[0]


def test_equal_candidates_share_their_form() -> None:
    space = explore(convolutions(), HOST)
    found, _ = candidate_work(space.egraph.graph, space.clusters, space.candidates, HOST, 0)
    forms = {id(work.form) for _, work in found}
    assert len(forms) < 0.75 * len(found), "the first two have every form in common"
