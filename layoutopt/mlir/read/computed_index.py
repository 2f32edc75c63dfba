"""Indices that are computed from one loop, found by computing them for each of its points.

    generic { i = linalg.index 2; j = fptosi(floor(sitofp(i) / 2.0)); e = extract x[.., j, ..] }

reads x at ``d2 // 2``: nearest-neighbour resizing. Exporters write indices with many
ops; what counts is the values, and a loop has few points. A loop of open size is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from iree.compiler import ir

from layoutopt.ir.affine import Affine, affine
from layoutopt.ir.scalar import ScalarOp
from layoutopt.ir.size import Size
from layoutopt.ir.types import Array
from layoutopt.oracle.constant import constant
from layoutopt.oracle.scalar import apply


@dataclass(frozen=True, slots=True)
class ComputedIndex:
    """A scalar at each point of one loop; the same everywhere where ``loop`` is None."""

    loop: int | None
    values: Array


def computed_values(
    block: Any,
    scalars: Mapping[Any, tuple[str, str]],
    given: Mapping[Any, str],
    domain: Sequence[int],
) -> dict[Any, ComputedIndex]:
    """The scalars of a body that depend on one loop at most.

    ``given``: arguments of the body that always hold one value, as MLIR text.
    """
    found: dict[Any, ComputedIndex] = {}
    operands = dict.fromkeys(v for op in block.operations for v in op.operation.operands)
    outside = {v: scalars[v][0] for v in operands if v in scalars}
    for value, text in (outside | dict(given)).items():
        number = constant(text, str(value.type))
        if number is not None:
            found[value] = ComputedIndex(None, number)
    for op in block.operations:
        name, results = op.operation.name, list(op.operation.results)
        attributes = op.operation.attributes
        if name == "linalg.index":
            loop = int(ir.IntegerAttr(attributes["dim"]).value)
            if not isinstance(domain[loop], Size):
                found[results[0]] = ComputedIndex(loop, np.arange(domain[loop]))
            continue
        read = [found.get(v) for v in op.operation.operands]
        known = [c for c in read if c is not None]
        loops = {c.loop for c in known if c.loop is not None}
        if len(results) != 1 or len(known) != len(read) or len(loops) > 1:
            continue
        texts = tuple(sorted((n, str(attributes[n])) for n in attributes))
        scalar = ScalarOp(name, tuple(range(len(known))), str(results[0].type), texts)
        with np.errstate(all="ignore"):  # what a select does not take may be anything
            values = apply(scalar, [c.values for c in known])
        if values is not None:
            found[results[0]] = ComputedIndex(next(iter(loops), None), values)
    return found


def linear_form(index: ComputedIndex) -> Affine | None:
    """The index as a linear form of its loop, None where it is none."""
    values = [int(v) for v in np.atleast_1d(index.values)]
    if index.loop is None or len(values) == 1:
        return affine([], values[0])
    step = values[1] - values[0]
    linear = all(v == values[0] + step * i for i, v in enumerate(values))
    return affine([(index.loop, step)], values[0]) if linear else None


def repeat_of(index: ComputedIndex) -> int | None:
    """How often each place is read before the next one, where the index is ``d // repeat``."""
    values = [int(v) for v in np.atleast_1d(index.values)]
    repeat = next((i for i, v in enumerate(values) if v), 0)
    if not repeat or len(values) % repeat:
        return None
    return repeat if all(v == i // repeat for i, v in enumerate(values)) else None
