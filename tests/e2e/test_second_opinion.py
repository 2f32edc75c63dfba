"""Where a device computes something else of original and plan, this machine's CPU is asked."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from layoutopt.frontend.source import Source
from layoutopt.mlir.module import parse_module
from layoutopt.options import Options
from layoutopt.pricing.measure.benchmark import Benchmark, Case, Operand, Result
from layoutopt.pricing.measure.second_opinion import is_right_on_cpu
from layoutopt.profiles.store import Store
from layoutopt.profiles.target import load_target
from layoutopt.runtime.setting import RunSetting
from layoutopt.verification.evaluated import OPTIMIZED, Variant
from layoutopt.verification.evaluation import EvaluationSetting, evaluate_variants
from layoutopt.verification.input_kinds import InputKind
from layoutopt.verification.original_on_cpu import original_on_cpu
from layoutopt.verification.subjects import subjects_of
from layoutopt.verification.verified import ON_CPU, ORIGINAL
from tests.parameters import FLAGS
from tests.running import no_oracle

MODEL = """
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %two = arith.constant dense<2.0> : tensor<8x8xf32>
  %r = arith.addf %x, %two : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
"""
WRONG = MODEL.replace("2.0", "3.0")


def with_more(op: str) -> str:
    """The model plus something that is zero of zeros."""
    more = f"""
  %far = arith.constant dense<1.0e12> : tensor<8x8xf32>
  %large = arith.mulf %x, %far : tensor<8x8xf32>
  %more = math.{op} %large : tensor<8x8xf32>
  %m = arith.addf %r, %more : tensor<8x8xf32>
  return %m"""
    return MODEL.replace("\n  return %r", more)


CHAOTIC = with_more("sin")
"""What a device makes of the model turns roundings of all but zeros into as much as the results."""


@pytest.mark.parametrize(
    ("original", "plan", "passes", "reference"),
    [
        (MODEL, MODEL, True, ORIGINAL),
        (WRONG, MODEL, True, ON_CPU),
        (MODEL, WRONG, False, ORIGINAL),
        (WRONG, MODEL.replace("2.0", "4.0"), False, ORIGINAL),
        (CHAOTIC, MODEL, True, ON_CPU),
        (CHAOTIC, with_more("tanh"), False, ON_CPU),
    ],
)
def test_a_plan_that_is_right_on_the_cpu_is_right(
    tmp_path: Path, original: str, plan: str, passes: bool, reference: str
) -> None:
    """``original`` stands for what a device makes of the model."""
    for name, text in (("model", MODEL), ("original", original), ("plan", plan)):
        (tmp_path / f"{name}.mlir").write_text(text)
    subjects = subjects_of(parse_module(tmp_path / "model.mlir"), [0], Options())
    variants = [
        Variant("default", tmp_path / "original.mlir", FLAGS),
        Variant(OPTIMIZED, tmp_path / "plan.mlir", FLAGS),
    ]
    source = Source(tmp_path / "model.mlir", from_input_phase=False)
    on_cpu = partial(original_on_cpu, source, (), 60.0)
    setting = EvaluationSetting(RunSetting(), "test", 300.0, on_cpu=on_cpu)
    evaluation = evaluate_variants(variants, subjects, tmp_path, setting, no_oracle)
    assert evaluation.verification.passed == passes
    assert evaluation.verification.reference == reference
    if reference == ON_CPU and passes:
        assert len(evaluation.verification.functions[0].inputs) == len(InputKind)
        assert evaluation.result(OPTIMIZED).milliseconds is not None
        assert evaluation.result("default").milliseconds is None
        said = evaluation.result("default").reason
        assert said.startswith("results differ from 'the original on this machine's CPU': ")
        said = evaluation.verification.reference_reason
        assert ("turns rounding into as much" if original == CHAOTIC else "computed wrong") in said


@pytest.mark.parametrize(("expected", "unchecked"), [(2.0, ""), (3.0, ""), (2.0, "not known")])
def test_an_op_is_right_on_the_cpu_where_the_oracle_says_so(
    tmp_path: Path, expected: float, unchecked: str
) -> None:
    """With flags of a device that is not here, which are not those of the CPU."""
    ones = np.ones(4, np.float32)
    benchmark = Benchmark(
        (Operand("%x", "tensor<4xf32>"),),
        (),
        "%r = arith.addf %x, %x : tensor<4xf32>",
        (Result("%r", "tensor<4xf32>"),),
        load_target("h100").flags,
        lambda: Case((ones,), (), (ones * np.float32(expected),), unchecked=unchecked),
    )
    with Store(tmp_path / "prices.sqlite") as store:
        assert is_right_on_cpu(store, benchmark) == (expected == 2.0 and not unchecked)
