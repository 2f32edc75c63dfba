"""Separable linear maps of small tiles, written as one structured op without a multiplication loop.

A tensor of coefficients would be read for every element; here each coefficient stands in the body,
zeros cost nothing, and the compiler keeps a whole tile in registers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
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


def paired_rows(matrix: Matrix) -> tuple[int, ...]:
    """The rows in an order that has those together which differ in signs only, the others last."""
    terms = [[(c, a) for a, c in enumerate(row) if c] for row in matrix]
    paired: list[int] = []
    for i, row in enumerate(terms):
        j = next((j for j in range(i + 1, len(terms)) if _is_mirrored(row, terms[j])), None)
        if j is not None and i not in paired:
            paired += [i, j]
    return (*paired, *(i for i in range(len(terms)) if i not in paired))


def _are_equal_but_for_signs(rows: Iterable[Sequence[Fraction]], a: int, b: int) -> bool:
    """Whether each row has coefficients of equal size at two places."""
    return all(abs(row[a]) == abs(row[b]) for row in rows)


def _is_mirrored(
    row: Sequence[tuple[Fraction, int]], other: Sequence[tuple[Fraction, int]]
) -> bool:
    """Whether two rows have the same terms but for the signs of some."""
    sizes, others = ([(abs(c), value) for c, value in terms] for terms in (row, other))
    return sizes == others and 0 < sum(a == b for a, b in zip(row, other, strict=True)) < len(row)


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
                (*rest[:axis], i, *rest[axis:]): value
                for rest, line in lines.items()
                for i, value in self._product({i: matrix[i] for i in rows}, line).items()
            }
        return values

    def _product(
        self, rows: Mapping[int, Sequence[Fraction]], line: Mapping[int, int]
    ) -> dict[int, int]:
        """Some rows of a matrix times the elements of a line.

        Elements that all rows have with coefficients of equal size are added and subtracted once;
        two rows whose coefficients are equal but for signs are the sum and the difference of two
        parts. Points of interpolation that differ in sign make both (see ``toom_cook``).
        """
        terms: dict[int, list[tuple[Fraction, int]]] = {i: [] for i in rows}
        left = list(line)
        while left:
            a, *left = left
            b = next((b for b in left if _are_equal_but_for_signs(rows.values(), a, b)), None)
            if b is None:
                for i, row in rows.items():
                    terms[i].append((row[a], line[a]))
                continue
            left.remove(b)
            for same, name in ((True, "arith.addf"), (False, "arith.subf")):
                having = [i for i, row in rows.items() if row[a] and (row[a] == row[b]) is same]
                if having:
                    both = self._add(name, line[a], line[b])
                for i in having:
                    terms[i].append((rows[i][a], both))
        return self._sums({i: [t for t in row if t[0]] for i, row in terms.items()})

    def _sums(self, rows: Mapping[int, Sequence[tuple[Fraction, int]]]) -> dict[int, int]:
        """Each row's multiples of values, added up."""
        made: dict[int, int] = {}
        for i, row in rows.items():
            if i in made:
                continue
            mirrored = next((j for j in rows if j not in made and _is_mirrored(row, rows[j])), None)
            if mirrored is None:
                made[i] = self._sum(row)
                continue
            even = self._sum([a for a, b in zip(row, rows[mirrored], strict=True) if a == b])
            odd = self._sum([a for a, b in zip(row, rows[mirrored], strict=True) if a != b])
            made[i] = self._add("arith.addf", even, odd)
            made[mirrored] = self._add("arith.subf", even, odd)
        return made

    def _sum(self, terms: Sequence[tuple[Fraction, int]]) -> int:
        first, *others = sorted(terms, key=lambda term: term[0] < 0)  # positive: no negation
        total = self._scaled(*first)
        for coefficient, value in others:
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
