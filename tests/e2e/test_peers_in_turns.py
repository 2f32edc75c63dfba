"""Other runtimes run in the same turns, on the same inputs; stand-ins, none is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.mlir.module import parse_module
from layoutopt.options import Options
from layoutopt.profiles.target import load_target
from layoutopt.runtime.setting import RunSetting
from layoutopt.verification.evaluated import OPTIMIZED, Evaluation, Variant
from layoutopt.verification.evaluation import EvaluationSetting, evaluate_variants
from layoutopt.verification.subjects import subjects_of
from tests.running import no_oracle

MODEL = """
func.func @main(%x: tensor<64x32xf32>, %w: tensor<32x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %m = linalg.matmul ins(%x, %w : tensor<64x32xf32>, tensor<32x64xf32>)
      outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %m : tensor<64x64xf32>
}
"""
STAND_IN = """
import os, time

class Input:
    def __init__(self, name):
        self.name = name

class SessionOptions:
    def add_session_config_entry(self, name, value):
        pass

class InferenceSession:
    runs = 0

    def __init__(self, model, options, providers):
        self.how = open(os.environ["HOW"]).read()
        if self.how == "refuses":
            raise RuntimeError("an op that it does not know")

    def get_inputs(self):
        return [Input("x"), Input("w")]

    def run(self, names, feeds):
        self.runs += 1
        if self.how == "dies" and self.runs > 1:
            os._exit(3)
        time.sleep(0.05)
        return [feeds["x"] @ feeds["w"] + (self.how == "wrong")]
"""


@pytest.fixture
def evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Evaluation:
    (tmp_path / "onnxruntime.py").write_text(STAND_IN)
    (tmp_path / "how").write_text(request.param)
    monkeypatch.setenv("HOW", str(tmp_path / "how"))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path.cwd()}")
    model = tmp_path / "dense.mlir"
    model.write_text(MODEL)
    flags = load_target("host").flags
    variants = [Variant("default", model, flags), Variant(OPTIMIZED, model, flags)]
    subjects = subjects_of(parse_module(model), [0], Options())
    peer = Variant("onnxruntime", model, ())
    setting = EvaluationSetting(RunSetting(), "host", 60.0, peers=(peer,))
    return evaluate_variants(variants, subjects, tmp_path, setting, no_oracle)


def check_iree(evaluation: Evaluation) -> None:
    """Whatever a peer does, IREE's own modules are compared and timed."""
    assert evaluation.verification.passed
    for variant in evaluation.variants:
        assert variant.milliseconds is not None
        assert variant.dispatches is not None
    best = evaluation.best_original
    assert best is not None
    assert best.name == "default"


@pytest.mark.parametrize(
    ("evaluated", "note"),
    [("right", ""), ("wrong", "results differ from 'default': result 0: ")],
    indirect=["evaluated"],
)
def test_a_peer_is_timed_and_compared(evaluated: Evaluation, note: str) -> None:
    check_iree(evaluated)
    (peer,) = evaluated.peers
    assert peer.milliseconds is not None
    assert peer.milliseconds >= 50
    assert peer.fastest_ms is not None
    assert peer.reason.startswith(note)
    assert bool(peer.reason) == bool(note)


@pytest.mark.parametrize(
    ("evaluated", "reason"),
    [("refuses", "an op that it does not know"), ("dies", "onnxruntime is gone: exit 3")],
    indirect=["evaluated"],
)
def test_a_peer_that_fails_costs_its_own_row_alone(evaluated: Evaluation, reason: str) -> None:
    check_iree(evaluated)
    (peer,) = evaluated.peers
    assert peer.milliseconds is None
    assert reason in peer.reason
