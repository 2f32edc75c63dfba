"""Which functions of a module are compared with the original's, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from layoutopt.ir.layout import Layout
from layoutopt.ir.size import Symbol, one_symbol, with_symbols
from layoutopt.ir.size_range import Ranges
from layoutopt.mlir.module import Module
from layoutopt.mlir.read.entry import Boundary, Exported
from layoutopt.options import Options
from layoutopt.oracle.size_limits import size_limits
from layoutopt.planning.chosen_sizes import points_of
from layoutopt.verification.discrepancy import Allowed
from layoutopt.verification.index_bounds import integers_of
from layoutopt.verification.tolerance import rounding_of
from layoutopt.verification.verified import Subject

_SPREAD = 0.25
"""Of what one result may be off by, what all may be off by on average."""


def subjects_of(
    module: Module,
    planned: Sequence[int],
    options: Options,
    bodies: Mapping[str, Sequence[Ranges]] = MappingProxyType({}),
) -> tuple[Subject, ...]:
    """The functions that a caller can call and that hold, or may call, what is planned.

    ``planned``: places of the blocks with a plan. To be asked before the plans are written into
    the module. A private function is compared through those that call it. ``bodies``: by name of a
    function, the sizes that each of its plans serves.
    """
    symbols = {module.blocks[place].function for place in planned}
    return tuple(
        _subject(module, exported, options, bodies.get(exported.name, ()))
        for exported in module.exported
        if exported.symbol in symbols or (exported.calls and symbols)
    )


def with_layouts(
    subjects: Sequence[Subject],
    boundaries: Mapping[str, Boundary],
    layouts: Mapping[str, Mapping[int, Layout]],
) -> tuple[Subject, ...]:
    """The same functions where the memory of some tensors lies in layouts of the plan's choice."""
    found = []
    for subject in subjects:
        chosen = layouts.get(subject.name, {})
        boundary = boundaries.get(subject.name)
        if boundary is None or not chosen:
            found.append(subject)
            continue
        taken, given = (_chosen(p, chosen) for p in (boundary.arguments, boundary.results))
        found.append(subject.lying(taken, given))
    return tuple(found)


def _chosen(places: Mapping[int, int], layouts: Mapping[int, Layout]) -> dict[int, Layout]:
    """The layouts of tensors by position, but for row-major ones."""
    lying = {place: layouts[t] for place, t in places.items() if t in layouts}
    return {place: layout for place, layout in lying.items() if not layout.is_row_major}


def _subject(
    module: Module, exported: Exported, options: Options, bodies: Sequence[Ranges]
) -> Subject:
    place = module.entry(exported.symbol)
    alone = place is not None and not exported.calls
    allowed = allowed_in(module, exported.symbol if alone else None, options)
    if place is None:
        return Subject(exported.name, allowed)
    graph, boundary = module.graphs[place], module.boundary(place)
    integers = {
        position: integers_of(graph, tensor)
        for position, tensor in boundary.arguments.items()
        if graph.types[tensor].element.lstrip("u").startswith("i")
    }
    limits = size_limits(graph)
    shapes = {
        position: tuple(_within(n, limits) for n in graph.types[tensor].shape)
        for position, tensor in boundary.arguments.items()
        if not graph.types[tensor].is_static
    }
    points = points_of(graph, options.sizes)
    return Subject(
        exported.name,
        allowed,
        boundary.types,
        integers,
        shapes,
        graph if shapes else None,
        points,
        tuple(bodies),
    )


def _within(size: int, limits: Mapping[str, int]) -> int:
    """The size with its symbols as far as the model means something."""

    def limited(symbol: Symbol) -> int:
        most = min(symbol.high, limits.get(symbol.name, symbol.high))
        return one_symbol(replace(symbol, high=most, planned=min(symbol.planned, most)))

    return with_symbols(size, limited)


def allowed_in(module: Module, function: str | None, options: Options) -> Allowed:
    """What results may differ by: what the user says, else what rounding does.

    ``function``: the symbol of the only one that runs; None for all.
    """
    places = [i for i, b in enumerate(module.blocks) if function in (None, b.function)]
    runs = module.runs({t.name: t.count for t in options.trip_counts})
    rounding = rounding_of([module.graphs[i] for i in places], [runs[i] for i in places])
    if options.tolerance is not None:
        return Allowed(options.tolerance, steps=rounding.steps)
    tolerance = rounding.tolerance(options.exact)
    return Allowed(tolerance, _SPREAD * tolerance, rounding.steps)
