"""What is computed ahead of a loop is what the loop would compute, row for row."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutopt.ir.concrete import concrete
from layoutopt.ir.graph import Structured
from layoutopt.ir.loop_distribution import distributed
from layoutopt.oracle import evaluate
from tests.property.loop_bodies import LoopBody


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_rows_are_what_the_steps_compute(seed: int) -> None:
    random = Random(seed)
    body, steps, varying = LoopBody(random).build()
    found = distributed(body, steps, varying, range(len(body.types)))
    if found is None:
        return
    numbers = np.random.default_rng(seed)
    values = {
        t: numbers.integers(-3, 4, body.types[t].shape).astype(np.float32)
        for t in body.inputs
        if t not in varying
    }
    ahead = evaluate(found.graph, {n: values[t] for n, t in found.leaves.items()})
    wanted = replace(body, outputs=tuple(found.results))
    for row, step in enumerate(steps.values):
        carried = {
            t: numbers.integers(-3, 4, body.types[t].shape).astype(np.float32) for t in varying
        }
        made = evaluate(concrete(wanted, {steps.symbol: step}), values | carried)
        for tensor, result in found.results.items():
            place = steps.count - 1 - row if result.backwards else row
            np.testing.assert_array_equal(ahead[result.tensor][place], made[tensor])


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_needs_what_is_carried_stays(seed: int) -> None:
    body, steps, varying = LoopBody(Random(seed)).build()
    found = distributed(body, steps, varying, range(len(body.types)))
    behind = set(varying)
    for op in body.ops:
        if behind.intersection(op.inputs):
            behind.update(op.outputs)
    if found is not None:
        assert not behind.intersection(found.results)
        assert not behind.intersection(found.leaves.values())


def test_the_generator_reaches_all_of_it() -> None:
    seen: set[str] = set()
    for seed in range(300):
        body, steps, varying = LoopBody(Random(seed)).build()
        found = distributed(body, steps, varying, range(len(body.types)))
        if found is None:
            seen.add("none")
            continue
        seen.update("backwards" if r.backwards else "forwards" for r in found.results.values())
        seen.update(type(op).__name__ for op in found.graph.ops)
        if len(found.contractions) > 1:
            seen.add("several")
        for op in found.graph.ops:
            if isinstance(op, Structured):
                seen.update(type(init).__name__ for init in op.inits)
                seen.add("transposed" if op.is_copy else "")
    wanted = {"none", "backwards", "forwards", "several", "transposed"}
    assert wanted | {"Slice", "Reshape", "Structured", "Pad", "FromTensor", "Fill"} <= seen
