"""Every search on one model, over the same candidates at the same prices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from layoutopt.cli.bench import bench_command
from layoutopt.errors import InputError
from layoutopt.options import Options
from layoutopt.pipeline.searches import SearchResult, compare_searches
from layoutopt.solver import Search

MODEL = """func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> tensor<32x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x32xf32>)
    outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
  %t = tensor.empty() : tensor<32x8xf32>
  %z = linalg.transpose ins(%y : tensor<8x32xf32>) outs(%t : tensor<32x8xf32>) permutation = [1, 0]
  return %z : tensor<32x8xf32>
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(MODEL)
    return path


def test_no_search_beats_the_integer_program(model: Path, tmp_path: Path) -> None:
    options = Options(cache=tmp_path / "cache")
    found = {r.search: r for r in compare_searches(model, "x86-64-avx512", options)}
    assert set(found) == set(Search)
    least = found[Search.ILP].predicted_ns
    assert least is not None
    assert least > 0
    assert all(r.predicted_ns is not None and r.predicted_ns >= least for r in found.values())


def test_the_table_names_every_search(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = [SearchResult(s, n or None, 0.5) for n, s in enumerate(Search)]
    monkeypatch.setattr("layoutopt.cli.bench.compare_searches", lambda *_: iter(results))
    to = tmp_path / "searches.json"
    told = CliRunner().invoke(bench_command, [str(model), "--search", "all", "--json", str(to)])
    assert told.exit_code == 0
    assert all(search.value in told.output for search in Search)
    assert "no plan" in told.output
    assert [row["search"] for row in json.loads(to.read_text())[str(model)]] == list(Search)


@pytest.mark.parametrize("other", [["--table", "t.md"], ["--peers", "onnxruntime"]])
def test_searches_are_compared_alone(
    other: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("layoutopt.cli.bench.check_peers", lambda _: None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as error:
        CliRunner().invoke(
            bench_command, ["model.onnx", "--search", "all", *other], catch_exceptions=False
        )
    assert str(error.value) == (
        f"--search: expected no {other[0]}, but got one; leave one of the two out"
    )
