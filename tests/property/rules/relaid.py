"""One op over tensors in random layouts, compared with the op over row-major ones.

Infinities and NaN stand among the numbers: padding must not meet them.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import numpy as np

from layoutopt.ir.graph import Constant, FromTensor, Graph, Op, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.types import Array, TensorType
from layoutopt.oracle import evaluate
from layoutopt.rules.propagation import propagate, relayout
from tests.property.rules.equivalence import assert_well_formed, leaves


def wild_leaves(graph: Graph, random: Random) -> dict[int, Array]:
    """Small integers, and in half of the graphs infinities and NaN among the floats."""
    found = leaves(graph, random)
    if random.random() < 0.5:
        return found
    generator = np.random.default_rng(random.randrange(1 << 30))
    splats = {op.result for op in graph.ops if isinstance(op, Constant) and op.splat is not None}
    for tensor, array in found.items():
        if array.dtype.kind == "f" and tensor not in splats:
            for value in (np.inf, -np.inf, np.nan):
                array[generator.random(array.shape) < 0.1] = value
    return found


def relaid_at_random(
    types: tuple[TensorType, ...], op: Op, values: Mapping[int, Array], random: Random
) -> str | None:
    """Layouts as they pass through the op, or tiles of its loops, or any; hands back a refusal."""
    if isinstance(op, Constant):
        return "expected an op that reads, but it is a constant"
    tensors = (*op.inputs, *op.outputs)
    given = random.choice(tensors)
    way = random.random()
    if way < 0.4 or not isinstance(op, Structured):
        layout = _any_layout(types[given].shape, random)
        chosen = propagate(op, types, given, layout)
        if isinstance(chosen, Refusal):
            return chosen.reason
        if random.random() < 0.3:
            chosen = {t: x.padded_with(random.choice((*Padding,))) for t, x in chosen.items()}
    elif way < 0.9:
        chosen = tiled_loops(types, op, random)
    else:
        chosen = {t: _any_layout(types[t].shape, random) for t in tensors}
    return assert_relaid(types, op, chosen, values)


def assert_relaid(
    types: tuple[TensorType, ...], op: Op, chosen: Assignment, values: Mapping[int, Array]
) -> str | None:
    """The op in these layouts makes the same numbers and the padding that the contract requires."""
    physical = Physical(types)
    refusal = relayout(op, chosen, physical)
    if refusal is not None:
        assert not physical.builder.ops
        return refusal.reason
    place = {t: physical.tensor(t, chosen[t]) for t in (*op.inputs, *op.outputs)}
    built = physical.builder.build([place[t] for t in op.inputs], [place[t] for t in op.outputs])
    for made in built.ops:
        assert_well_formed(built.types, made)
    found = evaluate(built, {place[t]: chosen[t].apply(values[t]) for t in op.inputs})
    for t in op.outputs:
        memory, layout, wanted = found[place[t]], chosen[t], values[t]
        assert memory.shape == layout.physical_shape(types[t].shape)
        assert memory.dtype == wanted.dtype
        required = layout.apply(wanted)
        if layout.padding is Padding.ANY:
            kept = layout.apply(np.ones(wanted.shape, bool), False)
            memory, required = memory[kept], required[kept]
        assert np.array_equal(memory, required, equal_nan=memory.dtype.kind == "f")
    return None


def _any_layout(shape: tuple[int, ...], random: Random) -> Layout:
    outer = [*range(len(shape))]
    random.shuffle(outer)
    inner = [d for d in range(len(shape)) if random.random() < 0.4]
    random.shuffle(inner)
    padding = random.choice((Padding.ZERO, Padding.ZERO, *Padding))
    return Layout(tuple(outer), tuple(inner), tuple(random.randint(1, 4) for _ in inner), padding)


def tiled_loops(types: tuple[TensorType, ...], op: Structured, random: Random) -> Assignment:
    """Tiles of loops, in every operand dim that is one of them (mostly)."""
    tiles = {d: random.randint(1, 4) for d in range(len(op.domain)) if random.random() < 0.7}
    found: dict[int, Layout] = {}
    zeros = random.random() < 0.5
    exact = random.random() < 0.8
    for tensor, forms in zip((*op.sources, *op.results), op.maps, strict=True):
        outer = [*range(len(forms))]
        random.shuffle(outer)
        loops = [form.plain_dim for form in forms]
        inner = [d for d, x in enumerate(loops) if x in tiles and (exact or random.random() < 0.7)]
        random.shuffle(inner)
        sizes = tuple(tiles[loop] for d in inner if (loop := loops[d]) is not None)
        padding = Padding.ZERO if zeros else random.choice((*Padding,))
        found[tensor] = Layout(tuple(outer), tuple(inner), sizes, padding)
    for init, result in zip(op.inits, op.results, strict=True):
        if isinstance(init, FromTensor):
            found[init.tensor] = found[result]
    return found
