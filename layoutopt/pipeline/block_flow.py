"""Blocks of a module as they are planned: what they hand to each other, and how often they run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from layoutopt.ir.planned_sizes import divided, open_sizes
from layoutopt.ir.size import symbols
from layoutopt.mlir.module import Module
from layoutopt.mlir.read.one_place import torn_by
from layoutopt.options import PlannedSize
from layoutopt.planning.control_flow import ControlFlow


def one_body(module: Module, place: int, sizes: Sequence[PlannedSize]) -> str:
    """Why one plan has to serve all sizes of a block; empty where there may be several.

    ``sizes``: those that are planned for; boundaries are among those with several numbers.
    """
    block = module.blocks[place]
    if not block.is_whole:
        return "blocks of control flow have one plan for all sizes"
    if block.function not in {exported.symbol for exported in module.exported}:
        return "it is called by other functions only, and not compared around boundaries by itself"
    tensors = module.boundary(place).arguments.values()
    known = {
        divided(symbol)[0]
        for tensor in tensors
        for n in block.graph.types[tensor].shape
        for symbol in symbols(n)
    }
    open_here = {divided(symbol)[0] for symbol in open_sizes(block.graph)}
    for size in sizes:
        if len(size.sizes) > 1 and size.name in open_here - known:
            return f"{size.name} is no dim of an argument, so that no boundary can be tried out"
    torn = torn_by(block)
    return f"its ops stand ahead of and behind a {torn} that stays as it came" if torn else ""


_UNKNOWN_TRIPS = 2
"""Trips of a loop that does not tell: what can be done outside of it is."""


def control_flow(
    module: Module,
    trip_counts: Mapping[str, int],
    sizes: Sequence[PlannedSize] = (),
    free_state: bool = False,
) -> ControlFlow:
    """What the blocks of a module hand to each other; ``free_state``: in mutable globals too."""
    tensors = (c.tensor for c in module.carried)
    carried = tuple(tensor for tensor in tensors if free_state or not tensor.is_state)
    unknown = _UNKNOWN_TRIPS if carried else 1
    return ControlFlow(mean_runs(module, trip_counts, sizes, unknown), carried)


def trips_in_a_row(
    module: Module, trip_counts: Mapping[str, int], sizes: Sequence[PlannedSize] = ()
) -> tuple[int, ...]:
    """How often each block runs without other work between two runs: of functions once."""
    runs = mean_runs(module, trip_counts, sizes, _UNKNOWN_TRIPS)
    return tuple(1 if b.is_whole else n for b, n in zip(module.blocks, runs, strict=True))


def mean_runs(
    module: Module,
    trip_counts: Mapping[str, int],
    sizes: Sequence[PlannedSize] = (),
    unknown: int = 1,
) -> tuple[int, ...]:
    """How often each block runs in a call, see `Module.runs`; the mean of the sizes planned for."""
    points = list(itertools.product(*(size.shares for size in sizes)))
    weights = [math.prod(weight for _, weight in point) for point in points]
    each = [
        module.runs(
            trip_counts,
            unknown,
            {size.name: number for size, (number, _) in zip(sizes, point, strict=True)},
        )
        for point in points
    ]
    whole = sum(weights)
    return tuple(
        round(sum(w * n for w, n in zip(weights, own, strict=True)) / whole)
        for own in zip(*each, strict=True)
    )
