"""What IREE makes vectors of, seen in the assembly that it writes for AVX2 on any machine."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from layoutopt.compiler.installed import quirks
from layoutopt.ir.affine import affine, dim, identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.mlir.write.emit import function_text
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import find_tool

ARITHMETIC = re.compile(r"\bv(?:add|mul|fmadd\d+)([ps])s\b")
KERNEL = re.compile(r"^f_dispatch\S*:$.*?^\s*\.size\b", re.MULTILINE | re.DOTALL)
"""The code of a dispatch, in a file that has some of a mathematical library as well."""
P, R = IteratorType.PARALLEL, IteratorType.REDUCTION


def reads_a_stride_apart() -> Graph:
    """One row of the transform of an image's tiles: 8x8 of them, four elements apart."""
    g = GraphBuilder()
    x, y = g.tensor((34, 34, 64), "f32"), g.tensor((8, 8, 64), "f32")
    reads = [(affine([(0, 4)], i), affine([(1, 4)], j), dim(2)) for i in (0, 2) for j in (1, 3)]
    adds = tuple(ScalarOp("arith.addf", pair, "f32") for pair in ((0, 1), (2, 3), (5, 6)))
    body = Body(("f32",) * 5, adds, (7,))
    maps = (*reads, identity_map(3))
    g.add(Structured((x,) * 4, (Uninitialized(),), (y,), (8, 8, 64), (P, P, P), maps, body))
    return g.build((x,), (y,))


def squares_along_an_outer_loop() -> Graph:
    """The sums of squares of 32 channels of 8 images."""
    g = GraphBuilder()
    x, y = g.tensor((8, 128, 32), "f32"), g.tensor((8, 32), "f32")
    square = ScalarOp("arith.mulf", (0, 0), "f32")
    body = Body(("f32", "f32"), (square, ScalarOp("arith.addf", (1, 2), "f32")), (3,))
    maps, zero = (plain_map([0, 2, 1]), plain_map([0, 1])), (Fill("0.0 : f32"),)
    g.add(Structured((x,), zero, (y,), (8, 32, 128), (P, P, R), maps, body))
    return g.build((x,), (y,))


@pytest.mark.parametrize("graph", [reads_a_stride_apart(), squares_along_an_outer_loop()])
def test_all_arithmetic_is_in_vectors(graph: Graph, tmp_path: Path) -> None:
    source = tmp_path / "one.mlir"
    source.write_text(function_text(graph, graph.inputs, graph.outputs, "f"))
    command = [find_tool("iree-compile"), str(source), "-o", str(tmp_path / "one.vmfb")]
    flags = [*load_target("x86-64-avx2").flags, f"{quirks().flags.dump}{tmp_path}"]
    subprocess.run([*command, *flags], capture_output=True, timeout=120, check=True)
    (assembly,) = tmp_path.glob("*.s")
    (kernel,) = KERNEL.findall(assembly.read_text())
    found = Counter(ARITHMETIC.findall(kernel))
    assert found["p"] > 0
    assert found["s"] == 0
