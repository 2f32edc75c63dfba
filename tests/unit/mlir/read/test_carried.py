"""What control flow hands on: which tensors of which blocks are one."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
from iree.compiler import ir

from layoutopt.mlir.module import Module, parse_module
from tests.unit.mlir.read.test_blocks import H, matmul, parsed

FOR = f"""%r = scf.for %i = %c0 to %c7 step %c1 iter_args(%h = %x) -> ({H}) {{
    {matmul("%m", "%h")}
    scf.yield %m : {H}
  }}"""
IF = f"""%r = scf.if %p -> ({H}) {{
    {matmul("%m", "%x")} scf.yield %m : {H}
  }} else {{
    scf.yield %x : {H}
  }}"""
WHILE = f"""%r = scf.while (%h = %x) : ({H}) -> {H} {{
    scf.condition(%p) %h : {H}
  }} do {{
  ^bb0(%k: {H}):
    {matmul("%m", "%k")}
    scf.yield %m : {H}
  }}"""
INSIDE = f"""%b = linalg.map {{ math.exp }} ins(%x : {H}) outs(%e : {H})
  %r = scf.for %i = %c0 to %c7 step %c1 iter_args(%h = %x) -> ({H}) {{
    %q = scf.for %j = %c0 to %c7 step %c1 iter_args(%k = %h) -> ({H}) {{
      %a = linalg.map {{ arith.addf }} ins(%k, %b : {H}, {H}) outs(%e : {H})
      scf.yield %a : {H}
    }}
    scf.yield %q : {H}
  }}"""
BRANCH = f"""cf.cond_br %p, ^one, ^two(%x : {H})
  ^one:
    {matmul("%m", "%x")}
    cf.br ^two(%m : {H})
  ^two(%r: {H}):
"""
DYNAMIC = """%r = scf.for %i = %c0 to %c7 step %c1 iter_args(%h = %y) -> (tensor<?x8xf32>) {
    %d = tensor.dim %h, %c0 : tensor<?x8xf32>
    %o = tensor.empty(%d) : tensor<?x8xf32>
    %m = linalg.map { math.exp } ins(%h : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>)
    scf.yield %m : tensor<?x8xf32>
  }"""

GROWING = """%r = scf.for %i = %c0 to %c7 step %c1 iter_args(%h = %y) -> (tensor<?x8xf32>) {
    %m = tensor.concat dim(0) %h, %h : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    scf.yield %m : tensor<?x8xf32>
  }"""
SWITCH = f"""%flag = arith.index_cast %n : index to i32
  cf.switch %flag : i32, [
    default: ^one,
    1: ^two(%x, %w : {H}, tensor<8x8xf32>),
    2: ^three(%x : {H})
  ]
  ^one:
    cf.br ^two(%x, %w : {H}, tensor<8x8xf32>)
  ^two(%g: {H}, %v: tensor<8x8xf32>):
    {matmul("%m", "%g", "%v")}
    cf.br ^three(%m : {H})
  ^three(%r: {H}):
"""


def places(module: Module) -> dict[str, tuple[list[str], list[str]]]:
    """By name, the blocks in which each carried tensor is made and read."""
    return {
        c.tensor.name: (
            [module.names[block] for block, _ in c.tensor.made],
            [module.names[block] for block, _ in c.tensor.read],
        )
        for c in module.carried
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (FOR, {"main/for.0 0": (["main/for.0", "main"], ["main", "main/for.0"])}),
        (
            WHILE,
            {
                "main/while.0 0": (["main/while.0.condition"], ["main", "main/while.0.body"]),
                "main/while.0 result 0": (
                    ["main/while.0.body", "main"],
                    ["main/while.0.condition"],
                ),
            },
        ),
        (IF, {"main/if.0 0": (["main"], ["main/if.0.then", "main/if.0.else"])}),
        (
            INSIDE,
            {
                "main/for.0 0": (["main/for.0", "main"], ["main", "main/for.0"]),
                "main/for.0/for.0 0": (
                    ["main/for.0/for.0", "main/for.0"],
                    ["main/for.0", "main/for.0/for.0"],
                ),
                "main captured 0": (["main/for.0", "main/for.0/for.0"], ["main"]),
            },
        ),
        (BRANCH, {"main/block.2 0": (["main/block.2"], ["main/block.0", "main/block.1"])}),
        (
            SWITCH,
            {
                "main/block.2 0": (["main/block.2"], ["main/block.0", "main/block.1"]),
                "main/block.2 1": (["main/block.2"], ["main/block.0", "main/block.1"]),
                "main/block.3 0": (["main/block.3"], ["main/block.0", "main/block.2"]),
            },
        ),
        (DYNAMIC, {"main/for.0 0": (["main/for.0", "main"], ["main", "main/for.0"])}),
        (GROWING, {}),
    ],
    ids=["for", "while", "if", "captured", "branch", "switch", "dynamic", "growing"],
)
def test_places_of_one_tensor(
    tmp_path: Path, body: str, expected: dict[str, tuple[list[str], list[str]]]
) -> None:
    returned = "%x" if body in (DYNAMIC, GROWING) else "%r"
    assert places(parsed(tmp_path, body, returned)) == expected


def test_what_else_is_read_outside_is_known(tmp_path: Path) -> None:
    module = parsed(tmp_path, f"{FOR}\n {matmul('%z', '%r')}")
    main, loop = module.graphs
    (carried,) = module.carried
    (yielded,) = (t for block, t in carried.tensor.read if block == 1)
    (result,) = (t for block, t in carried.tensor.made if block == 0)
    assert loop.handed_only == {yielded: {"main/for.0 0"}}
    assert result in main.outputs
    assert result not in main.handed_only


CALLED = f"""
func.func private @step(%h: {H}, %w: tensor<8x8xf32>) -> {H} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {H}
  %f = linalg.fill ins(%zero : f32) outs(%e : {H}) -> {H}
  {matmul("%m", "%h")}
  return %m : {H}
}}
func.func @main(%x: {H}, %w: tensor<8x8xf32>) -> {H} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %a = func.call @step(%x, %w) : ({H}, tensor<8x8xf32>) -> {H}
  %r = scf.for %i = %c0 to %c7 step %c1 iter_args(%h = %a) -> ({H}) {{
    %b = func.call @step(%h, %w) : ({H}, tensor<8x8xf32>) -> {H}
    scf.yield %b : {H}
  }}
  return %r : {H}
}}
"""


def module_of(folder: Path, text: str) -> Module:
    path = folder / "model.mlir"
    path.write_text(text)
    return parse_module(path)


def test_callers_and_a_private_function_hand_on_one_tensor(tmp_path: Path) -> None:
    module = module_of(tmp_path, CALLED)
    found = places(module)
    assert found["step argument 0"] == (["step"], ["main", "main/for.0"])
    assert found["step result 0"] == (["main", "main/for.0"], ["step"])
    assert dict(zip(module.names, module.runs(), strict=True)) == {
        "step": 8,
        "main": 1,
        "main/for.0": 7,
    }


@pytest.mark.parametrize(
    "text",
    [
        CALLED.replace("func.func private", "func.func"),
        CALLED.replace("func.func @main", "func.func @other() attributes {f = @step} "
                       "{ return }\nfunc.func @main"),
        CALLED.replace(f"private @step(%h: {H}", f"private @step(%h: {H} "
                       "{iree.abi.affinity = 1}"),
        CALLED.replace("<4x8xf32>", "<?x8xf32>").replace(
            "%e = tensor.empty()",
            "%c = arith.constant 0 : index %d = tensor.dim %h, %c : tensor<?x8xf32>\n"
            "%e = tensor.empty(%d)",
        ),
    ],
    ids=["public", "named", "bound", "open"],
)  # fmt: skip
def test_other_functions_take_and_give_row_major(tmp_path: Path, text: str) -> None:
    assert {"step argument 0", "step result 0"}.isdisjoint(places(module_of(tmp_path, text)))


def test_calls_of_a_function_by_itself_do_not_count(tmp_path: Path) -> None:
    text = f"""
func.func private @again(%h: {H}) -> {H} {{
  %r = func.call @again(%h) : ({H}) -> {H}
  return %r : {H}
}}
func.func @main(%x: {H}) -> {H} {{
  %a = func.call @again(%x) : ({H}) -> {H}
  %b = func.call @again(%a) : ({H}) -> {H}
  return %b : {H}
}}"""
    module = module_of(tmp_path, text)
    assert dict(zip(module.names, module.runs(), strict=True)) == {"again": 2, "main": 1}


def test_reading_leaves_the_classes_of_the_binding_alone(tmp_path: Path) -> None:
    """One reference less to a class each time it is read, and the process ends in a crash."""
    gc.collect()
    before = sys.getrefcount(ir.Operation)
    for _ in range(5):
        parsed(tmp_path, BRANCH)
    gc.collect()
    assert sys.getrefcount(ir.Operation) >= before
