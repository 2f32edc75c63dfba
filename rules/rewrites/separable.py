"""Separable linear maps of small tiles, written as one structured op without a multiplication loop.

A tensor of coefficients would be read for every element; here each coefficient stands in the body,
zeros cost nothing, and the compiler keeps a whole tile in registers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from layoutopt.ir.affine import IndexMap, identity_map
from layoutopt.ir.graph import IteratorType, Structured, Uninitialized
from layoutopt.ir.minimal_filtering import Matrix
from layoutopt.ir.scalar import Body, ScalarOp

Index = tuple[int, ...]


def separable(
    matrices: tuple[Matrix, ...],
    results: Mapping[Index, int],
    source: Callable[[Index], tuple[int, IndexMap]],
    domain: tuple[int, ...],
    element: str,
) -> Structured:
    """``results[i] = sum over a of prod(matrices[axis][i[axis]][a[axis]]) * source(a)``.

    ``results``: the tensor of each wanted index; each is written at its own point of ``domain``.
    ``source``: the tensor that holds element ``a`` of the tile, and its indexing map.
    """
    read = elements_read(matrices, tuple(results))
    operands = [source(index) for index in read]
    body = _body(matrices, read, tuple(results), element)
    rank = len(domain)
    return Structured(
        tuple(tensor for tensor, _ in operands),
        (Uninitialized(),) * len(results),
        tuple(results.values()),
        domain,
        (IteratorType.PARALLEL,) * rank,
        (*(m for _, m in operands), *(identity_map(rank),) * len(results)),
        body,
    )


@lru_cache(maxsize=1024)
def _body(
    matrices: tuple[Matrix, ...], read: tuple[Index, ...], wanted: tuple[Index, ...], element: str
) -> Body:
    sums = _Sums(element, len(read) + len(wanted))
    values = {index: position for position, index in enumerate(read)}
    made = sums.transformed(values, matrices, wanted)
    return Body((element,) * sums.first, tuple(sums.ops), tuple(made[i] for i in wanted))


@lru_cache(maxsize=1024)
def elements_read(matrices: tuple[Matrix, ...], wanted: tuple[Index, ...]) -> tuple[Index, ...]:
    """The elements of a tile that the wanted results depend on, in order."""
    axes = []
    for axis, matrix in enumerate(matrices):
        rows = sorted({index[axis] for index in wanted})
        axes.append([a for a in range(len(matrix[0])) if any(matrix[i][a] for i in rows)])
    return tuple(itertools.product(*axes))


def selection_body(indices: Sequence[Index], loops: Mapping[int, int], element: str) -> Body:
    """Yields the argument whose index the loops stand at; argument i has ``indices[i]``.

    ``loops``: the iteration dim that counts along each axis of the index; others are 0 throughout.
    """
    sums = _Sums(element, len(indices) + 1)
    found = sums.selected({index: place for place, index in enumerate(indices)}, loops)
    return Body((element,) * sums.first, tuple(sums.ops), (found,))


def body_of_selected_sum(
    matrix: Matrix, indices: Sequence[Index], loops: Mapping[int, int], element: str
) -> Body:
    """Yields a row of a matrix times the arguments: row i where the loops stand at ``indices[i]``.

    ``loops``: as above.
    """
    count = len(matrix[0])
    sums = _Sums(element, count + 1)
    rows = [(i,) for i in range(len(matrix))]
    made = sums.transformed({(a,): a for a in range(count)}, (matrix,), rows)
    found = sums.selected(
        {index: made[row] for index, row in zip(indices, rows, strict=True)}, loops
    )
    return Body((element,) * sums.first, tuple(sums.ops), (found,))


class _Sums:
    """The ops of a body that adds up multiples of its arguments, and chooses among them."""

    def __init__(self, element: str, arguments: int) -> None:
        self.element = element
        self.first = arguments
        self.ops: list[ScalarOp] = []
        self.constants: dict[Fraction, int] = {}

    def transformed(
        self, values: dict[Index, int], matrices: Sequence[Matrix], wanted: Sequence[Index]
    ) -> dict[Index, int]:
        """One axis after the other: its place ``a`` becomes ``sum of matrix[i][a]``."""
        for axis, matrix in enumerate(matrices):
            rows = sorted({index[axis] for index in wanted})
            lines: dict[Index, dict[int, int]] = {}
            for index, value in values.items():
                rest = (*index[:axis], *index[axis + 1 :])
                lines.setdefault(rest, {})[index[axis]] = value
            values = {
                (*rest[:axis], i, *rest[axis:]): self._sum(matrix[i], line)
                for rest, line in lines.items()
                for i in rows
            }
        return values

    def _sum(self, row: Sequence[Fraction], line: Mapping[int, int]) -> int:
        terms = [(row[a], value) for a, value in line.items() if row[a]]
        terms.sort(key=lambda term: term[0] < 0)  # start from a positive term: no negation
        total = self._scaled(*terms[0])
        for coefficient, value in terms[1:]:
            name = "arith.addf" if coefficient > 0 else "arith.subf"
            total = self._add(name, total, self._scaled(abs(coefficient), value))
        return total

    def _scaled(self, coefficient: Fraction, value: int) -> int:
        if coefficient == 1:
            return value
        if coefficient not in self.constants:
            text = f"{float(coefficient)!r} : {self.element}"
            constant = ScalarOp("arith.constant", (), self.element, (("value", text),))
            self.constants[coefficient] = self._new(constant)
        return self._add("arith.mulf", value, self.constants[coefficient])

    def _add(self, name: str, lhs: int, rhs: int) -> int:
        return self._new(ScalarOp(name, (lhs, rhs), self.element))

    def selected(self, values: Mapping[Index, int], loops: Mapping[int, int]) -> int:
        """Of values by index the one whose index the loops stand at."""
        tests: dict[tuple[int, int], int] = {}
        for axis, loop in loops.items():
            at = self._new(ScalarOp("linalg.index", (), "index", (("dim", str(loop)),)))
            for place in sorted({index[axis] for index in values} - {0}):
                text = f"{place} : index"
                number = self._new(ScalarOp("arith.constant", (), "index", (("value", text),)))
                equal = (("predicate", "0 : i64"),)
                tests[axis, place] = self._new(ScalarOp("arith.cmpi", (at, number), "i1", equal))
        for axis in sorted(loops, reverse=True):
            chosen: dict[Index, int] = {}
            for index, value in values.items():
                rest = (*index[:axis], 0, *index[axis + 1 :])
                if rest not in chosen:
                    chosen[rest] = value
                    continue
                operands = (tests[axis, index[axis]], value, chosen[rest])
                chosen[rest] = self._new(ScalarOp("arith.select", operands, self.element))
            values = chosen
        (found,) = values.values()
        return found

    def _new(self, op: ScalarOp) -> int:
        self.ops.append(op)
        return self.first + len(self.ops) - 1
