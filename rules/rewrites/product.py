"""What the algebraic rewrites share: sums of products of two factors, read along plain dims."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from layoutopt.ir.affine import plain_dims, plain_map
from layoutopt.ir.graph import Fill, Graph, IteratorType, Op, Structured
from layoutopt.ir.scalar import contraction_body, is_exact_contraction
from layoutopt.ir.size import planned
from layoutopt.rules.rewrites.interior_padding import is_zero

Loops = tuple[int, ...]
"""Of each dim of a tensor the loop that runs along it."""


@dataclass(frozen=True, slots=True)
class Product:
    """A contraction where each dim of both factors and of the result is a loop of its own."""

    op: Structured
    loops: tuple[Loops, Loops, Loops]
    """Of the two factors and of the result."""
    sizes: Mapping[int, int]
    """Of each loop."""

    @property
    def factors(self) -> tuple[int, int]:
        """The two tensors."""
        first, second = self.op.sources
        return first, second

    @property
    def result(self) -> int:
        """The sum."""
        return self.op.results[0]

    def starts_from_zero(self, graph: Graph) -> bool:
        """Whether it sums products and nothing else."""
        init = self.op.inits[0]
        return isinstance(init, Fill) and is_zero(init.value, graph.types[self.result].element)


def product_of(op: Op) -> Product | None:
    """An op as a product; None where it is none."""
    if not isinstance(op, Structured) or not op.is_contraction or len(op.results) != 1:
        return None
    if not is_exact_contraction(op.body) or op.body.reads_index:
        return None
    first, second, result = (plain_dims(m) for m in op.maps)
    if first is None or second is None or result is None:
        return None
    if {*result} & {*op.reduction_dims} or len(result) + len(op.reduction_dims) < len(op.domain):
        return None
    return Product(op, (first, second, result), dict(enumerate(op.domain)))


def made_by_product(graph: Graph, tensor: int) -> Product | None:
    """A sum of products that makes a tensor from zero."""
    for maker in graph.producers[tensor]:
        found = product_of(graph.ops[maker])
        if found is not None and found.starts_from_zero(graph):
            return found
    return None


def contraction(
    factors: tuple[int, int],
    loops: tuple[Loops, Loops, Loops],
    result: int,
    sizes: Mapping[int, int],
    elements: tuple[str, str, str],
) -> Structured:
    """A contraction over loops of any numbers: those of the result come first, the sums last.

    It starts from zero. ``elements``: the types of the factors and of the result.
    """
    summed = sorted({*loops[0], *loops[1]} - {*loops[2]})
    order = (*loops[2], *summed)
    place = {d: i for i, d in enumerate(order)}
    kinds = [IteratorType.PARALLEL] * len(loops[2]) + [IteratorType.REDUCTION] * len(summed)
    zero = "0.0" if not elements[2].startswith("i") else "0"
    return Structured(
        factors,
        (Fill(f"{zero} : {elements[2]}"),),
        (result,),
        tuple(sizes[d] for d in order),
        tuple(kinds),
        tuple(plain_map(place[d] for d in own) for own in loops),
        contraction_body(*elements),
    )


def points(sizes: Mapping[int, int], loops: Iterable[int]) -> int:
    """Points of some loops together, at the sizes that are planned for."""
    return math.prod(planned(sizes[d]) for d in {*loops})
