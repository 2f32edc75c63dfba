"""What each search makes of the same candidates at the same prices."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from layoutopt.errors import SolverError
from layoutopt.options import Options
from layoutopt.pipeline.stages import ModelSource, enumerate, price, prices, read, select
from layoutopt.planning.plan_space import PlanSpace
from layoutopt.planning.priced import Priced
from layoutopt.solver import Search


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The plan of one search, for all functions of a model together."""

    search: Search
    predicted_ns: int | None
    """Sum of its prices; None where it found no plan for some function."""
    seconds: float
    """Of selecting, with all prices known."""


def compare_searches(
    model: ModelSource, profile: str = "host", options: Options | None = None
) -> Iterator[SearchResult]:
    """Plan a model with every search in turn, each function alone; nothing is compiled as a whole.

    All candidates are priced first. Raises InputError.
    """
    options = options or Options()
    everything = replace(options, search=Search.GREEDY)  # the integer program leaves out prices
    with (
        read(model, profile, options) as opened,
        prices(opened.target, options, weight_reuse=opened.weight_reuse) as pricer,
    ):
        spaces = [enumerate(f.graph, opened.target, options) for f in opened.functions]
        priced = [price(space, pricer, everything) for space in spaces]
    for search in Search:
        yield _searched(list(zip(spaces, priced, strict=True)), replace(options, search=search))


def _searched(spaces: Sequence[tuple[PlanSpace, Priced]], options: Options) -> SearchResult:
    predicted_ns: int | None = 0
    started = time.perf_counter()
    for space, priced in spaces:
        try:
            found = select(space, priced, options).solution.objective_ns
        except SolverError:
            found = None
        predicted_ns = None if found is None or predicted_ns is None else predicted_ns + found
    return SearchResult(options.search, predicted_ns, time.perf_counter() - started)
