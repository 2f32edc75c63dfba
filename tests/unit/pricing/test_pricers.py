"""Which prices a target takes: those of its device, its threads and the state of its caches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layoutopt.errors import InputError
from layoutopt.ir.weights import WeightReuse
from layoutopt.options import Options
from layoutopt.pricing import pricers
from layoutopt.pricing.measure.benchmark import Benchmark, Case, Operand
from layoutopt.pricing.measure.measure import Measurer, Place
from layoutopt.pricing.pricers import at_device, open_pricer, weights_of
from layoutopt.pricing.prices import Analytic, Measured, Pricer
from layoutopt.pricing.weights_place import CachesLeft, caches_of, evicted_bytes, weights_of_a_run
from layoutopt.profiles.host import Caches
from layoutopt.profiles.store import Store
from layoutopt.profiles.target import load_target
from layoutopt.runtime.sampling import WeightsFrom

WEIGHT = Operand("%w0", "tensor<4xf32>")


def place_of(pricer: Pricer) -> Place:
    source = pricer.measurer if isinstance(pricer, Measured) else pricer
    assert isinstance(source, Measurer | Analytic)
    return source.place


def benchmark(*weights: Operand) -> Benchmark:
    return Benchmark((), weights, "", (), (), lambda: Case((), (), ()))


@pytest.mark.parametrize("profile", ["host", "mi355x"])
def test_prices_of_weights_from_memory_are_kept_apart(tmp_path: Path, profile: str) -> None:
    places = []
    with Store(tmp_path / "prices.sqlite") as store:
        for options in (Options(), Options(weights_from=WeightsFrom.MEMORY), Options(threads=2)):
            with open_pricer(store, load_target(profile), options) as pricer:
                places.append(place_of(pricer))
    with_weights = [place.fingerprint(benchmark(WEIGHT)) for place in places]
    without = [place.fingerprint(benchmark()) for place in places]
    assert len(set(with_weights)) == 3
    assert with_weights[1] == f"{with_weights[0]} weights=memory"
    assert without[0] == without[1] != without[2]


CACHES = Caches(1 << 20, 32 << 20)


@pytest.mark.parametrize(
    ("reuse", "expected", "evicted"),
    [
        (WeightReuse(0), WeightsFrom.CACHES, 0),
        (WeightReuse(1 << 19), WeightsFrom.CACHES, 0),
        (WeightReuse((1 << 19) + 1), WeightsFrom.LAST_CACHE, 2 << 20),
        (WeightReuse(32 << 20), WeightsFrom.LAST_CACHE, 2 << 20),
        (WeightReuse((32 << 20) + 1), WeightsFrom.MEMORY, 64 << 20),
        (WeightReuse(24 << 20, in_windows_bytes=8 << 20), WeightsFrom.LAST_CACHE, 2 << 20),
        (WeightReuse(24 << 20, in_windows_bytes=(8 << 20) + 1), WeightsFrom.MEMORY, 64 << 20),
        (
            WeightReuse(32 << 20, in_loop=True, in_windows_bytes=32 << 20),
            WeightsFrom.LAST_CACHE,
            2 << 20,
        ),
        (WeightReuse((32 << 20) + 1, in_loop=True), WeightsFrom.MEMORY, 64 << 20),
        (WeightReuse(1 << 20, planned=True), WeightsFrom.CACHES, 0),
        (
            WeightReuse(32 << 20, planned=True, in_windows_bytes=32 << 20),
            WeightsFrom.LAST_CACHE,
            2 << 20,
        ),
        (WeightReuse((32 << 20) + 1, planned=True), WeightsFrom.MEMORY, 64 << 20),
    ],
)
def test_weights_are_where_so_many_bytes_fit(
    reuse: WeightReuse, expected: WeightsFrom, evicted: int
) -> None:
    assert weights_of_a_run(reuse, CACHES) is expected
    assert weights_of_a_run(reuse, None) is WeightsFrom.CACHES
    assert evicted_bytes(expected, CACHES) == evicted
    assert evicted_bytes(expected, None) == 0


@pytest.mark.parametrize(
    ("kept_s", "operations", "expected"),
    [
        (0.01, 400e6, WeightsFrom.LAST_CACHE),  # 10 ms at half of the peak
        (0.01, 440e6, WeightsFrom.MEMORY),
        (None, 440e9, WeightsFrom.LAST_CACHE),  # others leave it alone
    ],
)
def test_weights_leave_a_shared_cache_where_a_run_takes_long(
    kept_s: float | None, operations: float, expected: WeightsFrom, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = load_target("host")
    host = replace(host, rates=replace(host.rates, gflops={"f32": 80.0}))
    monkeypatch.setattr(pricers, "caches_left", lambda *_: CachesLeft(CACHES, CACHES, kept_s))
    assert weights_of(host, Options(), WeightReuse(8 << 20, False, int(operations))) is expected
    small = WeightReuse(1 << 19, False, int(operations))
    assert weights_of(host, Options(), small) is WeightsFrom.CACHES


def test_what_the_user_says_of_weights_goes_before_their_size(tmp_path: Path) -> None:
    host = load_target("host")
    for options, expected in (
        (Options(), WeightsFrom.MEMORY),
        (Options(weights_from=WeightsFrom.CACHES), WeightsFrom.CACHES),
        (Options(weights_from=WeightsFrom("last-cache")), WeightsFrom.LAST_CACHE),
    ):
        with (
            Store(tmp_path / "prices.sqlite") as store,
            open_pricer(store, host, options, weight_reuse=WeightReuse(1 << 40)) as pricer,
        ):
            assert place_of(pricer).weights_from is expected


def test_weights_are_in_the_cache_of_a_gpu_or_in_its_memory(tmp_path: Path) -> None:
    gpu = at_device(load_target("h100"), "cuda", None, 1)
    size = gpu.machine.levels[-1].size_bytes
    assert weights_of(gpu, Options(), WeightReuse(size * 3 // 4)) is WeightsFrom.CACHES
    assert weights_of(gpu, Options(), WeightReuse(size * 3 // 4 + 1)) is WeightsFrom.MEMORY
    assert evicted_bytes(WeightsFrom.MEMORY, caches_of(gpu)) == 2 * size
    with (
        Store(tmp_path / "prices.sqlite") as store,
        pytest.raises(InputError, match="--weights-from: expected 'caches' or 'memory' on cuda"),
        open_pricer(store, gpu, Options(weights_from=WeightsFrom.LAST_CACHE)),
    ):
        pass
    unknown = replace(gpu, machine=replace(gpu.machine, levels=()))
    assert weights_of(unknown, Options(), WeightReuse(1 << 40)) is WeightsFrom.CACHES
    with pytest.raises(InputError, match="--weights-from: expected 'caches' on cuda, but got"):
        weights_of(unknown, Options(weights_from=WeightsFrom.MEMORY), WeightReuse(1 << 40))


def test_threads_compute_together() -> None:
    one = load_target("host")
    two = at_device(one, None, None, 2)
    assert two.rates.gflops == {name: 2 * rate for name, rate in one.rates.gflops.items()}
    assert at_device(two, None, None, 2) == two


def test_what_is_measured_here_is_no_price_of_a_target_elsewhere(tmp_path: Path) -> None:
    absent = load_target("x86-64-avx2")
    here = at_device(absent, "local-sync", None, 1)
    with Store(tmp_path / "prices.sqlite") as store:
        with open_pricer(store, here, Options()) as pricer:
            assert isinstance(pricer, Measured)
            measured = place_of(pricer)
        with open_pricer(store, absent, Options()) as pricer:
            assert isinstance(pricer, Analytic)
            assert place_of(pricer).target != measured.target
        with open_pricer(store, load_target("host"), Options()) as pricer:
            assert isinstance(pricer, Measured)
            assert place_of(pricer) == measured
