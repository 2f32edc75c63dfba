"""``layoutopt bench --table`` makes the table that the README shows."""

from __future__ import annotations

from pathlib import Path

from layoutopt.cli.bench import Row, markdown

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
ROWS = [
    Row(
        "build/resnet50.onnx",
        {
            "default": 1085.1,
            "O3": None,
            "O3+data-tiling": 962.0,
            "layoutopt": 103.2,
            "onnxruntime": 50.0,
        },
        99.14,
    ),
    Row("gone.mlir", {"default": None, "layoutopt": None}),
]


def test_rows_read_as_in_the_readme() -> None:
    heading, line, row, gone = markdown(ROWS).splitlines()
    assert f"{heading}\n{line}\n| resnet50 |" in README
    assert row == ("| resnet50 | 1085 | 962 (O3+data-tiling) | **103** | 10.5x | 9.3x | 99.1 |")
    assert f"{row}\n" in README
    assert gone == "| gone | - | - | - | - | - | - |"


def test_make_bench_writes_it() -> None:
    makefile = (Path(__file__).parents[3] / "Makefile").read_text(encoding="utf-8")
    assert "layoutopt bench $(MODELS) --table build/results.md" in makefile
    assert "`make bench` writes such a table to `build/results.md`" in README
