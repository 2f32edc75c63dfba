"""What a plan computes from external parameters alone is computed when the module is loaded."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from layoutopt.ir.affine import plain_map
from layoutopt.ir.graph import (
    Fill,
    GraphBuilder,
    IteratorType,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.lowered import HoistedWeight, Lowered
from layoutopt.ir.scalar import contraction_body, copy_body
from layoutopt.ir.schedule import Schedule
from layoutopt.mlir.module import parse_module
from layoutopt.mlir.write.hoisting import hoist_weights
from layoutopt.oracle import evaluate
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.prices import Analytic
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import compile_file
from tests.planning import setting
from tests.splicing import unchanged

FUNCTION = """
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {{
  %w = {weight} : tensor<8x4xf32>
  %eb = tensor.empty() : tensor<4x8xf32>
  %moved = linalg.transpose ins(%w : tensor<8x4xf32>) outs(%eb : tensor<4x8xf32>)
      permutation = [1, 0]
  %sum = linalg.map {{ arith.addf }} ins(%x, %moved : tensor<4x8xf32>, tensor<4x8xf32>)
      outs(%eb : tensor<4x8xf32>)
  return %sum : tensor<4x8xf32>
}}
"""
GLOBAL = 'util.global private @g = #stream.parameter.named<"model"::"w"> : tensor<8x4xf32>'


def written(folder: Path, weight: str, before: str = "") -> str:
    """The module after a plan took it apart and put it together again."""
    (folder / "model.mlir").write_text(before + FUNCTION.format(weight=weight))
    module = parse_module(folder / "model.mlir")
    target = load_target("host")
    plan = plan_graph(module.graphs[0], setting(target, Analytic(target)))
    module.replace(0, plan.lowered())
    module.write(folder / "out.mlir", ())
    return (folder / "out.mlir").read_text()


def in_initializer(text: str) -> bool:
    return "linalg.transpose" in text.partition("util.initializer")[2].partition("func.func")[0]


def test_a_transposed_parameter_is_computed_by_an_initializer(tmp_path: Path) -> None:
    text = written(tmp_path, "util.global.load @g", GLOBAL)
    assert in_initializer(text)
    assert "linalg.transpose" not in text.partition("func.func")[2]


def test_so_is_one_that_an_op_names(tmp_path: Path) -> None:
    text = written(tmp_path, 'flow.tensor.constant #stream.parameter.named<"model"::"w">')
    assert in_initializer(text)


def test_a_constant_of_the_module_stays_with_its_op(tmp_path: Path) -> None:
    values = ", ".join(f"[{i}.0, 1.0, 2.0, 3.0]" for i in range(8))
    text = written(tmp_path, f"arith.constant dense<[{values}]>")
    assert "util.initializer" not in text


PART = """
func.func @main(%x: tensor<256x16xf32>) -> tensor<256x16xf32> {{
  %w = arith.constant dense<"0x{values}"> : tensor<256x256x3x3xf32>
  %ep = tensor.empty() : tensor<256x256xf32>
  %part = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j, 2, 2)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%w : tensor<256x256x3x3xf32>) outs(%ep : tensor<256x256xf32>) {{
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  }} -> tensor<256x256xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<256x16xf32>) -> tensor<256x16xf32>
  %y = linalg.matmul ins(%part, %x : tensor<256x256xf32>, tensor<256x16xf32>)
      outs(%init : tensor<256x16xf32>) -> tensor<256x16xf32>
  return %y : tensor<256x16xf32>
}}
"""


def test_a_part_of_a_constant_that_is_read_data_tiled_lies_ready(tmp_path: Path) -> None:
    """A corner of Winograd's filters is one: IREE 3.13 refuses it for the stack that it takes."""
    values = np.random.default_rng(0).standard_normal((256, 256, 3, 3), np.float32)
    (tmp_path / "model.mlir").write_text(PART.format(values=values.tobytes().hex()))
    module = parse_module(tmp_path / "model.mlir")
    plan = unchanged(module.graphs[0])
    ops = tuple(
        replace(op, data_tiled=True) if isinstance(op, Structured) and op.is_contraction else op
        for op in plan.graph.ops
    )
    module.replace(0, replace(plan, graph=replace(plan.graph, ops=ops)))
    module.write(tmp_path / "out.mlir", ())
    stored = module.stored_globals
    assert [*stored.values()] == [256 * 256 * 4]
    target = load_target("host")
    flags = (*target.flags, "--iree-opt-data-tiling")
    compiled = compile_file(tmp_path / "out.mlir", tmp_path / "out.vmfb", flags, 120.0)
    assert compiled.ok, compiled.reason


def test_what_a_schedule_reads_of_a_hoisted_weight_lies_ready() -> None:
    """Half of a weight that is another one's transpose: IREE would move the transpose into it."""
    g = GraphBuilder()
    x, stored = g.tensor((4, 8), "f32"), g.tensor((6, 8), "f32")
    part, moved, y = g.tensor((3, 8), "f32"), g.tensor((8, 3), "f32"), g.tensor((4, 3), "f32")
    parallel, reduction = IteratorType.PARALLEL, IteratorType.REDUCTION
    g.add(Slice(stored, part, (3, 0), (1, 1)))
    transpose = (plain_map([1, 0]), plain_map([0, 1]))
    init, loops = (Uninitialized(),), (parallel, parallel)
    g.add(Structured((part,), init, (moved,), (8, 3), loops, transpose, copy_body("f32")))
    product = Structured(
        (x, moved),
        (Fill("0.0 : f32"),),
        (y,),
        (4, 3, 8),
        (parallel, parallel, reduction),
        (plain_map([0, 2]), plain_map([2, 1]), plain_map([0, 1])),
        contraction_body("f32", "f32", "f32"),
        schedule=Schedule((4, 3, 0), (1, 3, 0), (0, 0, 1)),
    )
    g.add(product)
    own = GraphBuilder()
    w, turned = own.tensor((8, 6), "f32"), own.tensor((6, 8), "f32")
    own.add(Structured((w,), init, (turned,), (6, 8), loops, transpose, copy_body("f32")))
    weight = HoistedWeight(own.build((w,), (turned,)), {17: w}, turned, stored)
    lowered = Lowered(g.build((x, stored), (y,)), {16: x}, {18: y}, (weight,))
    found = hoist_weights(lowered, [17], ())
    assert found.graph.ops == (product,)
    (ready,) = found.hoisted  # the other one is not read any more
    assert (ready.planned_tensor, [*ready.inputs]) == (moved, [17])
    values = np.arange(48, dtype=np.float32).reshape(8, 6)
    made = evaluate(ready.graph, {ready.inputs[17]: values})[ready.result]
    np.testing.assert_array_equal(made, values[:, 3:])
    plain = replace(lowered.graph, ops=(*lowered.graph.ops[:2], replace(product, schedule=None)))
    assert hoist_weights(replace(lowered, graph=plain), [17], ()).hoisted == (weight,)
