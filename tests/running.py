"""Modules compiled and run by IREE, one beside the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from layoutopt.mlir.module import Signature
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import run_model
from layoutopt.verification import random_inputs
from tests.parameters import FLAGS


def assert_same_results(model: Path, plan: Path, signature: Signature) -> None:
    """Both modules give the same on random inputs, up to rounding."""
    results = []
    for module in (model, plan):
        compiled = module.with_suffix(".vmfb")
        outcome = compile_file(module, compiled, FLAGS, 300)
        assert outcome.ok, outcome.reason
        results.append(run_model(compiled, "main", random_inputs(signature)))
    for wanted, found in zip(*results, strict=True):
        assert np.allclose(wanted, found, rtol=1e-5, atol=1e-5)
