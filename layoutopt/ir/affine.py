"""Indexing maps of structured ops: each result is a linear form over the iteration dims."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Affine:
    """``sum(coefficient * d_dim) + offset``; terms sorted by dim, no zero coefficient."""

    terms: tuple[tuple[int, int], ...]
    offset: int = 0

    @property
    def plain_dim(self) -> int | None:
        """The dim where the form is just ``d_i``; None for anything else."""
        if self.offset or len(self.terms) != 1 or self.terms[0][1] != 1:
            return None
        return self.terms[0][0]

    @property
    def dims(self) -> tuple[int, ...]:
        """The dims that occur, ascending."""
        if len(self.terms) == 1:  # most are, and they are asked for all the time
            return self.terms[0][:1]
        return tuple(dim for dim, _ in self.terms)

    def coefficient(self, dim: int) -> int:
        """The coefficient of one dim, zero where it does not occur."""
        return dict(self.terms).get(dim, 0)

    def renamed(self, new_dim: dict[int, int]) -> Affine:
        """The same form over other dim numbers; a dim without a new number must have size one."""
        if len(self.terms) == 1:  # most are, and millions are renamed
            ((d, c),) = self.terms
            return Affine(((new_dim[d], c),) if d in new_dim else (), self.offset)
        return affine(((new_dim[d], c) for d, c in self.terms if d in new_dim), self.offset)

    def __str__(self) -> str:
        parts = [f"d{d}" if c == 1 else f"d{d} * {c}" for d, c in self.terms]
        if self.offset or not parts:
            parts.append(str(self.offset))
        return " + ".join(parts)


IndexMap = tuple[Affine, ...]


def affine(terms: Iterable[tuple[int, int]], offset: int = 0) -> Affine:
    """Make a form from terms in any order; equal dims are added up."""
    total: dict[int, int] = {}
    for dim, coefficient in terms:
        total[dim] = total.get(dim, 0) + coefficient
    return Affine(tuple(sorted((d, c) for d, c in total.items() if c)), offset)


@cache
def dim(index: int) -> Affine:
    """The form ``d_index``."""
    return Affine(((index, 1),))


def plain_map(dims: Iterable[int]) -> IndexMap:
    """The projected permutation ``(d...) -> dims``."""
    return tuple(dim(d) for d in dims)


def identity_map(rank: int) -> IndexMap:
    """The identity over ``rank`` dims."""
    return plain_map(range(rank))


def plain_dims(index_map: IndexMap) -> tuple[int, ...] | None:
    """The dims of a projected permutation: every result is one plain dim, no dim twice."""
    found = dict.fromkeys(form.plain_dim for form in index_map)
    dims = tuple(d for d in found if d is not None)
    return dims if len(dims) == len(index_map) else None


def loops_with_a_size(maps: Iterable[IndexMap]) -> frozenset[int]:
    """The loops that are one plain dim of some operand: linalg takes their sizes from there."""
    found = {form.plain_dim for index_map in maps for form in index_map}
    return frozenset(d for d in found if d is not None)


def map_text(index_map: IndexMap, rank: int) -> str:
    """The map as MLIR text, ``affine_map<(d0, d1) -> (d1, d0)>``."""
    dims = ", ".join(f"d{i}" for i in range(rank))
    return f"affine_map<({dims}) -> ({', '.join(map(str, index_map))})>"


def runs_backwards(index_map: IndexMap) -> bool:
    """Whether some dim is read against the direction of a loop."""
    return any(c < 0 for form in index_map for _, c in form.terms)
