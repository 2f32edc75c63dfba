"""How far a choice is from the peak rates of its target."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from layoutopt.options import Options
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.analytic.work import Contraction, DispatchWork
from layoutopt.profiles.target import Rates, load_target
from layoutopt.report.report import ChoiceReport
from layoutopt.report.roofline import peak_rates, roof, roof_of
from layoutopt.report.terminal import show
from tests.made_up_prices import MadeUpPrices
from tests.parsing import lifted
from tests.planning import setting
from tests.reports import REPORT

RATES = Rates({"f32": 100.0, "i8": 400.0}, bandwidth_gb_s=10.0, launch_ns=0)
MATMUL = """
func.func @main(%x: tensor<64x128xf32>, %w: tensor<128x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<64x128xf32>, tensor<128x32xf32>)
      outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}
"""


@pytest.mark.parametrize(
    ("work", "least_ns"),
    [
        (DispatchWork((1000,), (500,)), 150.0),  # 1500 bytes at 10 a nanosecond
        (DispatchWork((10,), (10,), Contraction(1, 10, 10, 100, "f32")), 200.0),
        (DispatchWork((10,), (10,), Contraction(1, 10, 10, 100, "i8")), 50.0),
        (DispatchWork((10,), (10,), Contraction(1, 10, 10, 100, "f16")), 200.0),  # as f32
        (DispatchWork((9000,), (1000,), Contraction(1, 10, 10, 100, "f32")), 1000.0),
    ],
)
def test_the_slower_of_memory_and_arithmetic_is_the_roof(
    work: DispatchWork, least_ns: float
) -> None:
    assert roof([work], RATES).least_ns == least_ns


def test_dispatches_run_one_behind_the_other() -> None:
    computing = DispatchWork((10,), (10,), Contraction(1, 10, 10, 100, "f32"))
    moving = DispatchWork((1000,), (500,))
    found = roof([computing, moving], RATES)
    assert (found.operations, found.size_bytes, found.least_ns) == (20_000, 1520, 350.0)


def test_a_choice_of_a_plan_has_the_work_of_its_op() -> None:
    target = load_target("x86-64-avx512")
    prices = MadeUpPrices(lambda work: 1000)
    plan = plan_graph(lifted(MATMUL), setting(target, prices, Options()))
    found = [roof_of(plan, chosen, target, RATES) for chosen in plan.choice.candidates]
    assert max(one.operations for one in found if one is not None) == 2 * 64 * 128 * 32


def test_the_report_shows_rates_and_their_share_of_the_roof() -> None:
    choice = ChoiceReport(
        "main", "contraction.1", "as it came", {}, 4000, None, None, tried=17,
        operations=200_000, size_bytes=20_000, roof_ns=2000.0,
    )  # fmt: skip
    stream = io.StringIO()
    show(replace(REPORT, choices=(choice,)), Console(file=stream, width=160))
    lines = [line.strip() for line in stream.getvalue().splitlines()]
    (row,) = [line for line in lines if line.startswith("contraction.1 ")]
    assert row.split() == [
        "contraction.1", "as", "it", "came", "4.0", "50", "%", "50.0", "5.0", "17", "-", "-",
    ]  # fmt: skip


def test_what_has_no_roof_shows_none() -> None:
    free = ChoiceReport("main", "reshape.1", "as it came", {}, 0, None, None, roof_ns=1.0)
    assert free.of_roof is None
    assert replace(free, cost_ns=10, roof_ns=None).of_roof is None


def test_the_rates_of_this_machine_are_timed_and_those_of_others_are_known() -> None:
    elsewhere = load_target("mi355x")
    assert peak_rates(elsewhere, 1) == elsewhere.rates
    here = load_target("host")
    found = peak_rates(here, 1)
    assert 0.1 < found.gflops["f32"] < 100_000
    for element, rate in here.rates.gflops.items():
        share = rate / here.rates.gflops["f32"]
        rounding = 0.1 * (1 + share)
        expected = pytest.approx(share * found.gflops["f32"], rel=1e-6, abs=rounding)
        assert found.gflops[element] == expected
    assert 0.1 < found.bandwidth_gb_s < 10_000
