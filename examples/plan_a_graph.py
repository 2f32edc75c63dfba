"""Plan a graph that is built by hand, stage by stage: no file, no MLIR.

python examples/plan_a_graph.py
"""

from __future__ import annotations

from pathlib import Path

import layoutopt
from layoutopt.ir.affine import plain_map
from layoutopt.ir.graph import Fill, IteratorType, Structured
from layoutopt.ir.scalar import contraction_body

M, N, K = 256, 512, 128
PARALLEL, REDUCTION = IteratorType.PARALLEL, IteratorType.REDUCTION


def matmul(
    builder: layoutopt.GraphBuilder, lhs: int, rhs: int, m: int, n: int, k: int
) -> int:  # fmt: skip
    """``y[m, n] += x[m, k] * w[k, n]`` from zero."""
    result = builder.tensor((m, n), "f32")
    maps = (plain_map([0, 2]), plain_map([2, 1]), plain_map([0, 1]))
    builder.add(
        Structured(
            sources=(lhs, rhs),
            inits=(Fill("0.000000e+00 : f32"),),
            results=(result,),
            domain=(m, n, k),
            iterators=(PARALLEL, PARALLEL, REDUCTION),
            maps=maps,
            body=contraction_body("f32", "f32", "f32"),
        )
    )
    return result


def main(cache: Path | None = None) -> layoutopt.GraphPlan:
    """Two matmuls, one after the other, on a GPU that is not here."""
    options = layoutopt.Options(cache=cache)
    builder = layoutopt.GraphBuilder()
    x = builder.tensor((M, K), "f32")
    w, v = builder.tensor((K, N), "f32"), builder.tensor((N, K), "f32")
    hidden = matmul(builder, x, w, M, N, K)
    result = matmul(builder, hidden, v, M, K, N)
    graph = builder.build(inputs=(x, w, v), outputs=(result,))

    space = layoutopt.enumerate(graph, "mi355x", options)
    with layoutopt.prices("mi355x", options) as pricer:
        priced = layoutopt.price(space, pricer, options)
    plan = layoutopt.select(space, priced, options)

    print(f"{len(space.candidates)} candidates, {plan.solution.status.value}")
    for candidate in plan.choice.candidates:
        root = plan.clusters[candidate.cluster].root
        print(f"{plan.egraph.graph.name_of(root)}: {plan.form_name(candidate)}")
    return plan


if __name__ == "__main__":
    main()
