"""Arrays whose sizes and indices are not known: what ``Layout.apply`` and ``undo`` run on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import z3

from layoutopt.ir.types import Array
from tests.proofs.paths import Paths, term

Index = tuple[int, ...]


class SymbolicArray:
    """An array known by its shape and what stands at each index.

    Has no length, so that NumPy takes it for one object and hands it through.
    """

    dtype = np.dtype(object)

    def __init__(self, paths: Paths, shape: Sequence[int], at: Callable[[Index], object]) -> None:
        self.paths, self.shape, self.at = paths, tuple(shape), at

    def transpose(self, *axes: Any) -> SymbolicArray:
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], list | tuple) else axes

        def moved(index: Index) -> object:
            back = [0] * len(order)
            for position, axis in enumerate(order):
                back[axis] = index[position]
            return self.at(tuple(back))

        return SymbolicArray(self.paths, [self.shape[a] for a in order], moved)

    def reshape(self, shape: Sequence[int]) -> SymbolicArray:
        groups = _groups(self.paths, self.shape, shape)

        def moved(index: Index) -> object:
            return self.at(_regrouped(self.paths, groups, index))

        return SymbolicArray(self.paths, shape, moved)

    def __getitem__(self, kept: tuple[slice, ...]) -> SymbolicArray:
        assert all(s.start is None and s.step is None for s in kept)
        for s, n in zip(kept, self.shape, strict=True):
            self.paths.prove(term(s.stop) <= term(n), "a slice within its array")
        return SymbolicArray(self.paths, [s.stop for s in kept], self.at)

    def __array_function__(
        self, function: object, types: object, given: tuple[Any, ...], named: dict[str, Any]
    ) -> SymbolicArray:
        assert function is np.pad
        _, widths = given
        filler = named["constant_values"].item()
        assert all(low == 0 for low, _ in widths)

        def padded(index: Index) -> object:
            inside = [term(i) < term(n) for i, n in zip(index, self.shape, strict=True)]
            return self.at(index) if self.paths.holds(z3.And(inside)) else filler

        shape = [n + high for n, (_, high) in zip(self.shape, widths, strict=True)]
        return SymbolicArray(self.paths, shape, padded)

    @property
    def as_array(self) -> Array:
        """For code that is typed for NumPy's arrays."""
        return cast(Array, self)


def symbolic(found: Array) -> SymbolicArray:
    """What NumPy handed through."""
    made = found.item()
    assert isinstance(made, SymbolicArray)
    return made


Group = tuple[tuple[int, ...], tuple[int, ...]]
"""Sizes of neighbouring dims before and after that hold as many elements."""


def _groups(paths: Paths, before: Sequence[int], after: Sequence[int]) -> list[Group]:
    found: list[Group] = []
    left, right = list(before), list(after)
    while left and right:
        here, there = [left.pop(0)], [right.pop(0)]
        while not paths.certain(term(math.prod(here)) == term(math.prod(there))):
            shorter = paths.certain(term(math.prod(here)) <= term(math.prod(there)))
            side, rest = (here, left) if shorter else (there, right)
            side.append(rest.pop(0))
        found.append((tuple(here), tuple(there)))
    for n in (*left, *right):
        paths.prove(term(n) == 1, "a reshape to as many elements")
    if left or right:
        found.append((tuple(left), tuple(right)))
    return found


def _regrouped(paths: Paths, groups: Sequence[Group], index: Index) -> Index:
    """The index before a reshape, given that behind it."""
    found: list[int] = []
    rest = list(index)
    for before, after in groups:
        part, rest = rest[: len(after)], rest[len(after) :]
        found += _digits(paths, _linear(paths, part, after), before)
    return tuple(found)


def _linear(paths: Paths, digits: Sequence[int], sizes: tuple[int, ...]) -> int:
    """The linear index that has these digits: that which they were made of, if they were."""
    known = paths.linears.get((*map(str, digits), *map(str, sizes)))
    if known is not None:
        return known
    linear = 0
    for at, n in zip(digits, sizes, strict=True):
        linear = linear * n + (0 if paths.certain(term(n) == 1) else at)
    return linear


def _digits(paths: Paths, linear: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The mixed-radix digits of a linear index.

    Over sizes that are not known they are new symbols in their ranges, the same for the same
    index: less than what is true of digits, so that proofs about them hold.
    """
    many = [n for n in sizes if not paths.certain(term(n) == 1)]
    if len(many) <= 1:
        return tuple(linear if any(n is m for m in many) else 0 for n in sizes)
    if all(isinstance(n, int) for n in many[1:]):
        found: list[int] = []
        for n in reversed(sizes):
            if any(n is m for m in many[:1]) and not isinstance(n, int):
                found.insert(0, linear)
                continue
            found.insert(0, linear % n)
            linear = linear // n
        return tuple(found)
    key = (str(linear), *map(str, sizes))
    if key not in paths.digits:
        made = tuple(paths.symbol("digit", 0, n) for n in sizes)
        paths.digits[key] = made
        paths.linears[(*map(str, made), *map(str, sizes))] = linear
    return paths.digits[key]
