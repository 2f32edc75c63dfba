"""Sizes that the user plans for, checked against those that the model leaves open."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from layoutopt.errors import InputError
from layoutopt.ir.graph import Graph
from layoutopt.ir.planned_sizes import divided, open_sizes, planned_for
from layoutopt.options import PlannedSize, SizeRange
from layoutopt.planning.named_option import check_named

Point = tuple[float, tuple[tuple[str, int], ...]]
"""A weight, and sizes by name."""
MOST_POINTS = 16
"""Combinations of sizes that candidates are priced at."""


def chosen_sizes(graphs: Sequence[Graph], wanted: Sequence[PlannedSize]) -> dict[str, int]:
    """What is planned for, by name. Raises InputError where a model has no such size."""
    known = {
        name: (s.low * divisor, s.high * divisor, divisor)
        for graph in graphs
        for s in open_sizes(graph)
        for name, divisor in (divided(s),)
    }
    for size in wanted:
        check_named(
            "--dim",
            size.name,
            known,
            "a model with sizes that are open",
            "one whose sizes are all known",
        )
        low, high, divisor = known[size.name]
        for number in size.sizes:
            if not low <= number <= high or number % divisor:
                raise InputError(
                    f"--dim {size.name}",
                    f"a multiple of {divisor} between {low} and {high}",
                    str(number),
                    "correct the option",
                )
    count = math.prod(len(size.sizes) for size in wanted)
    if count > MOST_POINTS:
        raise InputError(
            "--dim", f"at most {MOST_POINTS} combinations of sizes", str(count), "name fewer sizes"
        )
    return {size.name: size.sizes[0] for size in wanted}


def check_ranges(graphs: Sequence[Graph], wanted: Sequence[SizeRange]) -> None:
    """Raises InputError where a model has no such size, or says that it lies elsewhere."""
    known = {divided(s)[0]: s for graph in graphs for s in open_sizes(graph)}
    for size in wanted:
        check_named(
            "--dim-range",
            size.name,
            known,
            "a model with sizes that are open",
            "one whose sizes are all known",
        )
        own = known[size.name]
        divisor = divided(own)[1]
        low, high = own.low * divisor, own.high * divisor
        if size.low > high or size.high < low:
            raise InputError(
                f"--dim-range {size.name}",
                f"a range that meets {low} to {high}, as the model says",
                f"{size.low} to {size.high}",
                "correct the option",
            )


def other_sizes(
    graph: Graph, wanted: Sequence[PlannedSize]
) -> tuple[float, tuple[tuple[float, Graph], ...]]:
    """The weight of the sizes that a graph is planned at, and it at all others, with theirs."""
    (own, _), *others = points_of(graph, wanted)
    return own, tuple((weight, planned_for(graph, dict(values))) for weight, values in others)


def points_of(graph: Graph, wanted: Sequence[PlannedSize]) -> tuple[Point, ...]:
    """The sizes that a graph is planned at together, each time with their weight."""
    names = {divided(symbol)[0] for symbol in open_sizes(graph)}
    own = [size for size in wanted if size.name in names]
    found = []
    for point in itertools.product(*(size.shares for size in own)):
        values = ((size.name, number) for size, (number, _) in zip(own, point, strict=True))
        found.append((math.prod(weight for _, weight in point), tuple(values)))
    return tuple(found)
