"""What is computed ahead of a loop is what the loop would compute, row for row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutopt.ir.concrete import concrete
from layoutopt.ir.graph import Structured
from layoutopt.ir.loop_distribution import distributed
from layoutopt.ir.size import Size, at
from layoutopt.ir.types import Array
from layoutopt.oracle import evaluate
from tests.property.loop_bodies import RandomLoop


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_rows_are_what_the_steps_compute(seed: int) -> None:
    loop = RandomLoop(Random(seed))
    body = loop.build()
    found = distributed(body, range(len(body.graph.types)))
    if found is None:
        return
    numbers = np.random.default_rng(seed)
    types = concrete(body.graph, loop.sizes).types

    def values(tensors: Iterable[int]) -> dict[int, Array]:
        return {t: numbers.integers(-3, 4, types[t].shape).astype(np.float32) for t in tensors}

    given = values(t for t in body.graph.inputs if t not in body.varying)
    leaves = {n: given[t] for n, t in found.leaves.items()}
    ahead = evaluate(concrete(found.graph, loop.sizes), leaves)
    wanted = replace(body.graph, outputs=tuple(found.results))
    count = at(body.steps.count, loop.sizes)
    for row in range(count):
        step = body.steps.first + row * body.steps.by
        here = concrete(wanted, loop.sizes | {body.step.name: step})
        made = evaluate(here, given | values(body.varying))
        for tensor, result in found.results.items():
            whole = ahead[result.tensor]
            place = count - 1 - row if result.backwards else row
            here_too = whole if result.backwards is None else whole[place]
            np.testing.assert_array_equal(here_too, made[tensor])


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_needs_what_is_carried_stays(seed: int) -> None:
    body = RandomLoop(Random(seed)).build()
    found = distributed(body, range(len(body.graph.types)))
    behind = set(body.varying)
    for op in body.graph.ops:
        if behind.intersection(op.inputs):
            behind.update(op.outputs)
    if found is not None:
        assert not behind.intersection(found.results)
        assert not behind.intersection(found.leaves.values())


def test_the_generator_reaches_all_of_it() -> None:
    seen: set[str] = set()
    for seed in range(400):
        body = RandomLoop(Random(seed)).build()
        found = distributed(body, range(len(body.graph.types)))
        if found is None:
            seen.add("none")
            continue
        ways = {None: "the same", True: "backwards", False: "forwards"}
        seen.update(ways[result.backwards] for result in found.results.values())
        seen.update(type(op).__name__ for op in found.graph.ops)
        if isinstance(body.steps.count, Size):
            seen.update(f"open {ways[result.backwards]}" for result in found.results.values())
        seen.add(f"known {len(body.known)}")
        if len(found.contractions) > 1:
            seen.add("several")
        for op in found.graph.ops:
            if isinstance(op, Structured):
                seen.update(type(init).__name__ for init in op.inits)
                seen.add("transposed" if op.is_copy else "")
    wanted = {"none", "the same", "backwards", "forwards", "several", "transposed"}
    wanted |= {"open the same", "open backwards", "open forwards"}
    wanted |= {"Slice", "Reshape", "Structured", "Pad", "FromTensor", "Fill"}
    assert wanted | {"known 0", "known 1", "known 2"} <= seen
