"""Ops that IREE does not compile mean what takes their place."""

from __future__ import annotations

from pathlib import Path

import iree.compiler.ir as ir
import numpy as np
import pytest

import layoutopt
from layoutopt.mlir.read.lift import lift_blocks
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import run_model
from layoutopt.runtime.process import Ended, find_tool, run_tool
from tests.parameters import FLAGS
from tests.parsing import CONTEXT
from tests.running import assert_same_results

DECOMPOSE = """
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %found = transform.structured.match ops{["linalg.winograd_filter_transform",
      "linalg.winograd_input_transform", "linalg.winograd_output_transform"]} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.foreach %found : !transform.any_op {
    ^bb0(%one: !transform.any_op):
      %0 = transform.structured.decompose_winograd_op %one
        : (!transform.any_op) -> !transform.any_op
    }
    transform.yield
  }
"""
"""As upstream does it, a tile at a time."""
CASES = (
    ("F_2_3", "2x3x3x4", "4x4x4x2", "2x7x4x3", "4x4x2x1x2x3", "2x4x2x3"),
    ("F_4_3", "3x3x3x4", "6x6x4x3", "1x11x6x4", "6x6x2x1x1x4", "1x8x4x4"),
    ("F_2_5", "2x5x5x3", "6x6x3x2", "1x6x8x3", "6x6x1x2x1x3", "1x2x4x3"),
    ("F_4_3", "3x1x3x4", "1x6x4x3", "2x1x10x4", "1x6x1x2x2x4", "2x1x8x4"),
)
"""The form; filters and what is made of them; images, tiles and images again."""


def function(form: str, filters: str, made: str, image: str, tiles: str, result: str) -> str:
    def tensor(shape: str) -> str:
        return f"tensor<{shape}xf32>"

    def op(name: str, kind: str, source: str, init: str, result_kind: str) -> str:
        return (
            f"linalg.winograd_{kind}_transform fmr({form}) ins({name} : {tensor(source)}) "
            f"outs({init} : {tensor(result_kind)}) -> {tensor(result_kind)}"
        )

    return f"""
func.func @main(%f: {tensor(filters)}, %d: {tensor(image)}, %m: {tensor(tiles)},
    %b: {tensor(result)}) -> ({tensor(made)}, {tensor(tiles)}, {tensor(result)}) {{
  %ue = tensor.empty() : {tensor(made)}
  %u = {op("%f", "filter", filters, "%ue", made)}
  %ve = tensor.empty() : {tensor(tiles)}
  %v = {op("%d", "input", image, "%ve", tiles)}
  %y = {op("%m", "output", tiles, "%b", result)}
  return %u, %v, %y : {tensor(made)}, {tensor(tiles)}, {tensor(result)}
}}"""


def decomposed(text: str) -> str:
    """A module once it has been read."""
    with CONTEXT:
        module = ir.Module.parse(text)
        for op in module.body.operations:
            lift_blocks(op, {})
        return str(module)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]}")
def test_they_are_decomposed_as_upstream_does(case: tuple[str, ...], tmp_path: Path) -> None:
    text = function(*case)
    given, theirs, ours = (tmp_path / f"{name}.mlir" for name in ("given", "theirs", "ours"))
    given.write_text(f"module attributes {{transform.with_named_sequence}} {{{text}{DECOMPOSE}}}")
    command = [find_tool("iree-opt"), str(given), "--transform-interpreter", "-o", str(theirs)]
    assert run_tool(command, 60.0).ended is Ended.OK
    lines = theirs.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if "named_sequence @" in line)
    theirs.write_text("\n".join([*lines[:start], "}"]))
    ours.write_text(decomposed(text))
    assert "winograd" not in ours.read_text() + theirs.read_text()
    assert_same_results(theirs, ours)


def test_the_stages_of_a_fourier_transform_make_one(tmp_path: Path) -> None:
    """Of numbers in the order of their reversed bits."""
    kind = "tensor<2x8xf32>"
    stages = "".join(
        f"""
  %n{i} = arith.constant {i} : index
  %x{i}, %y{i} = iree_linalg_ext.fft ins(%n{i} : index)
    outs(%x{i - 1}, %y{i - 1} : {kind}, {kind}) : {kind}, {kind}"""
        for i in (1, 2, 3)
    )
    text, module = tmp_path / "fft.mlir", tmp_path / "fft.vmfb"
    text.write_text(
        decomposed(f"""
func.func @main(%x0: {kind}, %y0: {kind}) -> ({kind}, {kind}) {{{stages}
  return %x3, %y3 : {kind}, {kind}
}}""")
    )
    outcome = compile_file(text, module, FLAGS, 300)
    assert outcome.ok, outcome.reason
    rng = np.random.default_rng(0)
    real, imaginary = rng.standard_normal((2, 2, 8)).astype(np.float32)
    order = [0, 4, 2, 6, 1, 5, 3, 7]
    found = run_model(module, "main", [real[:, order], imaginary[:, order]])
    wanted = np.fft.fft(real + 1j * imaginary)
    np.testing.assert_allclose(found[0], wanted.real, atol=1e-5)
    np.testing.assert_allclose(found[1], wanted.imag, atol=1e-5)


@pytest.mark.long
def test_a_model_with_winograd_is_planned_though_iree_crashes_on_it(tmp_path: Path) -> None:
    model = tmp_path / "model.mlir"
    model.write_text(function(*CASES[1]))
    report = layoutopt.optimize(model, options=layoutopt.Options(cache=tmp_path / "cache")).report
    assert report.barriers == ()
    assert report.verification is not None
    assert report.verification.passed
