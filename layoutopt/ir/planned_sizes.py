"""Which sizes of a graph are open, and what is planned for in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from layoutopt.ir.concrete import with_sizes
from layoutopt.ir.graph import Graph
from layoutopt.ir.size import Symbol, one_symbol, symbols, with_symbols


def open_sizes(graph: Graph) -> tuple[Symbol, ...]:
    """The symbols that sizes of tensors are made of, in order of their names."""
    return tuple(sorted({s for kind in graph.types for n in kind.shape for s in symbols(n)}))


def planned_for(graph: Graph, wanted: Mapping[str, int]) -> Graph:
    """The graph with other sizes to plan for, by name; each has to lie in its symbol's range."""

    return with_sizes(graph, lambda size: size_for(size, wanted)) if wanted else graph


def size_for(size: int, wanted: Mapping[str, int]) -> int:
    """The size with other sizes to plan for, by name."""

    def chosen(symbol: Symbol) -> int:
        name, divisor = divided(symbol)
        value = wanted.get(name, symbol.planned * divisor) // divisor
        return one_symbol(replace(symbol, planned=value))

    return with_symbols(size, chosen)


def renamed_sizes(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with other names of sizes; those of one name are one size, in the smaller range."""
    ranges: dict[str, Symbol] = {}
    for symbol in open_sizes(graph):
        name = renamed(symbol.name, names)
        known = ranges.get(name, symbol)
        low, high = max(known.low, symbol.low), min(known.high, symbol.high)
        planned = min(max(known.planned, low), high)
        ranges[name] = Symbol(name, low, high, planned)

    def found(symbol: Symbol) -> int:
        """Places in tensors are the sizes of none, perhaps."""
        name = renamed(symbol.name, names)
        return one_symbol(ranges.get(name) or replace(symbol, name=name))

    return with_sizes(graph, lambda size: with_symbols(size, found)) if names else graph


def renamed_size(size: int, names: Mapping[str, str]) -> int:
    """The size with other names of symbols."""

    def found(symbol: Symbol) -> int:
        return one_symbol(replace(symbol, name=renamed(symbol.name, names)))

    return with_symbols(size, found)


def renamed(name: str, names: Mapping[str, str]) -> str:
    """What a symbol is called where sizes have other names: a part of a size by the size."""
    whole, slash, divisor = name.partition("/")
    return names.get(name) or names.get(whole, whole) + slash + divisor


def divided(symbol: Symbol) -> tuple[str, int]:
    """The size that a symbol is a part of: its name, and how many of the symbol it is."""
    name, _, divisor = symbol.name.partition("/")
    return name, int(divisor or 1)
