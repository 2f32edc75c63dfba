"""Contractions that state how they compute, and annotations: what they become, at which types."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.mlir.stablehlo.module import is_plain
from layoutopt.mlir.stablehlo.plain import write_plain
from layoutopt.runtime.reread import reread
from tests.dialects import dot_with_algorithm
from tests.parsing import module_text

EXPORT = Path(__file__).parents[3] / "jax" / "attention_bf16.mlir"


def plain(folder: Path, text: str) -> str:
    """The module behind the rewrite, as text."""
    (folder / "model.mlir").write_text(text)
    reread(folder / "model.mlir", folder / "model.mlirbc", "correct it")
    assert not is_plain(folder / "model.mlirbc")
    write_plain(folder / "model.mlirbc", folder / "plain.mlirbc")
    assert is_plain(folder / "plain.mlirbc")
    return module_text(folder / "plain.mlirbc")


@pytest.mark.parametrize(
    ("given", "factors", "sums", "parts", "multiplied"),
    [
        ("bf16", "bf16", "f32", 1, "bf16"),
        ("f32", "bf16", "f32", 1, "bf16"),
        ("f32", "f16", "f16", 1, "f16"),
        ("f32", "tf32", "f32", 1, "f32"),
        ("f32", "bf16", "f32", 3, "f32"),
        ("f8E4M3FN", "f8E5M2", "f32", 1, "f8E4M3FN"),
    ],
)
def test_factors_and_sums_have_the_types_of_the_algorithm(
    tmp_path: Path, given: str, factors: str, sums: str, parts: int, multiplied: str
) -> None:
    text = plain(tmp_path, dot_with_algorithm(given, factors, sums, "f32", parts))
    assert "algorithm" not in text
    product = next(line for line in text.splitlines() if "dot_general" in line)
    assert f"(tensor<3x4x{multiplied}>, tensor<4x5x{multiplied}>) -> tensor<3x5x{sums}>" in product
    rounded = 2 if multiplied != given else 0
    assert text.count("stablehlo.convert") == rounded + (sums != "f32")


def test_where_a_tensor_lies_is_left_out(tmp_path: Path) -> None:
    text = plain(
        tmp_path,
        """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{replicated}"}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}""",
    )
    assert "custom_call" not in text
    assert "return %arg0" in text


def test_other_calls_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = stablehlo.custom_call @other(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}""")
    assert is_plain(path)


def test_portable_artifacts_are_seen_through() -> None:
    assert not is_plain(EXPORT)
