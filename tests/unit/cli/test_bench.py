"""Rows that are finished stay; ``--table`` makes the table that the README shows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from layoutopt.cli import bench
from layoutopt.cli.bench import Row, markdown
from layoutopt.errors import InputError

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
ROWS = [
    Row(
        "build/resnet50.onnx",
        {
            "default": 465.92,
            "O3": None,
            "O3+data-tiling": 358.26,
            "layoutopt": 69.14,
            "onnxruntime": 50.0,
        },
        68.7,
    ),
    Row("gone.mlir", {"default": None, "layoutopt": None}),
]
FAILS = InputError("b.onnx", "a model that onnxruntime runs", "a crash", "leave the peer out")


@pytest.fixture(autouse=True)
def planned(monkeypatch: pytest.MonkeyPatch) -> None:
    def optimize(model: Path, *rest: object) -> SimpleNamespace:
        if model.name == "gone.onnx":
            raise InputError(str(model), "a model file", "no such file", "check the path")
        flag_sets = [SimpleNamespace(name="default", measured_ms=2.0)]
        return SimpleNamespace(
            report=SimpleNamespace(flag_sets=flag_sets, after=SimpleNamespace(predicted_ms=1.9))
        )

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


def test_rows_read_as_in_the_readme() -> None:
    heading, line, row, gone = markdown(ROWS).splitlines()
    assert f"{heading}\n{line}\n| resnet50 |" in README
    assert row == ("| resnet50 | 466 | 358 (O3+data-tiling) | **69.1** | 6.7x | 5.2x | 68.7 |")
    measured = [line for line in README.splitlines() if line.startswith("| resnet50 |")]
    assert [_without_digits(line) for line in measured] == [_without_digits(row)]
    assert gone == "| gone | - | - | - | - | - | - |"


def _without_digits(row: str) -> str:
    """How a row is written: each number as one sign, and any flag set as another."""
    return re.sub(r"\([^)]*\)", "(F)", re.sub(r"[\d.]+", "N", row))


def test_make_bench_writes_it() -> None:
    makefile = (Path(__file__).parents[3] / "Makefile").read_text(encoding="utf-8")
    assert "layoutopt bench $(MODELS) --table build/results.md" in makefile
    assert "This table is what `make bench` wrote to `build/results.md`" in README
