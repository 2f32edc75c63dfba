"""Rounding by adding is roundeven to the last bit, where a target needs it."""

from __future__ import annotations

import numpy as np
import pytest

from layoutopt.candidates.explore import explore
from layoutopt.ir.graph import Structured
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.normalize.examples import function_example
from layoutopt.oracle import evaluate
from layoutopt.profiles.target import load_target
from tests.functions_of_one_number import graph_of
from tests.roundings import special_numbers


def test_equal_to_the_last_bit() -> None:
    graph = graph_of("math.roundeven", special_numbers().shape)
    changed = canonical_form(graph).graph
    (op,) = changed.ops
    assert isinstance(op, Structured)
    assert "math.roundeven" not in [step.name for step in op.body.ops]
    given = {graph.inputs[0]: special_numbers()}
    (result,) = changed.outputs
    found = evaluate(changed, given)[result]
    assert np.array_equal(found.view(np.int32), np.rint(special_numbers()).view(np.int32))


@pytest.mark.parametrize(
    ("target", "spelled_out"), [("x86-64-avx512", True), ("arm64", True), ("mi355x", False)]
)
def test_processors_without_the_instruction(target: str, spelled_out: bool) -> None:
    space = explore(function_example("math.roundeven", "f32"), load_target(target))
    made = {name for names in space.egraph.rule for name in names}
    assert ("round-by-adding" in made) == spelled_out
