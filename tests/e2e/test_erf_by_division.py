"""What IREE computes of the quotient in place of erf."""

from __future__ import annotations

import math
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.functions_of_one_number import canonical_with_iree, everywhere, graph_of


@pytest.mark.parametrize("level", ["O0", "O3"])
def test_as_near_as_its_steps_round_with_iree(level: str, tmp_path: Path) -> None:
    numbers = everywhere()
    graph = graph_of("math.erf", numbers.shape)
    text, found = canonical_with_iree(graph, numbers, tmp_path, f"--iree-opt-level={level}")
    assert "math.erf" not in text
    wanted = np.array([math.erf(x) for x in numbers.tolist()])
    assert np.array_equal(np.isnan(found), np.isnan(numbers))
    assert np.nanmax(np.abs(found - wanted)) < 4e-7


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_narrow_floats_are_rounded_once_with_iree(element: str, tmp_path: Path) -> None:
    dtype = np.dtype(np.float16 if element == "f16" else ml_dtypes.bfloat16)
    numbers = everywhere()[np.abs(everywhere()) < 6e4].astype(dtype)
    graph = graph_of("math.erf", numbers.shape, element)
    text, found = canonical_with_iree(graph, numbers, tmp_path)
    assert "math.erf" not in text
    wanted = np.array([math.erf(x) for x in numbers.astype(np.float64).tolist()])
    half_spacing = float(ml_dtypes.finfo(dtype).eps) / 4
    assert np.abs(found.astype(np.float64) - wanted).max() <= half_spacing + 4e-7
