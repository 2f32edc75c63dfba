"""Every linalg op with zero points, and quantized tensors of ONNX: packed, run, equal to NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import layoutopt
from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.types import Array, numpy_dtype
from layoutopt.mlir.parse import recorded_flags
from layoutopt.options import Effort, Objective, Options
from layoutopt.oracle import evaluate
from layoutopt.pipeline.plan import Plan
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import run_model
from tests.named_ops import Case, side_by_side
from tests.parsing import lifted

CASES = (
    Case("quantized_matmul", "5x11xi8", "11x13xi8", "5x13xi32"),
    Case("quantized_batch_matmul", "3x5x7xi8", "3x7x9xi8", "3x5x9xi32"),
    Case("conv_2d_nhwc_hwcf_q", "1x6x6x5xi8", "3x3x5x9xi8", "1x4x4x9xi32"),
    Case("conv_2d_nhwc_fhwc_q", "1x6x6x5xi8", "9x3x3x5xi8", "1x4x4x9xi32"),
    Case("conv_2d_nchw_fchw_q", "1x5x6x6xi8", "9x5x3x3xi8", "1x9x4x4xi32"),
    Case("conv_2d_ngchw_gfchw_q", "1x2x3x6x6xi8", "2x5x3x3x3xi8", "1x2x5x4x4xi32"),
    Case("conv_2d_nhwgc_gfhwc_q", "1x6x6x2x3xi8", "2x5x3x3x3xi8", "1x4x4x2x5xi32"),
    Case("conv_3d_ndhwc_dhwcf_q", "1x4x4x4x3xi8", "2x2x2x3x5xi8", "1x3x3x3x5xi32"),
    Case("depthwise_conv_2d_nhwc_hwc_q", "1x6x6x10xi8", "3x3x10xi8", "1x4x4x10xi32"),
    Case("depthwise_conv_2d_nhwc_hwcm_q", "1x6x6x5xi8", "3x3x5x2xi8", "1x4x4x5x2xi32"),
)


def named_ops() -> str:
    """The left zero point is known at run time only."""
    head = """
  %zb = arith.constant 3 : i32
  %z_in = tensor.extract %z[] : tensor<i8>
  %za = arith.extsi %z_in : i8 to i32"""
    return side_by_side(CASES, ("%za", "%zb"), "%z: tensor<i8>", head)


QDQ = """
#id = affine_map<(n, c, h, w) -> (n, c, h, w)>
#f = affine_map<(n, c, h, w) -> (n)>
#one = affine_map<(n, c, h, w) -> ()>
func.func @main(%x: tensor<1x5x6x6xf32>, %w: tensor<9x5x3x3xi8>, %s: tensor<9xf32>)
    -> tensor<1x9x6x6xf32> {
  %sx = arith.constant 0.02 : f32
  %zx = arith.constant 113 : i64
  %sy = arith.constant 0.5 : f32
  %zy = arith.constant 12 : i64
  %zero = arith.constant 0.0 : f32
  %eq = tensor.empty() : tensor<1x5x6x6xi8>
  %q = iree_linalg_ext.quantize_affine <indexing_maps = [#id, #one, #one, #id], quant_min = 0,
    quant_max = 255, storage_unsigned> ins(%x, %sx, %zx : tensor<1x5x6x6xf32>, f32, i64)
    outs(%eq : tensor<1x5x6x6xi8>) -> tensor<1x5x6x6xi8>
  %ed = tensor.empty() : tensor<1x5x6x6xf32>
  %d = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #one, #one, #id], quant_min = 0,
    quant_max = 255, input_unsigned> ins(%q, %sx, %zx : tensor<1x5x6x6xi8>, f32, i64)
    outs(%ed : tensor<1x5x6x6xf32>) -> tensor<1x5x6x6xf32>
  %ew = tensor.empty() : tensor<9x5x3x3xf32>
  %dw = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #f, #id], quant_min = -128,
    quant_max = 127> ins(%w, %s : tensor<9x5x3x3xi8>, tensor<9xf32>)
    outs(%ew : tensor<9x5x3x3xf32>) -> tensor<9x5x3x3xf32>
  %p = tensor.pad %d low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x5x6x6xf32> to tensor<1x5x8x8xf32>
  %ey = tensor.empty() : tensor<1x9x6x6xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<1x9x6x6xf32>) -> tensor<1x9x6x6xf32>
  %y = linalg.conv_2d_nchw_fchw {strides = dense<1> : tensor<2xi64>,
    dilations = dense<1> : tensor<2xi64>}
    ins(%p, %dw : tensor<1x5x8x8xf32>, tensor<9x5x3x3xf32>)
    outs(%fy : tensor<1x9x6x6xf32>) -> tensor<1x9x6x6xf32>
  %ei = tensor.empty() : tensor<1x9x6x6xi8>
  %qy = iree_linalg_ext.quantize_affine <indexing_maps = [#id, #one, #one, #id],
    quant_min = -128, quant_max = 127> ins(%y, %sy, %zy : tensor<1x9x6x6xf32>, f32, i64)
    outs(%ei : tensor<1x9x6x6xi8>) -> tensor<1x9x6x6xi8>
  %r = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #one, #one, #id],
    quant_min = -128, quant_max = 127> ins(%qy, %sy, %zy : tensor<1x9x6x6xi8>, f32, i64)
    outs(%ey : tensor<1x9x6x6xf32>) -> tensor<1x9x6x6xf32>
  return %r : tensor<1x9x6x6xf32>
}
"""


def packed(text: str, count: int, folder: Path) -> Plan:
    """The plan with every contraction packed; equal to what IREE makes of the text by itself."""
    source = folder / "model.mlir"
    source.write_text(text, encoding="utf-8")
    plan = layoutopt.optimize(
        source, options=Options(effort=Effort.QUICK, objective=Objective.CONVERSIONS, cache=folder)
    )
    assert plan.report.verification is not None
    assert plan.report.verification.max_abs_error == 0
    assert plan.report.contractions is not None
    assert plan.report.contractions.unpacked == ()
    assert plan.report.contractions.packed == count
    return plan


def run(plan: Plan, inputs: list[Array], folder: Path) -> list[Array]:
    out, module = folder / "out.mlir", folder / "out.vmfb"
    plan.apply(out)
    outcome = compile_file(out, module, recorded_flags(out), 300.0)
    assert outcome.ok, outcome.reason
    return run_model(module, "main", inputs)


def any_of(element: str, shape: tuple[int, ...], seed: int) -> Array:
    rng = np.random.default_rng(seed)
    dtype: Any = numpy_dtype(element)
    if element == "f32":
        return rng.uniform(0.01, 2.0, shape).astype(dtype)
    return rng.integers(-128, 128, shape).astype(dtype)


@pytest.mark.long
def test_all_named_ops_with_a_zero_point_of_run_time(tmp_path: Path) -> None:
    text = named_ops()
    plan = packed(text, len(CASES), tmp_path)
    graph = lifted(text)
    inputs = [any_of(graph.types[t].element, graph.types[t].shape, t) for t in graph.inputs]
    wanted = evaluate(graph, dict(zip(graph.inputs, inputs, strict=True)))
    first = inputs[0].astype(np.int32) - inputs[-1].astype(np.int32)
    by_hand = first @ (inputs[1].astype(np.int32) - 3)
    results = run(plan, inputs, tmp_path)
    assert np.array_equal(results[0], by_hand)
    assert len(results) == len(CASES)
    for case, tensor, result in zip(CASES, results_in_order(graph), results, strict=True):
        assert np.array_equal(result, wanted[tensor]), case.op


def results_in_order(graph: Graph) -> list[int]:
    """The results of the ops with zero points, as the function returns them."""
    return [op.outputs[0] for op in graph.ops if isinstance(op, Structured) and op.reduction_dims]


def test_dequantized_operands_with_a_padded_border(tmp_path: Path) -> None:
    """What lies around the image is zero, hence the zero point 113 among the integers."""
    plan = packed(QDQ, 1, tmp_path)
    graph = lifted(QDQ)
    inputs = [any_of(graph.types[t].element, graph.types[t].shape, t) for t in graph.inputs]
    wanted = evaluate(graph, dict(zip(graph.inputs, inputs, strict=True)))[graph.outputs[0]]
    (result,) = run(plan, inputs, tmp_path)
    assert len(np.unique(result)) > 10
    assert np.mean(result != wanted) < 0.05
    assert np.abs(result - wanted).max() <= 0.5
