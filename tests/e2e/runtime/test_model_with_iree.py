from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from layoutopt.errors import InputError, LoweringError
from layoutopt.runtime.compile import Phase, compile_file, compile_to
from layoutopt.runtime.model import (
    FunctionSignature,
    ModelCall,
    dispatch_times,
    list_functions,
    run_model,
    time_models,
)
from layoutopt.runtime.outcome import Outcome

TYPE = "tensor<64x64xf32>"
MODEL = f"""
func.func @main(%x: {TYPE}, %w: {TYPE}) -> {TYPE} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {TYPE}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {TYPE}) -> {TYPE}
  %0 = linalg.matmul ins(%x, %w : {TYPE}, {TYPE}) outs(%init : {TYPE}) -> {TYPE}
  %1 = linalg.matmul ins(%0, %w : {TYPE}, {TYPE}) outs(%init : {TYPE}) -> {TYPE}
  return %1 : {TYPE}
}}
func.func @stray(%x: {TYPE}, %w: {TYPE}) -> {TYPE} {{
  %far = arith.constant 1.0e12 : f32
  %empty = tensor.empty() : {TYPE}
  %0 = linalg.generic {{
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]
  }} ins(%x : {TYPE}) outs(%empty : {TYPE}) {{
  ^bb0(%in: f32, %out: f32):
    %1 = arith.mulf %in, %far : f32
    %2 = arith.fptosi %1 : f32 to i64
    %3 = arith.index_cast %2 : i64 to index
    %4 = tensor.extract %w[%3, %3] : {TYPE}
    linalg.yield %4 : f32
  }} -> {TYPE}
  return %0 : {TYPE}
}}
func.func @narrow(%x: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xi1>) {{
  %0 = arith.addf %x, %x : tensor<4xbf16>
  %1 = arith.cmpf ogt, %0, %x : tensor<4xbf16>
  return %0, %1 : tensor<4xbf16>, tensor<4xi1>
}}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    (folder / "model.mlir").write_text(MODEL)
    flags = (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=host",
    )
    outcome = compile_file(folder / "model.mlir", folder / "model.vmfb", flags, 60.0)
    assert outcome.reason == ""
    return folder / "model.vmfb"


@pytest.fixture
def inputs() -> list[np.ndarray[tuple[int, int], np.dtype[np.float32]]]:
    random = np.random.default_rng(0)
    x, w = (random.standard_normal((64, 64), np.float32) for _ in range(2))
    return [x, w]


Inputs = list[np.ndarray[tuple[int, int], np.dtype[np.float32]]]


def test_functions_are_listed(module: Path) -> None:
    assert list_functions(module) == (
        FunctionSignature("main", (TYPE, TYPE), (TYPE,)),
        FunctionSignature("stray", (TYPE, TYPE), (TYPE,)),
        FunctionSignature("narrow", ("tensor<4xbf16>",), ("tensor<4xbf16>", "tensor<4xi1>")),
    )


def test_a_file_that_is_not_a_module(tmp_path: Path) -> None:
    (tmp_path / "x.vmfb").write_text("not a module" * 20)
    with pytest.raises(InputError, match="expected a module that iree-compile wrote, but got "):
        list_functions(tmp_path / "x.vmfb")


def test_a_model_runs(module: Path, inputs: Inputs) -> None:
    (result,) = run_model(module, "main", inputs)
    x, w = inputs
    assert np.allclose(result, x @ w @ w, rtol=1e-4, atol=1e-3)


def test_narrow_types_come_back(module: Path) -> None:
    x = np.array([1, -1, 0, 2]).astype(ml_dtypes.bfloat16)
    doubled, greater = run_model(module, "narrow", [x])
    assert (doubled.dtype, greater.dtype) == (x.dtype, np.dtype(np.bool_))
    assert doubled.tolist() == [2, -2, 0, 4]
    assert greater.tolist() == [True, False, False, True]


def test_a_model_that_crashes(module: Path, inputs: Inputs) -> None:
    with pytest.raises(LoweringError) as caught:
        run_model(module, "stray", inputs)
    assert str(caught.value) == (
        "model.vmfb:@stray: expected results on local-sync, "
        "but got run-crash (crashed (SIGSEGV)); compile it with other flags"
    )


def test_models_are_timed_in_turns(module: Path, inputs: Inputs) -> None:
    calls = [ModelCall(module, name, inputs) for name in ("main", "stray", "missing", "main")]
    one, crashed, missing, other = time_models(calls, most_samples=9)
    assert len(one.samples_ns) == len(other.samples_ns) >= 5
    assert one.median_ns < 3 * other.median_ns < 9 * one.median_ns
    assert crashed.outcome is Outcome.RUN_CRASH
    assert (missing.outcome, missing.reason) == (Outcome.RUN_ERROR, "no function missing")


def test_times_of_dispatches(module: Path, inputs: Inputs) -> None:
    times = dispatch_times(module, "main", inputs, runs=5)
    assert sum(time.count for time in times) == 2
    assert all("matmul" in time.name and time.mean_ns > 0 for time in times)


def test_dispatches_of_a_function_that_is_missing(module: Path, inputs: Inputs) -> None:
    with pytest.raises(LoweringError, match="iree-benchmark-module: expected a profile of the"):
        dispatch_times(module, "missing", inputs)


def test_compile_to_a_phase(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(MODEL)
    flags = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
    assert compile_to(tmp_path / "m.mlir", Phase.FLOW, tmp_path / "flow.mlir", flags, 60.0).ok
    assert "flow.dispatch @main_dispatch_0" in (tmp_path / "flow.mlir").read_text()
