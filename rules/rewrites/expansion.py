"""Loops of a structured op split in row-major order, and operands that are reshaped for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

from layoutopt.ir.affine import Affine, IndexMap, dim
from layoutopt.ir.graph import FromTensor, Graph, GraphBuilder, Reshape, Structured
from layoutopt.ir.refusal import Refusal

Sizes = Mapping[int, tuple[int, ...]]
"""Of each loop that is split the sizes of its parts, the outermost first."""


def read_otherwise(op: Structured, sizes: Sizes) -> Refusal | None:
    """Why loops cannot be split: some operand is not read along them alone."""
    for form in (form for index_map in op.source_maps for form in index_map):
        if form.plain_dim is None and any(d in sizes for d in form.dims):
            return Refusal(f"expected operands read along the loops that are split, but got {form}")
    return None


@dataclass(frozen=True)
class Expansion:
    """An op whose loops are split, and where its new tensors and ops go."""

    graph: Graph
    builder: GraphBuilder
    op: Structured
    sizes: Sizes

    def expanded(self, tensor: int, index_map: IndexMap) -> int:
        """An operand with a dim for each part of a loop."""
        kind = self.graph.types[tensor]
        shape = self.shape(kind.shape, index_map)
        if len(shape) == len(kind.shape):
            return tensor
        made = self.builder.tensor(shape, kind.element)
        self.builder.add(Reshape(tensor, made))
        return made

    def shape(self, shape: tuple[int, ...], index_map: IndexMap) -> tuple[int, ...]:
        """The sizes of an operand with a dim for each part."""
        found: list[int] = []
        for form, size in zip(index_map, shape, strict=True):
            found += self.sizes.get(loop_of(form), (size,))
        return tuple(found)

    def over_parts(self, index_map: IndexMap, part: int | None = None) -> IndexMap:
        """The map over the new loops; ``part``: the one that a dim is read along, else all."""
        forms: list[Affine] = []
        first = [0, *accumulate(map(len, self._parts))]
        for form in index_map:
            split = self.sizes.get(loop_of(form))
            if split is None:
                forms.append(form.renamed(dict(enumerate(first))))
            else:
                chosen = range(len(split)) if part is None else (part,)
                forms += [dim(first[loop_of(form)] + i) for i in chosen]
        return tuple(forms)

    def add(self, result: int, read_for: Mapping[int, tuple[int, int]] | None = None) -> None:
        """Add the op over the parts. ``read_for``: by operand, what is read along one part."""
        op, others = self.op, read_for or {}
        sources, maps = [], []
        for position, (tensor, index_map) in enumerate(
            zip(op.sources, op.source_maps, strict=True)
        ):
            other, part = others.get(position, (None, None))
            sources.append(self.expanded(tensor, index_map) if other is None else other)
            maps.append(self.over_parts(index_map, part))
        (init,) = op.inits
        if isinstance(init, FromTensor):
            init = FromTensor(self.expanded(init.tensor, op.result_maps[0]))
        self.builder.add(
            replace(
                op,
                sources=tuple(sources),
                inits=(init,),
                results=(result,),
                domain=tuple(size for sizes in self._parts for size in sizes),
                iterators=tuple(
                    kind
                    for kind, sizes in zip(op.iterators, self._parts, strict=True)
                    for _ in sizes
                ),
                maps=(*maps, *map(self.over_parts, op.result_maps)),
            )
        )

    @property
    def _parts(self) -> list[tuple[int, ...]]:
        return [self.sizes.get(loop, (size,)) for loop, size in enumerate(self.op.domain)]


def loop_of(form: Affine) -> int:
    """The loop that a dim is read along; -1 where it is not one alone."""
    return -1 if form.plain_dim is None else form.plain_dim
