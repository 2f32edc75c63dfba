"""Several plans for one function, told apart by its sizes at run time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layoutopt.ir.lowered import Lowered
from layoutopt.ir.size_range import Ranges, SizeRange
from layoutopt.ir.weights import constant_names
from layoutopt.mlir.module import Module, parse_module
from layoutopt.options import Options, PlannedSize
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.at_sizes import AtSizes
from tests.planning import AS_WRITTEN, HOST, TWO_MATMULS, SizedPrices, packed_for_many, setting
from tests.splicing import unchanged

SMALL, MIDDLE, LARGE = (
    (SizeRange("arg0.0", None, 11),),
    (SizeRange("arg0.0", 11, 69),),
    (SizeRange("arg0.0", 69, None),),
)


@pytest.fixture
def module(tmp_path: Path) -> Module:
    (tmp_path / "model.mlir").write_text(TWO_MATMULS)
    return parse_module(tmp_path / "model.mlir")


def plans(module: Module) -> tuple[Lowered, Lowered]:
    """A plan without tiles, and one over tiles."""
    options = Options(sizes=(PlannedSize("arg0.0", (1, 300)),), rules=AS_WRITTEN)
    wanted = setting(HOST, AtSizes(SizedPrices(packed_for_many)), options)
    plain, tiled = plan_graph(module.planned_for({"arg0.0": 1}).graphs[0], wanted).bodies
    return plain.lowered(), tiled.lowered()


def written(module: Module, branches: list[tuple[Ranges, Lowered]]) -> str:
    module.replace_all({}, specialized={0: branches})
    assert module.operation.verify()
    return re.sub(r'"0x[0-9A-F]+"', "..", str(module.operation))


def test_the_size_at_run_time_picks_the_body(module: Module) -> None:
    plain, tiled = plans(module)
    text = written(module, [(SMALL, plain), ((SizeRange("arg0.0", 11, None),), tiled)])
    entry, few, many, rest = text.partition("func.func")[2].split("  ^bb")
    assert "arith.cmpi sle, %dim, %c11 : index" in entry
    assert "cf.cond_br %0, ^bb1, ^bb2" in entry
    assert few.count("linalg.matmul") == 2
    assert "linalg.pack %arg0" not in few
    assert many.count("linalg.mmt4d") == 2
    assert "linalg.matmul" not in many
    for body in (few, many):
        assert re.search(r"cf.br \^bb3\(%\w+ : tensor<\?x64xf32>\)", body)
    assert re.match(r"3\((%\w+): tensor<\?x64xf32>\):.*\n +return \1 :", rest)


def test_three_bodies_are_told_apart_one_after_another(module: Module) -> None:
    plain, tiled = plans(module)
    text = written(module, [(MIDDLE, tiled), (SMALL, plain), (LARGE, tiled)])
    assert re.findall(r"arith.cmpi (\w+), %dim, %c(\d+)", text) == [
        ("sgt", "11"),
        ("sle", "69"),
        ("sle", "11"),
    ]
    assert text.count("arith.andi") == 1
    assert text.count("cf.cond_br") == 2
    assert text.count("cf.br") == 3


def test_what_the_model_states_is_checked_ahead_of_the_comparison(tmp_path: Path) -> None:
    stated = TWO_SIZES.replace(
        "  %e = ", "  %k = util.assume.int %m<umin = 8, umax = 512> : index\n  %e = "
    ).replace("tensor.empty(%n, %m)", "tensor.empty(%n, %k)")
    (tmp_path / "model.mlir").write_text(stated)
    module = parse_module(tmp_path / "model.mlir")
    same = unchanged(module.graphs[0])
    text = written(module, [(SMALL, same), ((SizeRange("arg0.0", 11, None),), same)])
    assert text.index('"arg0.0: expected at least 8, at most 512, as') < text.index("cf.cond_br")


def test_a_weight_that_bodies_share_is_one_global(module: Module) -> None:
    plain, tiled = plans(module)
    text = written(module, [(MIDDLE, tiled), (SMALL, plain), (LARGE, tiled)])
    names = constant_names(module.graphs[0], 0)
    copies = plain.copied_weights(names) | tiled.copied_weights(names)
    assert tiled.hoisted
    assert text.count("util.global private @layoutopt_weight_") == len(copies)
    assert text.count("util.initializer") == 0  # the elements are in the module
    reads = len(plain.hoisted) + 2 * len(tiled.hoisted)
    assert text.count("util.global.load immutable") == reads


def test_moves_count_in_every_body(module: Module) -> None:
    plain, tiled = plans(module)
    written(module, [(MIDDLE, tiled), (SMALL, plain), (LARGE, tiled)])
    assert module.census().count("pack") == 2 * sum(
        type(op).__name__ == "Pack" for op in tiled.graph.ops
    )
    assert {m.inside for m in module.census().runs} == {""}


TWO_SIZES = """
func.func @main(%x: tensor<?x?xf32>, %c: tensor<4xf32>) -> (tensor<?x?xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %t = linalg.transpose ins(%x : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) permutation = [1, 0]
  return %t, %c : tensor<?x?xf32>, tensor<4xf32>
}
"""


def test_conditions_on_several_sizes_hold_together(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(TWO_SIZES)
    module = parse_module(tmp_path / "model.mlir")
    same = unchanged(module.graphs[0])
    few = SizeRange("arg0.0", None, 2)
    corner = (few, SizeRange("arg0.1", 11, None))
    rest = [((few, SizeRange("arg0.1", None, 11)), same), ((SizeRange("arg0.0", 2, None),), same)]
    text = written(module, [(corner, same), *rest])
    assert re.findall(r"arith.cmpi (\w+), (%\w+), %c(\d+)", text)[:2] == [
        ("sle", "%dim", "2"),
        ("sgt", "%dim_0", "11"),
    ]
    assert text.count("linalg.transpose") == 3
    assert re.search(r"return %\d+, %arg1 : tensor<\?x\?xf32>, tensor<4xf32>", text)
