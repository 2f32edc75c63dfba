"""What several choices compute of the same tensors."""

from __future__ import annotations

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.explore import explore
from layoutopt.candidates.form import Form
from layoutopt.candidates.made_once import made_before
from layoutopt.ir.graph import GraphBuilder, Structured
from layoutopt.profiles.target import load_target
from layoutopt.rules.rewrites.examples import counted
from layoutopt.rules.rewrites.product import contraction

ROWS, TERMS = 64, 512


def test_sums_of_parts_of_one_input_are_made_once() -> None:
    """Two products of one tensor: Strassen's sums of it are the same, those of weights are not."""
    builder = GraphBuilder()
    x = builder.tensor((ROWS, TERMS), "f32")
    made = []
    for columns in (512, 1024):
        w = builder.tensor((TERMS, columns), "f32")
        builder.add(counted(w, (TERMS, columns)))
        made.append(builder.tensor((ROWS, columns), "f32"))
        sizes = {0: ROWS, 1: columns, 2: TERMS}
        loops = ((0, 2), (2, 1), (0, 1))
        builder.add(contraction((x, w), loops, made[-1], sizes, ("f32",) * 3))
    space = explore(builder.build((x,), made), load_target("x86-64-avx512"))
    halved: dict[int, Candidate] = {}
    for candidate in space.candidates:
        cluster = space.clusters[candidate.cluster]
        if cluster.atomic:
            halved.setdefault(cluster.outputs[0], candidate)
    forms = {c.form for c in space.candidates if space.clusters[c.cluster].atomic}
    assert Form.PANELS in forms
    assert Form.DATA_TILED not in forms  # IREE packs whole slices on the stack
    first, second = halved[made[0]], halved[made[1]]
    again = made_before(space.egraph.graph, space.clusters, [first, second])
    assert again[first] == ()
    (sums,) = (op for op in again[second] if isinstance(op, Structured))
    assert sums.domain == (ROWS // 2, TERMS // 2)
    assert len(sums.results) == 5
