from __future__ import annotations

from dataclasses import replace

import pytest

from layoutopt.pricing.analytic.roofline import estimate
from layoutopt.pricing.analytic.work import Contraction, DispatchWork, Estimate
from layoutopt.profiles.target import Target, load_target

MIB = 1 << 20


def matmul(m: int, n: int, k: int) -> DispatchWork:
    sizes = Contraction(1, m, n, k, "f16")
    return DispatchWork((2 * m * k, 2 * k * n), (2 * m * n,), sizes)


@pytest.fixture
def target() -> Target:
    return load_target("mi355x")


def test_an_empty_dispatch_costs_its_launch(target: Target) -> None:
    made = estimate(DispatchWork((0,), (0,)), target)
    assert (made.ns, made.bound) == (target.rates.launch_ns, "launch")


def test_a_copy_is_bound_by_memory(target: Target) -> None:
    size = 400 * MIB
    made = estimate(DispatchWork((size,), (size,)), target)
    rate = target.rates.bandwidth_gb_s * target.machine.peak_share
    assert made.ns == pytest.approx(target.rates.launch_ns + 2 * size / rate)
    assert made.bound == "memory"


def test_what_fits_a_cache_is_read_faster(target: Target) -> None:
    without = replace(target, machine=replace(target.machine, levels=()))
    small, large = DispatchWork((MIB,), (MIB,)), DispatchWork((400 * MIB,), (MIB,))
    assert estimate(small, target).ns < estimate(small, without).ns
    assert estimate(large, target).ns == estimate(large, without).ns


def test_a_large_contraction_is_bound_by_its_operations(target: Target) -> None:
    work = matmul(8192, 8192, 8192)
    assert work.contraction is not None
    made = estimate(work, target)
    peak = target.rates.gflops["f16"] * target.machine.peak_share
    assert made.ns == pytest.approx(target.rates.launch_ns + work.contraction.operations / peak)
    assert made.bound == "compute"


def test_of_two_equal_estimates_the_surer_is_cheaper() -> None:
    assert Estimate(100, 0.2, "").robust_ns < Estimate(100, 0.6, "").robust_ns


def test_the_interval_is_a_factor_to_both_sides() -> None:
    made = Estimate(100, 0.25, "")
    assert (made.low_ns, made.high_ns) == (80, 125)
