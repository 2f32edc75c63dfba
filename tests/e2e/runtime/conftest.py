from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from layoutopt.pricing.measure.benchmark import Benchmark, Case, Operand, Result
from layoutopt.profiles.store import Store

FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
MakeMatmul = Callable[..., Benchmark]


def _matmul(
    m: int, n: int, k: int, attribute: str = "", flags: tuple[str, ...] = (), offset: float = 0.0
) -> Benchmark:
    lhs, rhs, out = f"tensor<{m}x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<{m}x{n}xf32>"

    def case() -> Case:
        random = np.random.default_rng(0)
        x = random.standard_normal((m, k), np.float32)
        w = random.standard_normal((k, n), np.float32)
        return Case((x,), (w,), (x @ w + np.float32(offset),), (np.asarray(1e-3),))

    body = f"""
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : {out}
      %init = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}
      %r = linalg.matmul {attribute} ins(%x, %w : {lhs}, {rhs}) outs(%init : {out}) -> {out}
    """
    operands = (Operand("%x", lhs),), (Operand("%w", rhs),)
    return Benchmark(*operands, body, (Result("%r", out),), (*FLAGS, *flags), case)


@pytest.fixture
def matmul() -> MakeMatmul:
    return _matmul


@pytest.fixture
def flags() -> tuple[str, ...]:
    return FLAGS


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "prices.sqlite") as opened:
        yield opened
