"""Packs in the input: what is left of them, and that the plan computes the same."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from layoutopt.ir.graph import Constant
from layoutopt.oracle import evaluate
from tests.conformance.cases import Case
from tests.conformance.planned import CASES, by_upstream, left, lowered, planned, written
from tests.parsing import lifted
from tests.property.rules.equivalence import leaves


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.name))
def test_a_plan_computes_the_same(case: Case) -> None:
    graph = lifted(case.text)
    found = lowered(graph)
    given = leaves(graph, Random(0))
    made = {op.result for op in found.graph.ops if isinstance(op, Constant)}
    inside = {found.inputs[t]: v for t, v in given.items() if t in found.inputs}
    for weight in found.hoisted:
        constants = {weight.inputs[t]: given[t] for t in weight.inputs}
        inside[weight.planned_tensor] = evaluate(weight.graph, constants)[weight.result]
    assert made <= inside.keys()
    values, wanted = evaluate(found.graph, inside), evaluate(graph, given)
    for tensor in graph.outputs:
        there = values[found.outputs[tensor]]
        assert there.dtype == wanted[tensor].dtype
        np.testing.assert_allclose(
            there.astype(np.float64), wanted[tensor].astype(np.float64), rtol=1e-5, atol=1e-5
        )


def test_no_more_conversions_are_left_than_the_ends_need(tmp_path: Path) -> None:
    found = left(planned(written(CASES, tmp_path / "cases.mlir")))
    assert {c.name: found[c.name] for c in CASES} == {c.name: c.most for c in CASES}


def test_upstream_leaves_no_fewer_conversions_in_any_case(tmp_path: Path) -> None:
    path = written(CASES, tmp_path / "cases.mlir")
    upstream = left(by_upstream(path, tmp_path))
    assert [c.name for c in CASES if upstream[c.name] < c.most] == []
    assert sum(c.most for c in CASES) * 2 < upstream.total()
