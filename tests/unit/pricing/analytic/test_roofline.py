from __future__ import annotations

from dataclasses import replace

import pytest

from layoutopt.pricing.analytic.kernel import Kernel
from layoutopt.pricing.analytic.roofline import estimate
from layoutopt.pricing.analytic.work import Contraction, DispatchWork, Estimate
from layoutopt.profiles.machine import WorkgroupTile
from layoutopt.profiles.target import Target, load_target

MIB = 1 << 20
KERNEL = Kernel("k", 64, 170, 0, 50688, 256, 64, WorkgroupTile(64, 128, 128))


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
    rate = target.rates.bandwidth_gb_s * target.machine.stream_share
    assert made.ns == pytest.approx(target.rates.launch_ns + 2 * size / rate)
    assert made.bound == "memory"


def test_copy_engines_lose_bandwidth_on_large_transfers(target: Target) -> None:
    def rate(size: int) -> float:
        ns = estimate(DispatchWork((), (size,), engine=True), target).ns
        return size / (ns - target.rates.launch_ns)

    assert rate(2048 * MIB) == pytest.approx(rate(512 * MIB) / 2)


def test_short_runs_cost_a_copy_engine_more(target: Target) -> None:
    long = estimate(DispatchWork((MIB,), (MIB,), runs=100), target).ns
    short = estimate(DispatchWork((MIB,), (MIB,), runs=100_000), target).ns
    assert short - long == pytest.approx(99_900 * target.machine.copy_run_ns)


def test_what_fits_a_cache_is_read_faster(target: Target) -> None:
    without = replace(target, machine=replace(target.machine, levels=()))
    small, large = DispatchWork((MIB,), (MIB,)), DispatchWork((400 * MIB,), (MIB,))
    assert estimate(small, target).ns < estimate(small, without).ns
    assert estimate(large, target).ns == estimate(large, without).ns


def slowdown_by_one_row(target: Target) -> float:
    """What one row more costs a matmul that has a tile for each compute unit."""
    rows = 64 * target.machine.compute_units
    full, more = (estimate(matmul(m, 128, 4096), target, KERNEL) for m in (rows, rows + 1))
    assert full.bound == "compute"
    return (more.ns - target.rates.launch_ns) / (full.ns - target.rates.launch_ns)


def test_a_tile_more_than_units_costs_units_that_multiply_a_wave(target: Target) -> None:
    fed = replace(
        target,
        machine=replace(target.machine, feed_gb_s=1e9),
        rates=replace(target.rates, bandwidth_gb_s=1e9),
    )
    assert slowdown_by_one_row(fed) == pytest.approx(2)


def test_a_tile_more_costs_a_shared_cache_its_share(target: Target) -> None:
    assert slowdown_by_one_row(target) == pytest.approx(1 + 1 / target.machine.compute_units)


def test_a_tile_alone_is_not_fed_faster_than_one_of_a_wave(target: Target) -> None:
    one, all_of_them = (
        estimate(matmul(64 * tiles, 128, 65536), target, KERNEL).ns
        for tiles in (1, target.machine.compute_units)
    )
    assert one == pytest.approx(all_of_them)


def test_no_matrix_instruction_is_a_cliff(target: Target) -> None:
    work = matmul(8192, 1024, 4096)
    plain = replace(KERNEL, matrix_instructions=0, tile=None)
    fast, slow = estimate(work, target, KERNEL), estimate(work, target, plain)
    assert slow.ns > 20 * fast.ns
    assert slow.bound == "no matrix instruction"


def test_three_channels_do_without_matrix_instructions(target: Target) -> None:
    assert estimate(matmul(1 << 20, 3, 288), target).bound == "no matrix instruction"


def test_spills_and_low_occupancy_cost_time(target: Target) -> None:
    work = matmul(8192, 1024, 4096)
    plain = estimate(work, target, KERNEL).ns
    spilling = estimate(work, target, replace(KERNEL, vgpr_spills=200))
    assert spilling.ns > 2 * plain
    assert spilling.bound == "spills"
    assert estimate(work, target, replace(KERNEL, lds_bytes=163840)).ns > 1.1 * plain


def test_a_compiled_kernel_makes_an_estimate_surer(target: Target) -> None:
    work = matmul(8192, 1024, 4096)
    assert estimate(work, target, KERNEL).uncertainty < estimate(work, target).uncertainty


def test_of_two_equal_estimates_the_surer_is_cheaper() -> None:
    assert Estimate(100, 0.2, "").robust_ns < Estimate(100, 0.6, "").robust_ns
