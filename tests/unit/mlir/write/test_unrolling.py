"""Loops whose trips run several steps."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from layoutopt.mlir.module import parse_module
from layoutopt.mlir.read.nested import nested_ops
from tests.splicing import unchanged

H = "tensor<4x8xf32>"


def text(steps: range, body: str, result: str = H) -> str:
    return f"""
func.func @main(%x: {H}, %p: i1) -> {result} {{
  %low = arith.constant {steps.start} : index
  %high = arith.constant {steps.stop} : index
  %by = arith.constant {steps.step} : index
  %e = tensor.empty() : {H}
  %r = scf.for %i = %low to %high step %by iter_args(%h = %x) -> ({H}) {{
    {body}
  }}
  return %r : {H}
}}"""


TANH = f"%t = linalg.map {{ math.tanh }} ins(%h : {H}) outs(%e : {H}) scf.yield %t : {H}"
MANY = (
    "".join(
        f"%t{n + 1} = linalg.map {{ math.tanh }} ins(%t{n} : {H}) outs(%e : {H})\n"
        for n in range(30)
    ).replace("%t0", "%h")
    + f"scf.yield %t30 : {H}"
)
BRANCH = f"""
  %q = scf.if %p -> ({H}) {{ {TANH} }} else {{ scf.yield %h : {H} }}
  scf.yield %q : {H}
"""
MOVED = """
  %s = tensor.empty() : tensor<8x4xf32>
  %m = linalg.transpose ins(%h : tensor<4x8xf32>) outs(%s : tensor<8x4xf32>) permutation = [1, 0]
  %k = linalg.map { math.exp } ins(%m : tensor<8x4xf32>) outs(%s : tensor<8x4xf32>)
  %o = linalg.transpose ins(%k : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) permutation = [1, 0]
  scf.yield %o : tensor<4x8xf32>
"""


@pytest.mark.parametrize(
    ("steps", "body", "trips"),
    [
        (range(7), TANH, [7]),  # all in one
        (range(200), TANH, [200]),
        (range(100), MANY, [50] * 2),  # none is left over
        (range(73), MANY, [68] + [1] * 5),
        (range(101), MANY, [68] + [8] * 4 + [1]),
        (range(3, 3 + 101 * 4, 4), MANY, [68] + [8] * 4 + [1]),
        (range(7), MOVED, [1] * 7),
        (range(7), BRANCH, [1] * 7),  # blocks inside
    ],
)
def test_each_step_is_run_once(tmp_path: Path, steps: range, body: str, trips: list[int]) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(text(steps, body), encoding="utf-8")
    module = parse_module(path)
    module.replace_all({place: unchanged(graph) for place, graph in enumerate(module.graphs)})
    found = module.unroll()
    assert module.operation.verify()
    assert found == ({} if trips[0] == 1 else {"main/for.0": trips[0]})
    (tmp_path / "again.mlir").write_text(str(module.operation), encoding="utf-8")
    ops = body.count("math.")
    ran: list[int] = []
    seen: list[int] = []
    again = parse_module(tmp_path / "again.mlir")
    for lifted in again.blocks:
        counted = None if lifted.steps is None else lifted.steps.values
        if counted is None or "if" in lifted.shown:
            continue
        run = sum(op.name.startswith("math.") for op in nested_ops(lifted.block.owner.operation))
        ran += [run // ops] * len(counted)
        seen += [*counted]
    assert ran == trips
    assert seen[0] == steps[0]
    assert seen == sorted(set(seen))


OF_CONSTANTS = f"""
  %w = arith.constant dense<2.0> : tensor<8x4xf32>
  %t = linalg.transpose ins(%w : tensor<8x4xf32>) outs(%e : {H}) permutation = [1, 0]
  %s = tensor.empty() : {H}
  %u = linalg.map {{ arith.addf }} ins(%t, %v : {H}, {H}) outs(%s : {H})
  %o = linalg.map {{ arith.addf }} ins(%h, %u : {H}, {H}) outs(%s : {H})
  scf.yield %o : {H}
"""


WEIGHT = "util.global private @w = dense<2.0> : tensor<8x4xf32>"
LOADED = "util.global.load immutable @w : tensor<8x4xf32>"


@pytest.mark.parametrize("loaded", [True, False])
@pytest.mark.parametrize("constant", [True, False])
def test_what_is_computed_of_constants_stands_ahead_of_its_loop(
    tmp_path: Path, constant: bool, loaded: bool
) -> None:
    """Once, and not in each step of a trip."""
    other = f"arith.constant dense<3.0> : {H}"
    body = OF_CONSTANTS if constant else OF_CONSTANTS.replace("%v :", "%x :")
    if loaded:
        body = body.replace("arith.constant dense<2.0> : tensor<8x4xf32>", LOADED)
    path = tmp_path / "model.mlir"
    path.write_text(WEIGHT + text(range(7), f"%v = {other}\n{body}"), encoding="utf-8")
    module = parse_module(path)
    module.replace_all({place: unchanged(graph) for place, graph in enumerate(module.graphs)})
    assert module.unroll() == {"main/for.0": 7}
    assert module.operation.verify()
    (loop,) = (op for op in nested_ops(module.operation) if op.name == "scf.for")

    def counts(name: str) -> tuple[int, int]:
        """In the loop, and ahead of it."""
        inside = sum(op.name == name for op in nested_ops(loop))
        return inside, sum(op.name == name for op in nested_ops(module.operation)) - inside

    assert counts("linalg.transpose") == (0, 1)
    assert counts("arith.addf") == ((7, 1) if constant else (14, 0))


def test_a_loop_over_an_open_size_has_one_for_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    opened = text(range(7), TANH).replace("%p: i1", "%p: i1, %y: tensor<?x8xf32>")
    dim = "%c0 = arith.constant 0 : index\n%high = tensor.dim %y, %c0 : tensor<?x8xf32>"
    path.write_text(opened.replace("%high = arith.constant 7 : index", dim), encoding="utf-8")
    module = parse_module(path)
    module.replace_all({place: unchanged(graph) for place, graph in enumerate(module.graphs)})
    assert module.unroll() == {"main/for.0": 32}
    assert module.operation.verify()
    loops = [op for op in nested_ops(module.operation) if op.name == "scf.for"]
    counts = [sum(op.name == "math.tanh" for op in nested_ops(loop)) for loop in loops]
    assert counts == [32, 8, 1]
    for one, behind in itertools.pairwise(loops):
        assert behind.operands[0] == one.operands[1]
        assert behind.operands[3] == one.results[0]
