"""StableHLO that states more than IREE converts, as JAX exports it: planned, and right."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import layoutopt
from layoutopt.ir.types import Array
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import run_model
from tests.dialects import dot_with_algorithm
from tests.parameters import FLAGS

ATTENTION = Path(__file__).parents[1] / "jax" / "attention_bf16.mlir"


def written(model: Path, folder: Path) -> Path:
    """The model's plan, compiled for the host."""
    options = layoutopt.Options(cache=folder / "cache", compile_candidates=False)
    plan = layoutopt.optimize(model, "mi355x", options)
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    plan.apply(folder / "written.mlirbc")
    compiled = folder / "written.vmfb"
    flags = ("--compile-from=input", *FLAGS)
    outcome = compile_file(folder / "written.mlirbc", compiled, flags, 300)
    assert outcome.ok, outcome.reason
    return compiled


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(("factors", "rounds"), [("bf16", True), ("tf32", False)])
def test_factors_are_rounded_where_the_algorithm_says_so(
    tmp_path: Path, factors: str, rounds: bool
) -> None:
    model = tmp_path / "model.mlir"
    model.write_text(dot_with_algorithm("f32", factors, "f32", "f32"))
    x, w = drawn(3, 4), drawn(4, 5, seed=1)
    (found,) = run_model(written(model, tmp_path), "main", [x, w])
    exact = x @ w
    rounded = np.matmul(*(a.astype(ml_dtypes.bfloat16).astype(np.float32) for a in (x, w)))
    assert np.abs(exact - rounded).max() > 1e-3
    np.testing.assert_allclose(found, rounded if rounds else exact, 1e-5, 1e-5)


def test_attention_in_bf16_is_planned(tmp_path: Path) -> None:
    """``jax.nn.dot_product_attention``, whose scores are sums in f32."""
    q, k, v = (drawn(1, 16, 4, 8, seed=s).astype(ml_dtypes.bfloat16) for s in range(3))
    (found,) = run_model(written(ATTENTION, tmp_path), "main", [q, k, v])
    wide = [np.moveaxis(a.astype(np.float32), 2, 1) for a in (q, k, v)]
    scores = wide[0] @ wide[1].swapaxes(2, 3) / np.sqrt(8)
    scores = np.where(np.tril(np.ones((16, 16))), scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    expected = np.moveaxis(shares / shares.sum(-1, keepdims=True) @ wide[2], 1, 2)
    np.testing.assert_allclose(found.astype(np.float32), expected, 0.05, 0.05)
