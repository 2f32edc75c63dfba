"""Sizes that control flow cannot change."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.ir.size import symbols
from tests.unit.mlir.read.test_blocks import D, block, parsed

EXP = f"""%d = tensor.dim %h, %c0 : {D}
    %o = tensor.empty(%d) : {D}
    %m = linalg.map {{ math.exp }} ins(%h : {D}) outs(%o : {D})"""
DOUBLE = f"%m = tensor.concat dim(0) %h, %h : ({D}, {D}) -> {D}"


def loop(body: str) -> str:
    return f"""%z = scf.for %i = %c0 to %c7 step %c1 iter_args(%h = %y) -> ({D}) {{
    {body}
    scf.yield %m : {D}
  }}"""


def loop_while(body: str) -> str:
    return f"""%z = scf.while (%h = %y) : ({D}) -> {D} {{
    {body}
    scf.condition(%p) %m : {D}
  }} do {{
  ^bb0(%k: {D}):
    scf.yield %k : {D}
  }}"""


def branch(one: str, other: str) -> str:
    return f"""%z = scf.if %p -> ({D}) {{
    %h = util.optimization_barrier %y : {D}
    {one}
    scf.yield %m : {D}
  }} else {{
    %h = util.optimization_barrier %y : {D}
    {other}
    scf.yield %m : {D}
  }}"""


def jumps(body: str) -> str:
    return f"""cf.br ^head(%y : {D})
  ^head(%h: {D}):
    {body}
    cf.cond_br %p, ^head(%m : {D}), ^exit(%m : {D})
  ^exit(%z: {D}):"""


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (loop(EXP), "arg1.0"),
        (loop(DOUBLE), "t0.0"),
        (loop(EXP.replace("ins(%h", "ins(%y")), "arg1.0"),
        (loop_while(EXP), "arg1.0"),
        (loop_while(DOUBLE), "t0.0"),
        (branch(EXP, EXP), "arg1.0"),
        (branch(DOUBLE, DOUBLE), "2*arg1.0"),
        (branch(EXP, DOUBLE), "t0.0"),
    ],
)
def test_results_have_the_sizes_that_stay(tmp_path: Path, text: str, size: str) -> None:
    after = f"""%n0 = tensor.dim %z, %c0 : {D}
      %n1 = tensor.empty(%n0) : {D}
      %n2 = linalg.map {{ math.exp }} ins(%z : {D}) outs(%n1 : {D})
      util.optimization_barrier %n2 : {D}"""
    graph = block(parsed(tmp_path, f"{text}\n{after}", "%x"), "main").graph
    found = graph.types[graph.ops[-2].outputs[0]].shape[0]
    assert str(found) == size if "t0" not in size else "arg1.0" not in map(str, symbols(found))


@pytest.mark.parametrize(("body", "stays"), [(EXP, True), (DOUBLE, False)])
def test_arguments_of_branches_have_the_sizes_that_stay(
    tmp_path: Path, body: str, stays: bool
) -> None:
    module = parsed(tmp_path, jumps(body), "%x")
    for name in ("main/block.1", "main/block.2"):
        (argument,) = block(module, name).block.arguments
        lifted = block(module, name)
        sizes = lifted.sizes.shape_of(argument)
        assert sizes is not None
        assert (str(sizes[0]) == "block.0.arg1.0") == stays
