"""Candidates whose dispatches are launched many times in one submission."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from layoutopt.mlir.write.many_launches import Launches
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.measure.compile_many import compile_many
from layoutopt.pricing.measure.measure import Measurer, MeasureSetting, Outcome, Protocol
from layoutopt.profiles.store import Store
from layoutopt.runtime.binding import Device
from layoutopt.runtime.sampling import Launching, WeightsFrom, launching_on

MakeMatmul = Callable[..., Benchmark]


@pytest.mark.parametrize("device", ["local-sync", "local-task"])
def test_many_launches_in_one_submission(device: str, store: Store, matmul: MakeMatmul) -> None:
    """What a GPU is measured with, by the same code on a device that is here."""
    setting = MeasureSetting("host", device, threads=2, protocol=Protocol(launching=Launching(16)))
    plain = MeasureSetting("host", device, threads=2)
    candidates = [matmul(64, 64, 64), matmul(32, 64, 64, offset=1.0), matmul(512, 512, 512)]
    with Measurer(store, setting) as many, Measurer(store, plain) as one:
        results = many.measure(candidates)
        assert one.known(candidates) == [None, None, None]
    assert [r.outcome for r in results] == [Outcome.OK, Outcome.MISMATCH, Outcome.OK]
    assert results[0].median_ns < results[2].median_ns


@pytest.mark.parametrize("device", ["local-sync", "local-task"])
def test_many_launches_that_read_copies_of_their_weights_in_turn(
    device: str, store: Store, matmul: MakeMatmul
) -> None:
    protocol = Protocol(launching=Launching(4), weights_from=WeightsFrom.MEMORY, evict_bytes=20_000)
    setting = MeasureSetting("host", device, threads=2, protocol=protocol)
    with Measurer(store, setting) as measurer:
        results = measurer.measure([matmul(64, 64, 64), matmul(8, 16, 16)])
    assert [(r.outcome, r.reason) for r in results] == [(Outcome.OK, "")] * 2


@pytest.mark.parametrize("weights_from", WeightsFrom)
def test_small_and_large_candidates_on_a_cpu(
    weights_from: WeightsFrom, store: Store, matmul: MakeMatmul
) -> None:
    """In one batch, one is launched often and the other is not; both are right."""
    protocol = Protocol(
        launching=launching_on("local-sync"), weights_from=weights_from, evict_bytes=20_000
    )
    candidates = [matmul(8, 16, 16), matmul(512, 512, 512), matmul(4, 16, 16, offset=1.0)]
    with Measurer(store, MeasureSetting("host", protocol=protocol)) as measurer:
        small, large, wrong = measurer.measure(candidates)
        keys = [measurer.key(candidate) for candidate in candidates]
    assert [r.outcome for r in (small, large, wrong)] == [Outcome.OK, Outcome.OK, Outcome.MISMATCH]
    assert small.median_ns < large.median_ns
    often = ["launches=16" in store.get_many([key])[key].target_fingerprint for key in keys]
    assert often == [True, False, True]


def test_copies_of_weights_hold_what_the_weights_hold(tmp_path: Path, matmul: MakeMatmul) -> None:
    candidate = matmul(16, 32, 64)
    case = candidate.case()
    module = tmp_path / "c.vmfb"
    source = tmp_path / "c.mlir"
    source.write_text(candidate.function("c0", "c0_w"))
    outcome = compile_many(Launches(4, 20_000), ["c0"])(source, module, candidate.flags, 60.0)
    assert outcome.ok, outcome.reason
    program = Device("local-sync", 1).load(module, {"c0_w_0": case.weights[0]})
    for name in ("c0", "c0_many"):
        (got,) = program.prepare(name, case.arguments).run()
        np.testing.assert_allclose(got, case.results[0], atol=1e-4)
