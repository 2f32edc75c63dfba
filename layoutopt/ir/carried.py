"""Tensors that control flow hands on: from block to block, in one layout.

for %i iter_args(%h = %x) { ..; yield %y }      %x, %h, %y and the result are one tensor
if %p { yield %y } else { yield %z }            %y, %z and the result are
for .. { f(%x) }                                %x inside is %x outside
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from layoutopt.ir.layout import Layout

Place = tuple[int, int]
"""(graph, tensor)."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A tensor under all the names that it has in the graphs of several blocks."""

    name: str
    """``main/for.0 1`` is what the first loop in ``main`` carries second."""
    made: tuple[Place, ...]
    """Arguments of blocks, results of control flow, values from outside: inputs of graphs."""
    read: tuple[Place, ...]
    """What is handed on: outputs of graphs, or constants."""
    is_state: bool = False
    """Whether it is a mutable global, which ``--free-state-layout`` alone lets lie otherwise."""

    @property
    def graphs(self) -> tuple[int, ...]:
        """The graphs that it appears in, in order."""
        return tuple(sorted({graph for graph, _ in (*self.made, *self.read)}))

    def among(self, graphs: Mapping[int, int]) -> Carried:
        """The same with other numbers for graphs."""
        made, read = (tuple((graphs[g], t) for g, t in places) for places in (self.made, self.read))
        return Carried(self.name, made, read, self.is_state)


@dataclass(frozen=True, slots=True)
class CarriedEnd:
    """A carried tensor in one graph."""

    name: str
    tensor: int
    layout: Layout


@dataclass(frozen=True, slots=True)
class Ends:
    """The layouts in which the carried tensors of one graph come and go."""

    taken: Mapping[int, Layout] = field(default_factory=dict)
    """By tensor: inputs that are not row-major."""
    handed: tuple[tuple[int, Layout], ...] = ()
    """Outputs and constants that control flow takes in other layouts than row-major."""
    handed_only: frozenset[int] = frozenset()
    """Outputs that are read in these layouts alone."""
    carried: tuple[CarriedEnd, ...] = ()
    """Each carried tensor once, row-major ones too."""


def ends_of(
    graph: int, carried: Mapping[Carried, Layout], handed_only: Mapping[int, frozenset[str]]
) -> Ends:
    """The ends of one of the graphs, where each carried tensor lies in a layout."""
    here = [(c, layout) for c, layout in carried.items() if graph in c.graphs]
    taken = {t: layout for c, layout in here for g, t in c.made if g == graph}
    handed = dict.fromkeys((t, layout) for c, layout in here for g, t in c.read if g == graph)
    plain = {t for t, layout in handed if layout.is_row_major}
    only = only_handed(handed_only, carried) - plain
    return Ends(
        {t: layout for t, layout in taken.items() if not layout.is_row_major},
        tuple(pair for pair in handed if not pair[1].is_row_major),
        only,
        tuple(
            CarriedEnd(c.name, next(t for g, t in (*c.made, *c.read) if g == graph), layout)
            for c, layout in here
        ),
    )


def only_handed(
    handed_only: Mapping[int, frozenset[str]], carried: Iterable[Carried]
) -> frozenset[int]:  # fmt: skip
    """The outputs that nothing reads but some carried tensors. ``handed_only``: of a graph."""
    names = {c.name for c in carried}
    return frozenset(tensor for tensor, readers in handed_only.items() if readers <= names)
