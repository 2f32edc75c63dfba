"""Rows that are finished stay, whatever comes after them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from layoutopt.cli import bench
from layoutopt.errors import InputError

FAILS = InputError("b.onnx", "a model that onnxruntime runs", "a crash", "leave the peer out")


@pytest.fixture(autouse=True)
def planned(monkeypatch: pytest.MonkeyPatch) -> None:
    def optimize(model: Path, *rest: object) -> SimpleNamespace:
        if model.name == "gone.onnx":
            raise InputError(str(model), "a model file", "no such file", "check the path")
        flag_sets = [SimpleNamespace(name="default", measured_ms=2.0)]
        return SimpleNamespace(report=SimpleNamespace(flag_sets=flag_sets))

    def time_peer(name: str, model: Path, threads: int) -> float:
        if model.name == "b.onnx":
            raise FAILS
        return 1.0

    monkeypatch.setattr(bench, "optimize", optimize)
    monkeypatch.setattr(bench, "time_peer", time_peer)
    monkeypatch.setattr(bench, "check_peers", lambda names: None)
    monkeypatch.setattr(bench, "headline", lambda report: "faster")


def rows(tmp_path: Path) -> list[tuple[str, object]]:
    found = json.loads((tmp_path / "rows.json").read_text())
    return [(row["model"], row["milliseconds"]) for row in found]


def test_a_peer_that_fails_has_no_time(tmp_path: Path) -> None:
    """And says why; the other rows are there."""
    command = ["a.onnx", "b.onnx", "c.onnx", "--peers", "onnxruntime"]
    run = CliRunner().invoke(bench.bench_command, [*command, "--json", str(tmp_path / "rows.json")])
    assert run.exit_code == 0
    assert str(FAILS) in run.output
    assert rows(tmp_path) == [
        ("a.onnx", {"default": 2.0, "onnxruntime": 1.0}),
        ("b.onnx", {"default": 2.0, "onnxruntime": None}),
        ("c.onnx", {"default": 2.0, "onnxruntime": 1.0}),
    ]


def test_a_model_that_fails_leaves_the_rows_before_it(tmp_path: Path) -> None:
    run = CliRunner().invoke(
        bench.bench_command, ["a.onnx", "gone.onnx", "--json", str(tmp_path / "rows.json")]
    )
    assert isinstance(run.exception, InputError)
    assert rows(tmp_path) == [("a.onnx", {"default": 2.0})]
    assert "default" in run.output
