"""What IREE compiles of rounding by adding: no pass simplifies the sum away."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.functions_of_one_number import canonical_with_iree, graph_of
from tests.roundings import special_numbers


@pytest.mark.parametrize("level", ["O0", "O3"])
def test_equal_to_the_last_bit_with_iree(level: str, tmp_path: Path) -> None:
    numbers = special_numbers()
    graph = graph_of("math.roundeven", numbers.shape)
    text, found = canonical_with_iree(graph, numbers, tmp_path, f"--iree-opt-level={level}")
    assert "math.copysign" in text
    assert np.array_equal(found.view(np.int32), np.rint(numbers).view(np.int32))
