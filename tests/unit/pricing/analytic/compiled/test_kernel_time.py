from __future__ import annotations

from dataclasses import replace

import pytest

from layoutopt.pricing.analytic.compiled.assembly import Counts
from layoutopt.pricing.analytic.compiled.kernel_facts import Body, KernelFacts
from layoutopt.pricing.analytic.compiled.kernel_time import kernel_time, workgroups_together
from layoutopt.pricing.analytic.compiled.memory_lines import Lines
from layoutopt.pricing.analytic.compiled.read_module import Step
from layoutopt.pricing.analytic.estimate import estimate_steps
from layoutopt.profiles.target import Target, load_target

LOOP = Body(
    100.0,
    Counts(
        matrix=16,
        matrix_cycles=256,
        vector_cycles=100,
        loads=4,
        lds_reads=12,
        lds_writes=4,
        barriers=2,
        lds_write_bytes=64,
    ),
    Lines(4, 16384, 128, 128, 32, 1.0, 1.0),
    Lines(),
    300.0,
)
KERNEL = KernelFacts(1024, 256, 64, 100, 0, 16384, (LOOP,), 3 << 20)


@pytest.fixture
def target() -> Target:
    return load_target("mi355x")


def ns(kernel: KernelFacts, target: Target) -> float:
    assert target.kernel_rates is not None
    return kernel_time(kernel, target.machine, target.kernel_rates).ns


def with_loop(**changed: object) -> KernelFacts:
    return replace(KERNEL, bodies=(replace(LOOP, **changed),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("vgprs", "lds_bytes", "waves", "together"),
    [(100, 16384, 4, 4), (256, 0, 4, 2), (512, 0, 4, 1), (8, 163840, 4, 1), (8, 0, 1, 32)],
)
def test_registers_and_shared_memory_bound_what_runs_together(
    target: Target, vgprs: int, lds_bytes: int, waves: int, together: int
) -> None:
    kernel = replace(KERNEL, vgprs=vgprs, lds_bytes=lds_bytes, workgroup_size=64 * waves)
    assert workgroups_together(kernel, target.machine) == together


def test_no_kernel_is_faster_than_its_matrix_instructions(target: Target) -> None:
    assert target.kernel_rates is not None
    cycles = 100 * 256 * 1024 / target.machine.compute_units
    assert ns(KERNEL, target) > cycles / target.kernel_rates.clock_ghz


@pytest.mark.parametrize(
    "slower",
    [
        with_loop(rounds=200.0),
        with_loop(counts=replace(LOOP.counts, matrix_cycles=2048)),
        with_loop(counts=replace(LOOP.counts, vector_cycles=4000)),
        with_loop(counts=replace(LOOP.counts, barriers=20)),
        with_loop(counts=replace(LOOP.counts, scratch_bytes=256)),
        replace(with_loop(counts=replace(LOOP.counts, scratch_bytes=64)), scratch_bytes=4096),
        with_loop(lds_cycles=3000.0),
        with_loop(reads=replace(LOOP.reads, wave=2000)),
        with_loop(reads=replace(LOOP.reads, shared=128.0)),
        replace(KERNEL, workgroups=4096),
        replace(KERNEL, lds_bytes=163840),
        replace(KERNEL, touched_bytes=(1 << 32) + (1 << 21)),
    ],
)
def test_more_of_anything_takes_longer(target: Target, slower: KernelFacts) -> None:
    assert ns(slower, target) > 1.01 * ns(KERNEL, target)


def test_a_last_workgroup_more_than_fits_costs_a_wave(target: Target) -> None:
    full = target.machine.compute_units * workgroups_together(KERNEL, target.machine)
    one = ns(replace(KERNEL, workgroups=full), target)
    assert ns(replace(KERNEL, workgroups=full + 1), target) > 1.2 * one
    assert ns(replace(KERNEL, workgroups=full - 1), target) == pytest.approx(one, rel=0.01)


def test_what_bounds_a_kernel_is_named(target: Target) -> None:
    assert target.kernel_rates is not None
    stream = replace(KERNEL, touched_bytes=1 << 34)
    found = kernel_time(stream, target.machine, target.kernel_rates)
    assert found.bound == "memory"
    assert kernel_time(KERNEL, target.machine, target.kernel_rates).bound == "compute units"


def test_a_kernel_without_matrix_instructions_is_less_sure(target: Target) -> None:
    assert target.kernel_rates is not None
    plain = with_loop(counts=replace(LOOP.counts, matrix=0, matrix_cycles=0, vector_cycles=9000))
    sure, unsure = (estimate_steps((Step("k", k),), target).uncertainty for k in (KERNEL, plain))
    assert sure == pytest.approx(target.kernel_rates.uncertainty)
    assert unsure == pytest.approx(target.kernel_rates.uncertainty_vector)


def test_a_kernel_that_was_not_understood_takes_as_long_as_what_is_sure(target: Target) -> None:
    steps = Step("k", KERNEL, 4, "why"), Step("k", KERNEL, 1 << 34, "why")
    short, long = (estimate_steps((step,), target) for step in steps)
    assert short.ns == pytest.approx(target.rates.launch_ns + ns(KERNEL, target))
    assert long.ns > 10 * short.ns
    assert short.uncertainty == pytest.approx(target.machine.uncertainty)


def test_a_kernel_that_was_not_read_is_priced_by_its_bytes(target: Target) -> None:
    made = estimate_steps((Step("k", None, 1 << 30, "why"),), target)
    assert made.uncertainty == pytest.approx(target.machine.uncertainty)
    assert made.reason == "why"
    assert made.low_ns < made.ns < made.high_ns
