"""Rows that are finished stay; ``--table`` makes the table that the README shows."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from layoutopt.cli import bench
from layoutopt.errors import InputError
from layoutopt.options import Options
from layoutopt.report.bench_rows import BenchRow, markdown
from layoutopt.report.chart import chart
from layoutopt.report.report import FlagSetReport
from layoutopt.runtime.worker_process import cores

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")


def timed(name: str, ms: float | None, reason: str = "") -> FlagSetReport:
    return FlagSetReport(name, ms, 0.0, reason, ms)


RESNET = BenchRow(
    "build/resnet50.onnx",
    1,
    (
        timed("default", 465.92),
        timed("O3", None, "it did not compile"),
        timed("O3+data-tiling", 358.26),
        timed("layoutopt", 69.14),
    ),
    predicted_ms=68.7,
)
GONE = BenchRow("gone.mlir", 1, (timed("default", None), timed("layoutopt", None)))
WITH_PEERS = replace(RESNET, threads=2, peers=(timed("onnxruntime", 60.0), timed("other", None)))


@pytest.fixture(autouse=True)
def planned(monkeypatch: pytest.MonkeyPatch) -> None:
    def optimize(model: Path, profile: str, options: Options, steps: object) -> SimpleNamespace:
        if model.name == "gone.onnx":
            raise InputError(str(model), "a model file", "no such file", "check the path")
        peers = [timed(p, 1.0 * options.threads) for p in options.peers]
        if model.name == "b.onnx":
            peers = [timed(p, None, "it crashed") for p in options.peers]
        report = SimpleNamespace(
            flag_sets=(timed("default", 2.0),),
            peers=tuple(peers),
            after=SimpleNamespace(predicted_ms=1.9),
        )
        return SimpleNamespace(report=report)

    monkeypatch.setattr(bench, "optimize", optimize)
    monkeypatch.setattr(bench, "check_peers", lambda names: None)
    monkeypatch.setattr(bench, "headline", lambda report: "faster")


def rows(tmp_path: Path) -> list[tuple[str, int, dict[str, float | None]]]:
    found = json.loads((tmp_path / "rows.json").read_text())
    return [
        (r["model"], r["threads"], {f["name"]: f["measured_ms"] for f in (*r["iree"], *r["peers"])})
        for r in found
    ]


def test_a_peer_that_fails_has_no_time(tmp_path: Path) -> None:
    """And says why; the other rows are there, and models that are no ONNX have no peers."""
    command = ["a.onnx", "b.onnx", "c.mlir", "--peers", "onnxruntime"]
    run = CliRunner().invoke(bench.bench_command, [*command, "--json", str(tmp_path / "rows.json")])
    assert run.exit_code == 0
    assert "b.onnx: onnxruntime: it crashed" in run.output
    assert rows(tmp_path) == [
        ("a.onnx", 1, {"default": 2.0, "onnxruntime": 1.0}),
        ("b.onnx", 1, {"default": 2.0, "onnxruntime": None}),
        ("c.mlir", 1, {"default": 2.0}),
    ]


def test_a_row_for_each_number_of_threads(tmp_path: Path) -> None:
    command = ["a.onnx", "--peers=onnxruntime", f"--threads={cores() + 1},all"]
    run = CliRunner().invoke(bench.bench_command, [*command, "--json", str(tmp_path / "rows.json")])
    assert run.exit_code == 0
    assert [(threads, times["onnxruntime"]) for _, threads, times in rows(tmp_path)] == [
        (cores() + 1, cores() + 1),
        (cores(), cores()),
    ]


@pytest.mark.parametrize("threads", ["0", "1,some", "", "1,,2"])
def test_threads_that_are_none(threads: str) -> None:
    run = CliRunner().invoke(bench.bench_command, ["a.onnx", f"--threads={threads}"])
    assert isinstance(run.exception, InputError)
    assert "'all', or several with commas between, but got" in str(run.exception)


def test_a_model_that_fails_leaves_the_rows_before_it(tmp_path: Path) -> None:
    command = ["a.onnx", "gone.onnx", "--chart", str(tmp_path / "chart.svg")]
    run = CliRunner().invoke(bench.bench_command, [*command, "--json", str(tmp_path / "rows.json")])
    assert isinstance(run.exception, InputError)
    assert rows(tmp_path) == [("a.onnx", 1, {"default": 2.0})]
    assert "default" in run.output
    assert "IREE default: 2.00 ms" in (tmp_path / "chart.svg").read_text()


def test_rows_read_as_in_the_readme() -> None:
    peers = (timed("onnxruntime", 76.0), timed("openvino", 75.0))
    heading, line, row = markdown([replace(RESNET, peers=peers)]).splitlines()
    assert f"{heading}\n{line}\n| resnet50 |" in README
    own = "| resnet50 | 466 | 358 (O3+data-tiling) | **69.1** | 6.7x | 5.2x | 68.7 |"
    assert row == f"{own} 76.0 | 75.0 | 1.08x |"
    measured = [line for line in README.splitlines() if line.startswith("| resnet50 |")]
    assert [_without_digits(line) for line in measured] == [_without_digits(row)]
    assert markdown([RESNET, GONE]).splitlines()[2:] == [own, "| gone | - | - | - | - | - | - |"]


def test_peers_are_columns_of_the_table() -> None:
    heading, _, row, gone = markdown([WITH_PEERS, GONE]).splitlines()
    assert heading.endswith("| predicted | onnxruntime | other | against the better peer |")
    assert row.startswith("| resnet50, 2 threads |")
    assert row.endswith("| 68.7 | 60.0 | - | 0.87x |")
    assert gone.count("|") == heading.count("|")


def test_the_chart_has_a_dot_for_each_time() -> None:
    drawn = ET.fromstring(chart([WITH_PEERS, GONE, replace(RESNET, model="a<b.onnx")]))
    space = "{http://www.w3.org/2000/svg}"
    titles = [found.text or "" for found in drawn.iter(f"{space}title")]
    assert titles == [
        "IREE default: 466 ms",
        "IREE best flags: 358 ms",
        "layoutopt: 69.1 ms",
        "onnxruntime: 60.0 ms",
        "IREE default: 466 ms",
        "IREE best flags: 358 ms",
        "layoutopt: 69.1 ms",
    ]
    dots = [c for c in drawn.iter(f"{space}circle") if c.find(f"{space}title") is not None]
    x = [float(c.get("cx", "")) for c in dots]
    assert x[0] > x[1] > x[2] > x[3]
    assert "a<b" in [found.text for found in drawn.iter(f"{space}text")]


def test_a_chart_of_nothing() -> None:
    assert ET.fromstring(chart([GONE])) is not None


def _without_digits(row: str) -> str:
    """How a row is written: each number as one sign, and any flag set as another."""
    return re.sub(r"\([^)]*\)", "(F)", re.sub(r"[\d.]+", "N", row))


def test_make_bench_writes_it() -> None:
    makefile = (Path(__file__).parents[3] / "Makefile").read_text(encoding="utf-8")
    assert "layoutopt bench $(MODELS) --table build/results.md" in makefile
    assert "This table is what `make bench` wrote to `build/results.md`" in README
