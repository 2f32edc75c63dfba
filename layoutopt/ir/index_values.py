"""Scalar ops of a body that computes places: each made once, and none where the value is known.

Places are sums, products, quotients and remainders of loops and sizes. A quotient or remainder of
``a * n + b`` is a or b where b is less than n, so that reshapes that undo each other cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from layoutopt.ir.scalar import ScalarOp, size_constant
from layoutopt.ir.size import Size, bounds

_INDEX = "index"
_EQUAL, _LESS, _NOT_LESS = ((("predicate", f"{n} : i64"),) for n in (0, 2, 5))
"""``arith.cmpi eq``, ``slt``, ``sge``: places are no negative numbers."""


@dataclass
class IndexValues:
    """The ops of a body without arguments; a value is the number of the op that makes it."""

    loops: Sequence[int]
    """The sizes of the loops."""
    ops: list[ScalarOp] = field(default_factory=list)
    _number: dict[ScalarOp, int] = field(default_factory=dict)
    _ends: dict[int, int] = field(default_factory=dict)
    """By value, a size that it is less than, where one is known."""

    def add(self, op: ScalarOp) -> int:
        """The value of an op."""
        if op not in self._number:
            self._number[op] = len(self.ops)
            self.ops.append(op)
        return self._number[op]

    def loop(self, dim: int) -> int:
        """The index of a loop."""
        value = self.add(ScalarOp("linalg.index", (), _INDEX, (("dim", str(dim)),)))
        self._ends[value] = self.loops[dim]
        return value

    def number(self, size: int) -> int:
        """A size as an index."""
        if isinstance(size, Size):
            return self.add(size_constant(size))
        text = (("value", f"{size} : index"),)
        return self.add(ScalarOp("arith.constant", (), _INDEX, text))

    def known(self, value: int) -> int | None:
        """The size that a value is, where it is a constant."""
        op = self.ops[value]
        if op.name != "arith.constant":
            return None
        return op.size if op.size is not None else int(op.attribute("value").split()[0])

    def plus(self, a: int, b: int) -> int:
        """a + b."""
        if self.known(a) == 0:
            return b
        if self.known(b) == 0:
            return a
        return self._combined("arith.addi", a, b, self.known(a), self.known(b))

    def times(self, a: int, size: int) -> int:
        """a * size."""
        if size == 1 or self.known(a) == 0:
            return a
        made = self._combined("arith.muli", a, self.number(size), self.known(a), size)
        if a in self._ends and bounds(size)[0] > 0:
            self._ends[made] = (self._ends[a] - 1) * size + 1
        return made

    def _combined(self, name: str, a: int, b: int, left: int | None, right: int | None) -> int:
        if left is not None and right is not None:
            return self.number(left + right if name == "arith.addi" else left * right)
        return self.add(ScalarOp(name, (a, b), _INDEX))

    def part_of(self, outer: int, size: int, inner: int) -> int:
        """``outer * size + inner``, where inner is less than size."""
        made = self.plus(self.times(outer, size), inner)
        if outer in self._ends and (inner in self._ends or self.known(inner) is not None):
            self._ends.setdefault(made, self._ends[outer] * size)
        return made

    def parts(self, value: int, size: int) -> tuple[int, int]:
        """Quotient and remainder by a size."""
        zero = self.number(0)
        if size == 1:
            return value, zero
        if self._is_less(value, size):
            return zero, value
        found = self._split(value)
        if found is not None:
            outer, step, inner = found
            if step == size:
                return outer, inner
            known = not isinstance(size, Size) and not isinstance(step, Size)
            if known and step % size == 0:
                quotient, remainder = self.parts(inner, size)
                return self.part_of(outer, step // size, quotient), remainder
            if known and size % step == 0:
                quotient, remainder = self.parts(outer, size // step)
                return quotient, self.part_of(remainder, step, inner)
        by = self.number(size)
        quotient = self.add(ScalarOp("arith.divui", (value, by), _INDEX))
        remainder = self.add(ScalarOp("arith.remui", (value, by), _INDEX))
        self._ends[remainder] = size
        return quotient, remainder

    def _split(self, value: int) -> tuple[int, int, int] | None:
        """a, n and b of ``a * n + b``, where the value is that and b is less than n."""
        op = self.ops[value]
        product, inner = op, self.number(0)
        if op.name == "arith.addi":
            product, inner = self.ops[op.operands[0]], op.operands[1]
        if product.name != "arith.muli":
            return None
        step = self.known(product.operands[1])
        if step is None or not (self.known(inner) == 0 or self._is_less(inner, step)):
            return None
        return product.operands[0], step, inner

    def _is_less(self, value: int, size: int) -> bool:
        known = self.known(value)
        end = self._ends.get(value) if known is None else known + 1
        if end is None or isinstance(end, Size) or isinstance(size, Size):
            return end is not None and end == size
        return end <= size

    def less(self, a: int, size: int) -> int | None:
        """Whether a < size, as a truth value; None where it always is."""
        if self._is_less(a, size):
            return None
        return self.add(ScalarOp("arith.cmpi", (a, self.number(size)), "i1", _LESS))

    def at_least(self, a: int, start: int) -> tuple[int, ...]:
        """Whether a >= start, as a truth value; none where it always is."""
        if start == 0:
            return ()
        return (self.add(ScalarOp("arith.cmpi", (a, self.number(start)), "i1", _NOT_LESS)),)

    def is_zero(self, a: int) -> tuple[int, ...]:
        """Whether a == 0, as a truth value; none where it always is."""
        if self.known(a) == 0:
            return ()
        return (self.add(ScalarOp("arith.cmpi", (a, self.number(0)), "i1", _EQUAL)),)

    def at_most(self, a: int, size: int) -> int:
        """The lesser of a and size - 1: a place that exists."""
        if self._is_less(a, size):
            return a
        last = self.number(size - 1)
        made = self.add(ScalarOp("arith.minsi", (a, last), _INDEX))
        self._ends[made] = size
        return made

    def beyond(self, a: int, start: int) -> int:
        """``max(a - start, 0)``: a place that exists in what begins at ``start``."""
        if start == 0:
            return a
        behind = self.add(ScalarOp("arith.subi", (a, self.number(start)), _INDEX))
        made = self.add(ScalarOp("arith.maxsi", (behind, self.number(0)), _INDEX))
        if a in self._ends:
            self._ends[made] = self._ends[a] - start
        return made
