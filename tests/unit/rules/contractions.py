"""Contractions with maps of any kind, for tests of what rules make of them."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.ir.affine import Affine, affine
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, Init, IteratorType, Scatter, Structured
from layoutopt.ir.scalar import contraction_body

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION
Terms = Sequence[tuple[int, int]]


def form(*terms: tuple[int, int], at: int = 0) -> Affine:
    """``sum(coefficient * d_dim) + at``."""
    return affine(terms, at)


def contraction(
    shapes: Sequence[tuple[int, ...]],
    maps: Sequence[Sequence[Affine]],
    domain: tuple[int, ...],
    kinds: str,
    init: Init | None = None,
    element: str = "f32",
) -> Graph:
    """Op 0: tensor 2 of tensors 0 and 1; ``kinds``: p or r for each loop."""
    builder = GraphBuilder()
    tensors = [builder.tensor(shape, element) for shape in shapes]
    builder.add(_op(tensors, maps, domain, kinds, init, element))
    return builder.build(tensors[:2], tensors[2:])


def interior_padded(
    small: tuple[int, ...],
    offsets: tuple[int, ...],
    strides: tuple[int, ...],
    shapes: Sequence[tuple[int, ...]],
    maps: Sequence[Sequence[Affine]],
    domain: tuple[int, ...],
    kinds: str,
    background: str = "0.0 : f32",
    init: Init | None = None,
) -> Graph:
    """Op 1: the same where tensor 0 is a scatter of tensor 3."""
    builder = GraphBuilder()
    tensors = [builder.tensor(shape, "f32") for shape in shapes]
    source = builder.tensor(small, "f32")
    builder.add(Scatter((source,), tensors[0], (offsets,), strides, background))
    builder.add(_op(tensors, maps, domain, kinds, init, "f32"))
    return builder.build((source, tensors[1]), tensors[2:])


def _op(
    tensors: Sequence[int],
    maps: Sequence[Sequence[Affine]],
    domain: tuple[int, ...],
    kinds: str,
    init: Init | None,
    element: str,
) -> Structured:
    return Structured(
        tuple(tensors[:2]),
        (init or Fill(f"0.0 : {element}"),),
        tuple(tensors[2:]),
        domain,
        tuple(P if kind == "p" else R for kind in kinds),
        tuple(tuple(m) for m in maps),
        contraction_body(element, element, element),
    )
