"""Modules compiled and run by IREE, one beside the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.element import Value
from layoutopt.runtime.model import list_functions, run_model
from layoutopt.verification.comparing import Run
from layoutopt.verification.input_kinds import Arguments, inputs_of
from tests.parameters import FLAGS


def no_oracle() -> Run:
    """For modules that IREE compiles: nothing else is to be asked."""
    raise AssertionError("expected IREE to compile the original")


def made_up_inputs(compiled: Path, function: str = "main") -> list[Value]:
    """Inputs for a function of a compiled module, the same ones each time."""
    (signature,) = (s for s in list_functions(compiled) if s.name == function)
    return inputs_of(Arguments(signature.kinds))


def assert_same_results(model: Path, plan: Path) -> None:
    """Both modules give the same on random inputs, up to rounding."""
    results = []
    for module in (model, plan):
        compiled = module.with_suffix(".vmfb")
        outcome = compile_file(module, compiled, FLAGS, 300)
        assert outcome.ok, outcome.reason
        results.append(run_model(compiled, "main", made_up_inputs(compiled)))
    for wanted, found in zip(*results, strict=True):
        assert np.allclose(wanted, found, rtol=1e-5, atol=1e-5)
