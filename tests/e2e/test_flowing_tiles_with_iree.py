"""Layouts that flow: packed contractions one after the other run with their tiles of registers."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

import layoutopt
from layoutopt.options import Effort, Objective
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import find_tool

ONES = "strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>"
TWOS = ONES.replace("strides = dense<1>", "strides = dense<2>")
LAYERS = (
    ("conv_2d_nchw_fchw", ONES, "1x16x13x13", "32x16x3x3", "1x32x11x11"),
    ("depthwise_conv_2d_nchw_chw", ONES, "1x32x11x11", "32x3x3", "1x32x9x9"),
    ("conv_2d_nchw_fchw", TWOS, "1x32x9x9", "48x32x3x3", "1x48x4x4"),
    ("conv_2d_nchw_fchw", ONES, "1x48x4x4", "16x48x1x1", "1x16x4x4"),
)


def chain() -> str:
    """The layers, with weights of a few values each."""
    lines = ["%zero = arith.constant 0.0 : f32"]
    for i, (name, windows, *shapes) in enumerate(LAYERS):
        x, w, y = (f"tensor<{shape}xf32>" for shape in shapes)
        source = "%x" if i == 0 else f"%r{i - 1}"
        lines += [
            f"%w{i} = arith.constant dense_resource<w{i}> : {w}",
            f"%e{i} = tensor.empty() : {y}",
            f"%f{i} = linalg.fill ins(%zero : f32) outs(%e{i} : {y}) -> {y}",
            f"%r{i} = linalg.{name} {{{windows}}} ins({source}, %w{i} : {x}, {w}) "
            f"outs(%f{i} : {y}) -> {y}",
        ]
    first, last = (f"tensor<{shape}xf32>" for shape in (LAYERS[0][2], LAYERS[-1][4]))
    body = "\n  ".join([*lines, f"return %r{len(LAYERS) - 1} : {last}"])
    blobs = ", ".join(f'w{i}: "0x04000000{numbers(row[3])}"' for i, row in enumerate(LAYERS))
    resources = f"{{-# dialect_resources: {{ builtin: {{ {blobs} }} }} #-}}"
    return f"func.func @main(%x: {first}) -> {last} {{\n  {body}\n}}\n{resources}\n"


def numbers(shape: str) -> str:
    """Small multiples of a quarter, as bytes in hexadecimal digits."""
    count = math.prod(map(int, shape.split("x")))
    return ((np.arange(count) * 7 % 17 - 8) / 4).astype("<f4").tobytes().hex()


@pytest.mark.skipif(load_target("host").registers is None, reason="no tiles for this processor")
def test_a_chain_of_convolutions_stays_in_tiles_and_keeps_its_schedules(tmp_path: Path) -> None:
    model, made = tmp_path / "model.mlir", tmp_path / "made.mlir"
    model.write_text(chain(), encoding="utf-8")
    options = layoutopt.Options(
        effort=Effort.QUICK, objective=Objective.CONVERSIONS, cache=tmp_path / "cache"
    )
    plan = layoutopt.optimize(model, options=options)
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    forms = [c.form for c in plan.report.choices if c.op.startswith("convolution")]
    assert len(forms) == len(LAYERS)
    assert all("packed, scheduled" in form for form in forms)
    after = plan.report.after
    assert after.pack + after.unpack + after.transpose <= 2  # of the ends
    plan.apply(made)
    phase = ("--compile-to=executable-configurations", "-o", "-")
    configured = subprocess.run(
        [find_tool("iree-compile"), str(made), *plan.report.compile_flags, *phase],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    dispatches = configured.stdout.split("hal.executable private")
    assert sum("fold-unit" in text for text in dispatches) == len(LAYERS)
