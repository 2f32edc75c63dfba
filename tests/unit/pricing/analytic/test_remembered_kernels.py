"""Facts of kernels that earlier runs left behind."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from layoutopt.pricing.analytic.compiled_kernels import Kernels


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"key": "a", "steps": [{"name": "x", "kernel": {"workgroups": 1}}]}', 0),
        ('{"key": "a", "steps": [{"na', 1),
    ],
    ids=["fields of an earlier version", "half a line"],
)
def test_facts_that_cannot_be_read_are_left_out(
    line: str, said: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "kernels.jsonl"
    path.write_text(f'{line}\n{{"key": "b", "reason": "no"}}\n')
    with caplog.at_level(logging.WARNING):
        kernels = Kernels(path, "mi355x")
    assert kernels.known([]) == []
    assert [record.levelname for record in caplog.records] == ["WARNING"] * said
