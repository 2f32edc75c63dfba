"""What a loop computes of its step alone stands ahead of it in what is planned."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.ir.graph import Graph, Structured
from layoutopt.mlir.module import Module, parse_for_planning, parse_module

H, W, S = "tensor<2x8xf32>", "tensor<8x8xf32>", "tensor<5x2x8xf32>"
HEAD = f"""
util.global private @u = dense_resource<u> : {W}
func.func @main(%xs: {S}, %h0: {H}, %p: i1, %n: index) -> {H} {{
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %e = tensor.empty() : {H}
  %f = linalg.fill ins(%zero : f32) outs(%e : {H}) -> {H}
"""
STEP = f"""
    %u = util.global.load immutable @u : {W}
    %x = tensor.extract_slice %xs[%i, 0, 0] [1, 2, 8] [1, 1, 1] : {S} to {H}
    %a = linalg.matmul ins(%x, %u : {H}, {W}) outs(%f : {H}) -> {H}
    %b = linalg.matmul ins(%h, %u : {H}, {W}) outs(%a : {H}) -> {H}
    scf.yield %b : {H}
"""


def loop(body: str, high: str = "%c5") -> str:
    return f"%r = scf.for %i = %c0 to {high} step %c1 iter_args(%h = %h0) -> ({H}) {{{body}}}"


def read(folder: Path, body: str) -> Module:
    path = folder / "model.mlir"
    path.write_text(f"{HEAD}{body}\n  return %r : {H}\n}}", encoding="utf-8")
    return parse_for_planning(path)


def contractions(graph: Graph) -> int:
    return sum(isinstance(op, Structured) and op.is_contraction for op in graph.ops)


def counts(module: Module) -> dict[str, int]:
    return {b.shown: contractions(b.graph) for b in module.blocks}


def test_a_contraction_of_the_step_goes_ahead(tmp_path: Path) -> None:
    module = read(tmp_path, loop(STEP))
    assert module.operation.verify()
    assert module.ahead == {"main/for.0": 1}
    assert counts(module) == {"main": 1, "main/for.0": 1}
    (outside,) = (
        op for op in module.graphs[0].ops if isinstance(op, Structured) and op.is_contraction
    )
    assert outside.domain == (5, 2, 8, 8)


def test_a_contraction_that_is_the_same_in_all_steps_goes_ahead(tmp_path: Path) -> None:
    module = read(tmp_path, loop(STEP.replace("%xs[%i, 0, 0]", "%xs[%c0, 0, 0]")))
    assert module.operation.verify()
    assert module.ahead == {"main/for.0": 1}
    assert counts(module) == {"main": 1, "main/for.0": 1}
    assert "tensor.extract_slice" not in str(module.blocks[1].block)


def test_the_module_as_it_came_is_read_as_it_is(tmp_path: Path) -> None:
    read(tmp_path, loop(STEP))
    module = parse_module(tmp_path / "model.mlir")
    assert module.ahead == {}
    assert counts(module) == {"main": 0, "main/for.0": 2}


def test_a_loop_in_a_branch_keeps_it_inside(tmp_path: Path) -> None:
    module = read(
        tmp_path,
        f"%q = scf.if %p -> ({H}) {{ {loop(STEP)} scf.yield %r : {H} "
        f"}} else {{ scf.yield %f : {H} }}"
        f"%r = linalg.map {{ math.exp }} ins(%q : {H}) outs(%e : {H})",
    )
    assert module.operation.verify()
    assert counts(module)["main/if.0.then"] == 1
    assert counts(module)["main"] == 0


def test_of_nested_loops_it_goes_ahead_of_the_one_that_it_is_in(tmp_path: Path) -> None:
    inner = loop(STEP).replace("%r =", "%q =").replace("%h0", "%g")
    module = read(
        tmp_path,
        f"%r = scf.for %j = %c0 to %c5 step %c1 iter_args(%g = %h0) -> ({H}) "
        f"{{ {inner} scf.yield %q : {H} }}",
    )
    assert module.operation.verify()
    assert module.ahead == {"main/for.0/for.0": 1}
    assert counts(module) == {"main": 0, "main/for.0": 1, "main/for.0/for.0": 1}


@pytest.mark.parametrize(
    "body",
    [
        loop(STEP, high="%n"),  # not known how often
        loop(STEP.replace("[%i,", "[%k,").replace("%x =", "%k = arith.addi %i, %n : index\n%x =")),
        loop(STEP.replace("%x, %u", "%h, %u")),  # carried
    ],
)
def test_what_is_not_of_the_step_alone_stays(tmp_path: Path, body: str) -> None:
    assert read(tmp_path, body).ahead == {}


LAYER = f"""
    %v = tensor.extract_slice %ws[%i, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<5x8x8xf32> to {W}
    %a = linalg.matmul ins(%h, %v : {H}, {W}) outs(%f : {H}) -> {H}
    scf.yield %a : {H}
"""
STACK = "%ws = arith.constant dense_resource<ws> : tensor<5x8x8xf32>\n"


def test_a_loop_over_layers_is_none(tmp_path: Path) -> None:
    module = read(tmp_path, STACK + loop(LAYER))
    assert module.operation.verify()
    assert module.written_out == {"main/for.0": 5}
    assert module.names == ("main",)
    (graph,) = module.graphs
    found = [op for op in graph.ops if isinstance(op, Structured) and op.is_contraction]
    assert len(found) == 5
    assert all(op.sources[1] in graph.constants for op in found)


def test_layers_of_layers_are_written_out_too(tmp_path: Path) -> None:
    inner = loop(LAYER).replace("%r =", "%q =").replace("%h0", "%g")
    module = read(
        tmp_path,
        f"{STACK}%r = scf.for %j = %c0 to %c5 step %c1 iter_args(%g = %h0) -> ({H}) "
        f"{{ {inner} scf.yield %q : {H} }}",
    )
    assert module.operation.verify()
    assert module.written_out == {"main/for.0/for.0": 5}
    assert counts(module) == {"main": 0, "main/for.0": 5}


def test_a_loop_over_more_layers_than_a_plan_should_hold_stays(tmp_path: Path) -> None:
    many = STACK.replace("5x8x8", "5000x8x8") + loop(LAYER, high="%n")
    many = many.replace("tensor<5x8x8xf32>", "tensor<5000x8x8xf32>")
    module = read(
        tmp_path,
        many.replace("%n step", "%c5000 step").replace(
            "%ws =", "%c5000 = arith.constant 5000 : index\n%ws ="
        ),
    )
    assert module.written_out == {}
    assert module.names == ("main", "main/for.0")


def test_loops_may_count_in_any_integer(tmp_path: Path) -> None:
    body = STEP.replace("[%i,", "[%k,")
    text = loop(f"%k = arith.index_cast %i : i32 to index\n{body}").replace(
        f"-> ({H}) {{", f"-> ({H}) : i32 {{"
    )
    for name in ("%c0", "%c1", "%c5"):
        text = text.replace(f"{name} ", f"{name}i ", 1)
    counters = "".join(f"%c{n}i = arith.constant {n} : i32\n" for n in (0, 1, 5))
    module = read(tmp_path, counters + text)
    assert module.operation.verify()
    assert module.ahead == {"main/for.0": 1}


OPEN = """
func.func @main(%xs: tensor<?x?x8xf32>, %h0: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %u = arith.constant dense_resource<u> : tensor<8x8xf32>
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %xs, %c0 : tensor<?x?x8xf32>
  %b = tensor.dim %xs, %c1 : tensor<?x?x8xf32>
  %last = arith.subi %d, %c1 : index
  %e = tensor.empty(%b) : tensor<?x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = scf.for %i = %c0 to %d step %c1 iter_args(%h = %f) -> (tensor<?x8xf32>) {
    PLACE
    %x = tensor.extract_slice %xs[%k, 0, 0] [1, %b, 8] [1, 1, 1]
      : tensor<?x?x8xf32> to tensor<?x8xf32>
    %a = linalg.matmul ins(%x, %u : tensor<?x8xf32>, tensor<8x8xf32>)
      outs(%f : tensor<?x8xf32>) -> tensor<?x8xf32>
    %t = linalg.matmul ins(%h, %u : tensor<?x8xf32>, tensor<8x8xf32>)
      outs(%a : tensor<?x8xf32>) -> tensor<?x8xf32>
    scf.yield %t : tensor<?x8xf32>
  }
  return %r : tensor<?x8xf32>
}
"""
CLAMPED = """
    %n = arith.index_cast %i : index to i64
    %m = arith.index_cast %d : index to i64
    %z = arith.constant 0 : i64
    %below = arith.cmpi slt, %n, %z : i64
    %more = arith.addi %n, %m : i64
    %own = arith.select %below, %more, %n : i64
    %low = arith.maxsi %own, %z : i64
    %high = arith.minsi %low, %m : i64
    %k = arith.index_cast %high : i64 to index
"""


@pytest.mark.parametrize(
    ("place", "ahead"),
    [
        ("%k = arith.addi %i, %c0 : index", 1),
        ("%k = arith.subi %last, %i : index", 1),
        ("%k = arith.minsi %i, %last : index", 1),
        (CLAMPED, 1),
        ("%k = arith.addi %i, %c1 : index", 0),  # the last one lies outside
        ("%k = arith.muli %i, %i : index", 0),
    ],
)
def test_loops_over_open_sizes(tmp_path: Path, place: str, ahead: int) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(OPEN.replace("PLACE", place), encoding="utf-8")
    module = parse_for_planning(path)
    assert module.operation.verify()
    assert module.ahead == ({"main/for.0": 1} if ahead else {})
    assert counts(module) == {"main": ahead, "main/for.0": 2 - ahead}
