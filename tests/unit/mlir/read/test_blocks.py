"""Blocks of control flow are graphs of their own, which know what they capture."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from layoutopt.ir.graph import Constant, Graph, kind_name
from layoutopt.ir.size import symbols
from layoutopt.mlir.module import Module, parse_module
from layoutopt.mlir.read.lift import Lifted

H = "tensor<4x8xf32>"
W = "tensor<8x8xf32>"
D = "tensor<?x8xf32>"
HEAD = f"""
util.global private @u = dense<0.5> : {W}
func.func @main(%x: {H}, %y: {D}, %s: f32, %n: index, %p: i1) -> {H} {{
  %w = arith.constant dense_resource<w> : {W}
  %u = util.global.load immutable @u : {W}
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %e = tensor.empty() : {H}
  %f = linalg.fill ins(%zero : f32) outs(%e : {H}) -> {H}
"""


def matmul(result: str, h: str, w: str = "%w", into: str = "%f") -> str:
    return f"{result} = linalg.matmul ins({h}, {w} : {H}, {W}) outs({into} : {H}) -> {H}\n"


def parsed(folder: Path, body: str, returned: str = "%r") -> Module:
    path = folder / "model.mlir"
    path.write_text(f"{HEAD}{body}  return {returned} : {H}\n}}", encoding="utf-8")
    return parse_module(path)


def block(module: Module, name: str) -> Lifted:
    return module.blocks[module.names.index(name)]


def kinds(lifted: Lifted) -> list[str]:
    return [kind_name(op) for op in lifted.graph.ops]


def test_the_body_of_a_loop_is_a_graph(tmp_path: Path) -> None:
    module = parsed(
        tmp_path,
        f"""%r = scf.for %i = %c0 to %c7 step %c2 iter_args(%h = %x) -> ({H}) {{
          {matmul("%m", "%h")} scf.yield %m : {H}
        }}""",
    )
    assert module.names == ("main", "main/for.0")
    body = block(module, "main/for.0")
    assert kinds(body) == ["constant", "contraction"]
    assert [str(body.graph.types[t]) for t in body.graph.inputs] == ["tensor<4x8xf32>"]
    assert body.graph.outputs == body.graph.ops[-1].outputs
    assert body.graph.fixed == {*body.graph.inputs, *body.graph.outputs}
    assert (body.function, body.enclosing, body.trips) == ("main", "main", 4)
    outer = block(module, "main")
    assert "scf.for" in [getattr(op, "name", "") for op in outer.graph.ops]


def test_what_is_computed_of_constants_is_constant_inside(tmp_path: Path) -> None:
    module = parsed(
        tmp_path,
        f"""%te = tensor.empty() : {W}
        %t = linalg.transpose ins(%w : {W}) outs(%te : {W}) permutation = [1, 0]
        %b = linalg.map {{ math.exp }} ins(%x : {H}) outs(%e : {H})
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%h = %x) -> ({H}) {{
          {matmul("%m", "%h", "%t")}
          {matmul("%o", "%m", "%u")}
          %a = linalg.map {{ arith.addf }} ins(%o, %b : {H}, {H}) outs(%e : {H})
          scf.yield %a : {H}
        }}""",
    )
    body = block(module, "main/for.0")
    weights = {op.result for op in body.graph.ops if isinstance(op, Constant)}
    assert len(weights) == 2
    first, second = (op for op in body.graph.ops if kind_name(op) == "contraction")
    assert {first.inputs[1], second.inputs[1]} <= body.graph.constants
    assert len(body.graph.inputs) == 2, "what is carried, and what is computed outside"
    assert body.trips is None


def test_both_branches_and_what_is_nested(tmp_path: Path) -> None:
    module = parsed(
        tmp_path,
        f"""%r = scf.if %p -> ({H}) {{
          %q = scf.for %i = %c0 to %c2 step %c1 iter_args(%h = %x) -> ({H}) {{
            {matmul("%m", "%h")} scf.yield %m : {H}
          }}
          scf.yield %q : {H}
        }} else {{
          scf.yield %f : {H}
        }}""",
    )
    names = ("main", "main/if.0.then", "main/if.0.then/for.0", "main/if.0.else")
    assert module.names == names
    assert block(module, names[2]).enclosing == names[1]
    assert kinds(block(module, names[2])) == ["constant", "contraction"]
    assert module.runs() == (1, 1, 2, 1)


def test_both_regions_of_a_while_loop(tmp_path: Path) -> None:
    module = parsed(
        tmp_path,
        f"""%r:2 = scf.while (%h = %x) : ({H}) -> ({H}, {H}) {{
          {matmul("%m", "%h")}
          %v = tensor.extract %m[%c0, %c0] : {H}
          %t = arith.cmpf olt, %v, %s : f32
          scf.condition(%t) %m, %h : {H}, {H}
        }} do {{
        ^bb0(%a: {H}, %b: {H}):
          %k = linalg.map {{ arith.addf }} ins(%a, %b : {H}, {H}) outs(%e : {H})
          scf.yield %k : {H}
        }}""",
        "%r#1",
    )
    assert module.names == ("main", "main/while.0.condition", "main/while.0.body")
    condition, body = module.blocks[1:]
    assert len(condition.graph.outputs) == 2
    assert len(body.graph.inputs) == 2
    assert module.runs({"main/while.0.body": 5}) == (1, 1, 5)
    assert module.uncounted == {name: (name,) for name in module.names[1:]}


def test_the_cases_of_a_switch(tmp_path: Path) -> None:
    module = parsed(
        tmp_path,
        f"""%r = scf.index_switch %n -> {H}
        case 3 {{ {matmul("%m", "%x")} scf.yield %m : {H} }}
        default {{ scf.yield %x : {H} }}""",
    )
    assert module.names[1:] == ("main/index_switch.0.default", "main/index_switch.0.case.0")


def test_captured_sizes_keep_their_symbols(tmp_path: Path) -> None:
    module = parsed(
        tmp_path,
        f"""%d = tensor.dim %y, %c0 : {D}
        %z = scf.for %i = %c0 to %n step %c1 iter_args(%h = %y) -> ({D}) {{
          %ei = tensor.empty(%d) : {D}
          %fi = linalg.fill ins(%s : f32) outs(%ei : {D}) -> {D}
          %m = linalg.matmul ins(%y, %w : {D}, {W}) outs(%fi : {D}) -> {D}
          scf.yield %m : {D}
        }}""",
        "%x",
    )
    graph = block(module, "main/for.0").graph
    assert _open_sizes(graph, graph.outputs) == {"arg1.0"}
    assert _open_sizes(graph, graph.inputs) == {"arg1.0"}


def _open_sizes(graph: Graph, tensors: Iterable[int]) -> set[str]:
    return {s.name for t in tensors for n in graph.types[t].shape for s in symbols(n)}


BRANCHES = f"""
  %b = linalg.map {{ math.exp }} ins(%x : {H}) outs(%e : {H})
  %d = tensor.dim %y, %c0 : {D}
  %k = arith.muli %d, %c2 : index
  cf.cond_br %p, ^one, ^two(%x : {H})
^one:
  {matmul("%m", "%b")}
  cf.br ^two(%m : {H})
^two(%r: {H}):
  %g = tensor.empty(%k) : {D}
"""


def test_the_blocks_of_a_function_that_branches(tmp_path: Path) -> None:
    module = parsed(tmp_path, BRANCHES)
    assert module.names == ("main/block.0", "main/block.1", "main/block.2")
    assert module.branching == (("main", 3),)
    first, second, _ = module.blocks
    made = next(op for op in first.graph.ops if kind_name(op) == "elementwise")
    assert made.outputs[0] in first.graph.outputs, "another block reads it"
    assert kinds(second) == ["constant", "contraction"]
    assert (first.trips, second.trips) == (1, None)
    assert module.entry("main") == 0


@pytest.mark.parametrize("count", ["%n", "%c7"])
def test_names_do_not_depend_on_trip_counts(tmp_path: Path, count: str) -> None:
    module = parsed(
        tmp_path,
        f"""scf.for %i = %c0 to {count} step %c1 {{ }}
        %r = scf.for %i = %c0 to {count} step %c1 iter_args(%h = %x) -> ({H}) {{
          scf.yield %h : {H}
        }}""",
    )
    assert module.names == ("main", "main/for.0", "main/for.1")
