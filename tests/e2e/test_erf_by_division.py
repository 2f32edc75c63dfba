"""What IREE computes of the quotient in place of erf."""

from __future__ import annotations

import math
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from layoutopt.mlir.write.emit import function_text
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import run_model
from tests.functions_of_one_number import everywhere, graph_of


@pytest.mark.parametrize("level", ["O0", "O3"])
def test_as_near_as_its_steps_round_with_iree(level: str, tmp_path: Path) -> None:
    numbers = everywhere()
    graph = canonical_form(graph_of("math.erf", numbers.shape)).graph
    source, module = tmp_path / "erf.mlir", tmp_path / "erf.vmfb"
    source.write_text(function_text(graph, graph.inputs, graph.outputs, "main"))
    assert "math.erf" not in source.read_text()
    flags = (*load_target("host").flags, f"--iree-opt-level={level}")
    outcome = compile_file(source, module, flags, 300.0)
    assert outcome.ok, outcome.reason
    (found,) = run_model(module, "main", [numbers])
    wanted = np.array([math.erf(x) for x in numbers.tolist()])
    assert np.array_equal(np.isnan(found), np.isnan(numbers))
    assert np.nanmax(np.abs(found - wanted)) < 4e-7


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_narrow_floats_are_rounded_once_with_iree(element: str, tmp_path: Path) -> None:
    dtype = np.dtype(np.float16 if element == "f16" else ml_dtypes.bfloat16)
    numbers = everywhere()[np.abs(everywhere()) < 6e4].astype(dtype)
    graph = canonical_form(graph_of("math.erf", numbers.shape, element)).graph
    source, module = tmp_path / "erf.mlir", tmp_path / "erf.vmfb"
    source.write_text(function_text(graph, graph.inputs, graph.outputs, "main"))
    assert "math.erf" not in source.read_text()
    outcome = compile_file(source, module, load_target("host").flags, 300.0)
    assert outcome.ok, outcome.reason
    (found,) = run_model(module, "main", [numbers])
    wanted = np.array([math.erf(x) for x in numbers.astype(np.float64).tolist()])
    half_spacing = float(ml_dtypes.finfo(dtype).eps) / 4
    assert np.abs(found.astype(np.float64) - wanted).max() <= half_spacing + 4e-7
