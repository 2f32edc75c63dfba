"""A scheduler and workers on this machine, with made-up timings."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutopt.errors import InputError
from layoutopt.pricing.farm.chunk import Chunk, ChunkSetting
from layoutopt.pricing.farm.measurer import FarmMeasurer, connect
from layoutopt.profiles.store import Store
from layoutopt.profiles.store_record import Record
from tests.benchmarks.simulate_farm import SETTING, made_up_benchmark, made_up_records

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, when workers are killed


def slow_records(chunk: Chunk, setting: ChunkSetting) -> tuple[Record, ...]:
    time.sleep(0.15)
    return made_up_records(chunk, setting)


def deadly_records(chunk: Chunk, setting: ChunkSetting) -> tuple[Record, ...]:
    if any("number = 3 " in benchmark.body for benchmark in chunk.benchmarks):
        os.kill(os.getpid(), signal.SIGKILL)
    return made_up_records(chunk, setting)


@pytest.fixture
def cluster() -> Iterator[object]:
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50,
            resources={SETTING.resource: 1},
        ) as made,
    ):  # fmt: skip
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "prices.sqlite") as opened:
        yield opened


def test_a_worker_that_is_killed_mid_run(cluster: object, store: Store) -> None:
    candidates = [made_up_benchmark(number) for number in range(60)]
    with distributed.Client(cluster, set_as_default=False) as client:
        pids = sorted(client.run(os.getpid).values())
        farm = FarmMeasurer(store, client, SETTING, slow_records, chunk=4)
        killer = threading.Timer(0.7, os.kill, (pids[0], signal.SIGKILL))
        killer.start()
        results = farm.measure(candidates)
        killer.join()
    assert all(result.ok for result in results)
    assert len(results) == sum(1 for _ in store.records()) == 60


def test_a_candidate_that_kills_its_workers_is_refused(cluster: object, store: Store) -> None:
    candidates = [made_up_benchmark(number) for number in range(6)]
    with distributed.Client(cluster, set_as_default=False) as client:
        farm = FarmMeasurer(store, client, SETTING, deadly_records, chunk=2)
        results = farm.measure(candidates)
        assert farm.measure(candidates) == results
    assert Counter(result.ok for result in results) == {True: 5, False: 1}
    assert results[3].reason == "several workers were lost while they measured it"


def test_no_worker_holds_the_device(cluster: object, store: Store) -> None:
    setting = ChunkSetting("host", "hip://0", 1, "0/0", "", "")
    with distributed.Client(cluster, set_as_default=False) as client:
        farm = FarmMeasurer(store, client, setting, made_up_records)
        with pytest.raises(InputError) as caught:
            farm.measure([made_up_benchmark(1)])
    assert str(caught.value) == (
        "scheduler: expected a worker with the resource 'hip', but got 2 without; "
        'start one with `dask worker ... --resources "hip=1"`'
    )


def test_no_scheduler_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("layoutopt.pricing.farm.measurer.CONNECT_TIMEOUT_S", 0.3)
    with pytest.raises(InputError) as caught:
        connect("tcp://127.0.0.1:9")
    assert "expected a Dask scheduler that answers" in str(caught.value)
