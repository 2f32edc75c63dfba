"""The quotient is erf up to the rounding of its steps, on CPUs, unless numbers are to be exact."""

from __future__ import annotations

import math

import numpy as np
import pytest

from layoutopt.candidates.explore import explore
from layoutopt.ir.graph import Structured
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.normalize.examples import function_example
from layoutopt.options import Options
from layoutopt.oracle import evaluate
from layoutopt.profiles.target import load_target
from tests.functions_of_one_number import everywhere, graph_of


def test_off_by_the_rounding_of_its_steps() -> None:
    numbers = everywhere()
    changed = canonical_form(graph_of("math.erf", numbers.shape)).graph
    (op,) = changed.ops
    assert isinstance(op, Structured)
    assert "math.erf" not in [step.name for step in op.body.ops]
    (result,) = changed.outputs
    found = evaluate(changed, {changed.inputs[0]: numbers})[result]
    wanted = np.array([math.erf(x) for x in numbers.tolist()])
    spacing = float(np.finfo(np.float32).smallest_subnormal)
    assert np.allclose(found, wanted, rtol=4e-7, atol=2 * spacing, equal_nan=True)
    assert np.array_equal(found[np.abs(numbers) > 4], np.sign(numbers[np.abs(numbers) > 4]))


@pytest.mark.parametrize(
    ("target", "exact", "made_of"),
    [
        ("x86-64-avx512", False, True),
        ("arm64", False, True),
        ("x86-64-avx512", True, False),
        ("mi355x", False, False),
    ],
)
def test_on_processors_unless_exact(target: str, exact: bool, made_of: bool) -> None:
    admitted = Options(exact=exact).admitted
    space = explore(function_example("math.erf", "f32"), load_target(target), admitted=admitted)
    made = {name for names in space.egraph.rule for name in names}
    assert ("erf-by-division" in made) == made_of
