"""Sizes that the user plans for, checked against those that the model leaves open."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.errors import InputError
from layoutopt.ir.graph import Graph
from layoutopt.ir.planned_sizes import divided, open_sizes
from layoutopt.options import PlannedSize


def chosen_sizes(graphs: Sequence[Graph], wanted: Sequence[PlannedSize]) -> dict[str, int]:
    """What is planned for, by name. Raises InputError where a model has no such size."""
    known = {
        name: (s.low * divisor, s.high * divisor, divisor)
        for graph in graphs
        for s in open_sizes(graph)
        for name, divisor in (divided(s),)
    }
    for size in wanted:
        if size.name not in known:
            raise InputError(
                f"--dim {size.name}",
                f"one of {', '.join(known)}" if known else "a model with sizes that are open",
                "another name" if known else "one whose sizes are all known",
                "correct the option" if known else "leave the option out",
            )
        low, high, divisor = known[size.name]
        if not low <= size.size <= high or size.size % divisor:
            raise InputError(
                f"--dim {size.name}",
                f"a multiple of {divisor} between {low} and {high}",
                str(size.size),
                "correct the option",
            )
    return {size.name: size.size for size in wanted}
