"""Where an estimate gives way: to a measurement, to the compiled kernel, to a surer alternative."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.candidates.candidate import PhysicalForm
from layoutopt.ir.graph import Graph, Insert
from layoutopt.ir.types import TensorType
from layoutopt.pricing.analytic.form import dispatch_work
from layoutopt.pricing.analytic.roofline import estimate
from layoutopt.pricing.measure.benchmark import Benchmark, Case, Operand, Result
from layoutopt.pricing.measure.measure import Place
from layoutopt.pricing.prices import Analytic, Work
from layoutopt.profiles.store import Store
from layoutopt.profiles.store_record import Provenance, Record
from layoutopt.profiles.target import Target, load_target
from layoutopt.runtime.progress import Silent
from layoutopt.runtime.version import iree_version

KINDS = (TensorType((8, 64), "f32"), TensorType((16, 64), "f32"), TensorType((16, 64), "f32"))


def no_case() -> Case:
    return Case((), (), ())


@pytest.fixture
def target() -> Target:
    return load_target("mi355x")


@pytest.fixture
def work() -> Work:
    graph = Graph(KINDS, (Insert(0, 1, 2, (0, 0), (2, 1)),), (0, 1), (2,))
    text = '%r = "test.insert"(%x)'
    benchmark = Benchmark(
        (Operand("%x", str(KINDS[0])),), (), text, (Result("%r", str(KINDS[2])),), (), no_case
    )
    return Work(PhysicalForm(graph, (0, 1), (), (2,)), benchmark, 0)


def test_an_estimate_carries_its_uncertainty(target: Target, work: Work) -> None:
    (price,) = Analytic(target).price([work], Silent())
    plain = estimate(dispatch_work(work.form, target), target)
    assert price.uncertainty == plain.uncertainty > 0
    assert price.cost_ns == round(plain.ns * (1 + plain.uncertainty / 2))


@pytest.mark.parametrize(
    ("outcome", "samples", "cost"),
    [("ok", (90_000, 100_000, 110_000), 100_000), ("run-crash", (), None)],
)
def test_what_was_measured_elsewhere_goes_before_an_estimate(
    target: Target, work: Work, tmp_path: Path, outcome: str,
    samples: tuple[int, ...], cost: int | None,
) -> None:  # fmt: skip
    place = Place(target.place, target.device).fingerprint(work.benchmark)
    key = work.benchmark.key(place, iree_version())
    provenance = Provenance("layoutopt profile", "2026-01-01T00:00:00Z", "farm")
    reason = "" if cost else "why"
    with Store(tmp_path / "prices.sqlite") as store:
        store.put(Record(key, place, iree_version(), (), "", outcome, samples, reason, provenance))
        (price,) = Analytic(target, store=store).price([work], Silent())
    assert price.cost_ns == cost
    assert price.reason == ("" if cost else "run-crash: why")
