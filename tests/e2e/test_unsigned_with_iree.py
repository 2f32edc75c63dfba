"""Contractions of bytes with one factor unsigned, as IREE runs them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layoutopt.candidates.explore import explore
from layoutopt.candidates.form import Form
from layoutopt.pricing.measure.measure import Measurer, MeasureSetting, Outcome
from layoutopt.pricing.prices import candidate_work
from layoutopt.profiles.store import Store
from layoutopt.profiles.target import load_target
from layoutopt.verification.planned_dispatches import planned_dispatches
from tests.unit.candidates.test_byte_panels import FOLLOWED, model
from tests.unit.candidates.test_unsigned import matmul


@pytest.mark.parametrize(("rows", "columns"), [(37, 48), (1, 48), (37, 1), (3, 5)])
def test_every_candidate_computes_the_same(tmp_path: Path, rows: int, columns: int) -> None:
    """On any processor: where it has no such instructions, IREE tiles as it does without."""
    *_, target = replace(load_target("host"), byte_products=True).tilings({"i8"})
    graph = matmul("i8", "i8", "i32", rows=rows, columns=columns)
    space = explore(graph, target)
    work, _ = candidate_work(space.egraph.graph, space.clusters, space.candidates, target, 0)
    tiled = [piece.benchmark for candidate, piece in work if candidate.form.is_data_tiled]
    assert tiled
    assert all("arith.extui" in benchmark.text for benchmark in tiled)
    with (
        Store(tmp_path / "prices.sqlite") as store,
        Measurer(store, MeasureSetting("host")) as measurer,
    ):
        results = measurer.measure(tiled)
    assert [(r.outcome, r.reason) for r in results] == [(Outcome.OK, "")] * len(tiled)


@pytest.mark.skipif(not load_target("host").byte_products, reason="no such instruction here")
@pytest.mark.parametrize("follow", ["", FOLLOWED])
@pytest.mark.parametrize(
    ("m", "n", "k"), [(28, 64, 64), (27, 48, 27), (169, 30, 12), (7, 256, 512), (1, 64, 64)]
)
def test_panels_of_bytes_run_by_the_instruction(
    tmp_path: Path, m: int, n: int, k: int, follow: str
) -> None:
    target = load_target("host")
    space = explore(model(m, n, k, follow=follow), target)
    work, _ = candidate_work(space.egraph.graph, space.clusters, space.candidates, target, 0)
    panels = [piece.benchmark for c, piece in work if c.form is Form.BYTE_PANELS]
    assert panels
    with (
        Store(tmp_path / "prices.sqlite") as store,
        Measurer(store, MeasureSetting("host")) as measurer,
    ):
        results = measurer.measure(panels)
    assert [(r.outcome, r.reason) for r in results] == [(Outcome.OK, "")] * len(panels)
    (found,) = planned_dispatches(panels[:1], tmp_path, 60.0).values()
    assert len(found) == 2, "unsigned bytes, and the sums with what is computed from them"
