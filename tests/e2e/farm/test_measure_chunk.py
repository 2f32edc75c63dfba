"""Farm workers that compile and time real candidates."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from layoutopt.candidates.explore import explore
from layoutopt.cli.main import cli
from layoutopt.ir.graph import Graph
from layoutopt.mlir.module import parse_module
from layoutopt.pricing.farm.chunk import setting
from layoutopt.pricing.farm.measurer import FarmMeasurer
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.prices import candidate_work
from layoutopt.profiles.store import Store
from layoutopt.profiles.target import load_target
from layoutopt.runtime.progress import Silent
from layoutopt.runtime.sampling import Protocol

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, when workers are killed

MODEL = """
func.func @dense(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %m = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x32xf32>)
      outs(%init : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %m : tensor<8x32xf32>
}
"""


TRANSPOSE = """
func.func @turn(%x: tensor<8x16xf32>) -> tensor<16x8xf32> {
  %e = tensor.empty() : tensor<16x8xf32>
  %y = linalg.transpose ins(%x : tensor<8x16xf32>) outs(%e : tensor<16x8xf32>) permutation = [1, 0]
  return %y : tensor<16x8xf32>
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "dense.mlir"
    path.write_text(MODEL)
    return path


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[object]:
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 2}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50,
            resources={"local-sync": 1}, env={"XDG_CACHE_HOME": str(tmp_path / "worker")},
        ) as made,
    ):  # fmt: skip
        yield made


def benchmarks(model: Path) -> list[Benchmark]:
    """The candidates of a model as they are measured."""
    target = load_target("host")
    graph: Graph = parse_module(model).graphs[0]
    space = explore(graph, target)
    work, _ = candidate_work(space.egraph.graph, space.clusters, space.candidates, target, 0)
    return [piece.benchmark for _, piece in work if not piece.form.is_free]


class KillOnFirst(Silent):
    """Kills a worker as soon as a result is in."""

    def __init__(self, pid: int) -> None:
        self.pid: int | None = pid

    def advance(self, candidates: int = 1) -> None:
        """A result arrived, or was known before."""
        if candidates and self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
            self.pid = None


@pytest.mark.long
def test_real_candidates_with_a_worker_lost(cluster: object, model: Path, tmp_path: Path) -> None:
    texts: dict[str, Benchmark] = {b.text: b for b in benchmarks(model)}
    candidates = list(texts.values())[:5]
    assert len(candidates) == 5
    target = load_target("host")
    with (
        distributed.Client(cluster, set_as_default=False) as client,
        Store(tmp_path / "prices.sqlite") as store,
    ):
        pids = sorted(client.run(os.getpid).values())
        where = setting(target.place, target.device, 1, Protocol())
        farm = FarmMeasurer(store, client, where, chunk=2)
        results = farm.measure(candidates, KillOnFirst(pids[0]))
        assert all(result.ok for result in results)
        kept = {record.key: record for record in store.records()}
        assert {farm.key(candidate) for candidate in candidates} == set(kept)
    with Store(tmp_path / "worker" / "layoutopt" / "farm" / "prices.sqlite") as own:
        assert {record.key for record in own.records()} == set(kept)


def test_prices_of_a_farm_serve_the_machine_that_asked(cluster: object, tmp_path: Path) -> None:
    model = tmp_path / "turn.mlir"
    model.write_text(TRANSPOSE)
    address = str(cluster.scheduler_address)  # type: ignore[attr-defined]
    cache = ["--cache", str(tmp_path / "cache")]
    far = CliRunner().invoke(cli, ["profile", str(model), "--scheduler", address, *cache])
    assert far.exit_code == 0, far.output
    assert "Measured now: 0;" not in far.output
    near = CliRunner().invoke(cli, ["profile", str(model), *cache])
    assert near.exit_code == 0, near.output
    assert "Measured now: 0;" in near.output
