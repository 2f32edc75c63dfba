"""What is told of a plan's conversions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutopt.candidates.form import Form
from layoutopt.compiler.processor import Processor
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.prices import Work
from layoutopt.report.moves import conversions_of, labels_of
from tests.made_up_prices import MadeUpPrices, structured
from tests.parsing import lifted
from tests.planning import HOST, setting

TARGET = replace(HOST, registers=Processor.AVX512.registers)


def model(rows: int) -> str:
    weights = np.ones((8, 1000), "<f4").tobytes().hex()
    x, y, w = f"tensor<{rows}x8xf32>", f"tensor<{rows}x1000xf32>", "tensor<8x1000xf32>"
    return f"""
func.func @main(%x: {x}) -> {y} {{
  %w = arith.constant dense_resource<w> : {w}
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {y}
  %f = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}
  %r = linalg.matmul ins(%x, %w : {x}, {w}) outs(%f : {y}) -> {y}
  return %r : {y}
}}
{{-# dialect_resources: {{ builtin: {{ w: "0x04000000{weights}" }} }} #-}}
"""


def panels_first(work: Work) -> int:
    contractions = [op for op in structured(work) if op.is_contraction]
    padded = any(op.schedule is not None and {63, 16} <= {*op.domain} for op in contractions)
    return 1 if padded or not contractions else 1_000_000


@pytest.mark.parametrize(("rows", "kinds"), [(1, []), (6, ["unpack"])])
def test_columns_of_padding_are_cut_off_what_lies_together(rows: int, kinds: list[str]) -> None:
    plan = plan_graph(lifted(model(rows)), setting(TARGET, MadeUpPrices(panels_first)))
    assert Form.PANELS in {candidate.form for candidate in plan.choice.candidates}
    assert len(plan.choice.conversions) == 1
    assert [conversion.kind for conversion in conversions_of("main", plan)] == kinds
    assert len(labels_of(plan)) == len(kinds)
