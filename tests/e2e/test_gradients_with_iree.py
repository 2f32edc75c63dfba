"""Gradients in the form that torch-mlir gives them, and what IREE's own passes get wrong, as run.

All functions of a kind stand in one module, for compiling is what takes time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from iree import compiler, runtime

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.explore import Space
from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.types import Array
from layoutopt.mlir.module import exported_name, has_work, parse_module
from layoutopt.runtime.element import parse_tensor_type
from tests.interior_padding_text import (
    BROADCAST,
    FILL,
    ONES,
    PAD,
    SPLAT,
    add_one,
    around,
    mapped,
    second_user,
)
from tests.planning import planned
from tests.torch_dialect import CASES, linalg_of

WRONG_OR_REFUSED = {
    "fill": around(FILL, add_one()),
    "not_zero": around(ONES, add_one()),
    "splat": around(SPLAT, mapped("math.cos")),
    "broadcast": around(BROADCAST, mapped("math.exp")),
    "pad": around(PAD, add_one()),
    "permuted": around(
        SPLAT, add_one("tensor<5x2x6x6xf32>"), "tensor<5x2x6x6xf32>", "(f, n, h, w)"
    ),
    "two_users": around(SPLAT, second_user()),
}


def likes_what_rules_made(space: Space, candidate: Candidate) -> int:
    """The model's own contractions are dear, and so are im2col copies: phases are chosen."""
    root = space.clusters[candidate.cluster].root
    op = space.egraph.graph.ops[root]
    if space.clusters[candidate.cluster].region:  # some do not compile; only a measurement tells
        return 10**6
    if isinstance(op, Structured) and op.is_contraction and not space.egraph.rule[root]:
        return 10**6
    return 1000 if "convolution-to-im2col" in space.egraph.rule[root] else 10


def rewritten(source: Path, output: Path) -> int:
    """Plan every function so that rewrites are cheap; how much is multiplied then."""
    module = parse_module(source)
    planned_graphs = []
    for place, graph in enumerate(module.graphs):
        if has_work(graph):
            lowered = planned(graph, likes_what_rules_made, conversion_ns=10**4)
            module.replace(place, lowered)
            planned_graphs.append(lowered.graph)
    module.write(output, ())
    return multiplications(planned_graphs)


def multiplications(graphs: Iterable[Graph]) -> int:
    return sum(
        math.prod(op.domain)
        for graph in graphs
        for op in graph.ops
        if isinstance(op, Structured) and op.is_contraction
    )


def compiled(source: Path, phase: str) -> runtime.VmModule:
    binary = compiler.tools.compile_file(
        str(source),
        target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=host", f"--compile-from={phase}"],
    )
    return runtime.load_vm_flatbuffer(binary, driver="local-sync")


def assert_runs_the_same(source: Path, folder: Path, phase: str) -> None:
    output = folder / "rewritten.mlir"
    functions = parse_module(source)
    assert 2 * rewritten(source, output) < multiplications(functions.graphs)
    original, other = compiled(source, phase), compiled(output, phase)
    for place, graph in enumerate(functions.graphs):
        types = functions.boundary(place).types
        opaque = [t for t in types if not t.startswith("tensor<")]  # what such a view holds is open
        if opaque or not has_work(graph):
            continue
        name = exported_name(functions.names[place])
        kinds = map(parse_tensor_type, types)
        shapes = [tuple(n for n in kind.shape if n is not None) for kind in kinds]
        values = [_values(shape, i) for i, shape in enumerate(shapes)]
        wanted, found = (np.asarray(m[name](*values)) for m in (original, other))
        assert np.allclose(found, wanted, rtol=1e-6, atol=1e-4), name


def _values(shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)


@pytest.mark.long
def test_gradients_of_torch(tmp_path: Path) -> None:
    source = tmp_path / "torch.mlir"
    source.write_text(linalg_of([CASES[i] for i in (1, 2, 3, 7)]))
    assert_runs_the_same(source, tmp_path, "input")


def test_where_passes_of_iree_are_wrong_or_refuse(tmp_path: Path) -> None:
    source = tmp_path / "wrong.mlir"
    texts = [re.sub(r"@f\b", f"@{name}", text) for name, text in WRONG_OR_REFUSED.items()]
    source.write_text("\n".join(texts))
    assert_runs_the_same(source, tmp_path, "start")
