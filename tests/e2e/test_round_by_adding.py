"""What IREE compiles of rounding by adding: no pass simplifies the sum away."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from layoutopt.mlir.write.emit import function_text
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import run_model
from tests.functions_of_one_number import graph_of
from tests.roundings import special_numbers


@pytest.mark.parametrize("level", ["O0", "O3"])
def test_equal_to_the_last_bit_with_iree(level: str, tmp_path: Path) -> None:
    numbers = special_numbers()
    graph = canonical_form(graph_of("math.roundeven", numbers.shape)).graph
    source, module = tmp_path / "round.mlir", tmp_path / "round.vmfb"
    source.write_text(function_text(graph, graph.inputs, graph.outputs, "main"))
    assert "math.copysign" in source.read_text()
    flags = (*load_target("host").flags, f"--iree-opt-level={level}")
    outcome = compile_file(source, module, flags, 300.0)
    assert outcome.ok, outcome.reason
    (found,) = run_model(module, "main", [numbers])
    assert np.array_equal(found.view(np.int32), np.rint(numbers).view(np.int32))
