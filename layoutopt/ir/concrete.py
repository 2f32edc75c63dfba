"""A graph at sizes that are numbers: what runs, of what is planned for any size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from layoutopt.ir.graph import Graph
from layoutopt.ir.size import Size, at


def concrete(graph: Graph, values: Mapping[str, int] | None = None) -> Graph:
    """The graph with numbers for its sizes.

    ``values``: of symbols by name; the others have what is planned for. A static graph is itself.
    """
    known = values or {}
    return with_sizes(graph, lambda size: at(size, known))


def with_sizes(graph: Graph, new: Callable[[int], int]) -> Graph:
    """The graph with other sizes in place of those that are not numbers."""
    if graph.is_static:
        return graph
    types = tuple(replace(t, shape=tuple(map(new, t.shape))) for t in graph.types)
    return replace(graph, types=types, ops=tuple(_with(op, new) for op in graph.ops))


def _with(part: Any, new: Callable[[int], int]) -> Any:
    """The same with other sizes in place of every one in it."""
    if isinstance(part, Size):
        return new(part)
    if type(part) is tuple:
        found = tuple(_with(item, new) for item in part)
        return part if all(a is b for a, b in zip(part, found, strict=True)) else found
    if not is_dataclass(part) or isinstance(part, type):
        return part
    old = {f.name: getattr(part, f.name) for f in fields(part) if f.init}
    changed = {name: _with(value, new) for name, value in old.items()}
    if all(changed[name] is old[name] for name in old):
        return part
    return replace(part, **changed)
