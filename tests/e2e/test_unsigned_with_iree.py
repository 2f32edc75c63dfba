"""Contractions of bytes with one factor unsigned, as IREE runs them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layoutopt.candidates.explore import explore
from layoutopt.pricing.measure.measure import Measurer, MeasureSetting, Outcome
from layoutopt.pricing.prices import candidate_work
from layoutopt.profiles.store import Store
from layoutopt.profiles.target import load_target
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
