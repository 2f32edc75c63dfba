"""The body of an op whose outer and inner loops become one: whole indices in place of two.

    tile * outer + inner   ->   d          d < size   ->   true

What masks padding goes where there is none left. What looks at a tile by itself works it out of d.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from layoutopt.ir.scalar import Body, ScalarOp, pruned, size_constant

_SLT = "2 : i64"


class _Part(Enum):
    """What of a whole index a value is."""

    OUTER = "outer"
    INNER = "inner"
    START = "tile * outer"
    WHOLE = "tile * outer + inner"


@dataclass(frozen=True, slots=True)
class Whole:
    """A loop that an outer and an inner one become."""

    number: int
    """Among the new loops."""
    tile: int
    size: int


_Index = tuple[_Part, int]
_Known = int | bool | _Index
"""Of a value: the op that makes it in the new body, that it is true, or its part of an index."""


def untiled_body(
    body: Body, wholes: Mapping[int, Whole], inner_of: Mapping[int, int], number: Mapping[int, int]
) -> Body:
    """``wholes``: by outer loop. ``number``: of the loops that stay, among the new ones."""
    return _Writer(body, wholes, inner_of, number).write() if body.reads_index else body


@dataclass
class _Writer:
    body: Body
    wholes: Mapping[int, Whole]
    inner_of: Mapping[int, int]
    number: Mapping[int, int]
    ops: list[ScalarOp] = field(default_factory=list)
    constants: dict[int, int] = field(default_factory=dict)
    """Values of the old body that are constant indices."""

    def write(self) -> Body:
        """The whole body."""
        known: dict[int, _Known] = {a: a for a in range(len(self.body.arguments))}
        for value, op in enumerate(self.body.ops, len(self.body.arguments)):
            known[value] = self._known(op, value, known)
        yields = tuple(self._made(known[y]) for y in self.body.yields)
        return pruned(Body(self.body.arguments, tuple(self.ops), yields))

    def _known(self, op: ScalarOp, value: int, known: Mapping[int, _Known]) -> _Known:
        if op.name == "linalg.index":
            return self._index(int(op.attribute("dim")))
        if op.name == "arith.constant" and op.type == "index":
            text = op.attribute("value").partition(":")[0]
            self.constants[value] = int(text) if op.size is None else op.size
        found = self._folded(op, known)
        if found is not None:
            return found
        operands = tuple(self._made(known[o]) for o in op.operands)
        return self._add(replace(op, operands=operands))

    def _index(self, loop: int) -> _Known:
        for outer, inner in self.inner_of.items():
            if loop in (outer, inner):
                return (_Part.OUTER if loop == outer else _Part.INNER, outer)
        return self._add(ScalarOp("linalg.index", (), "index", (("dim", str(self.number[loop])),)))

    def _folded(self, op: ScalarOp, known: Mapping[int, _Known]) -> _Known | None:
        values = [known[o] for o in op.operands]
        constants = [self.constants.get(o) for o in op.operands]
        if op.name == "arith.select" and values[0] is True:
            return values[1]
        if op.name == "arith.andi" and True in (values[0] is True, values[1] is True):
            return values[1] if values[0] is True else values[0]
        if op.name == "arith.cmpi" and op.attribute("predicate") == _SLT:
            end = constants[1]
            part = values[0]
            if isinstance(part, tuple) and part[0] is _Part.WHOLE and end is not None:
                return True if end >= self.wholes[part[1]].size else None
        if op.name in ("arith.muli", "arith.addi"):
            return self._combined(op.name, values, constants)
        return None

    def _combined(
        self, name: str, values: list[_Known], constants: list[int | None]
    ) -> _Known | None:
        parts = {v[0]: v[1] for v in values if isinstance(v, tuple)}
        if name == "arith.muli" and _Part.OUTER in parts:
            outer = parts[_Part.OUTER]
            return (_Part.START, outer) if self.wholes[outer].tile in constants else None
        if name == "arith.addi" and parts.keys() == {_Part.START, _Part.INNER}:
            outer = parts[_Part.START]
            return (_Part.WHOLE, outer) if outer == parts[_Part.INNER] else None
        return None

    def _made(self, known: _Known) -> int:
        """The value in the new body."""
        if known is True or known is False:
            return self._add(ScalarOp("arith.constant", (), "i1", (("value", "true"),)))
        if isinstance(known, int):
            return known
        part, outer = known
        whole = self.wholes[outer]
        index = self._add(ScalarOp("linalg.index", (), "index", (("dim", str(whole.number)),)))
        if part is _Part.WHOLE:
            return index
        tile = self._add(size_constant(whole.tile))
        name = "arith.remui" if part is _Part.INNER else "arith.divui"
        found = self._add(ScalarOp(name, (index, tile), "index"))
        if part is not _Part.START:
            return found
        return self._add(ScalarOp("arith.muli", (found, tile), "index"))

    def _add(self, op: ScalarOp) -> int:
        self.ops.append(op)
        return len(self.body.arguments) + len(self.ops) - 1
