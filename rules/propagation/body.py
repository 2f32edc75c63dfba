"""The body of a structured op over tiles: whole indices from two loops, and masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from layoutopt.ir.graph import Structured
from layoutopt.ir.scalar import Body, ScalarOp, size_constant
from layoutopt.rules.propagation.padding import Mask, Masks

_BELOW = (("predicate", "2 : i64"),)
"""``arith.cmpi slt``."""


def tiled_body(
    op: Structured, tile: Mapping[int, int], inner: Mapping[int, int], masks: Masks
) -> Body:
    """The body where loop d counts tiles and ``inner[d]`` what is inside of one."""
    return _Writer(op, tile, inner).write(masks)


@dataclass
class _Writer:
    op: Structured
    tile: Mapping[int, int]
    inner: Mapping[int, int]
    ops: list[ScalarOp] = field(default_factory=list)
    indices: dict[int, int] = field(default_factory=dict)

    def write(self, masks: Masks) -> Body:
        """The whole body."""
        body = self.op.body
        first = len(body.arguments)
        value = dict(enumerate(range(first)))
        reducing = bool(self.op.reduction_dims)
        folds = {y: p for p, y in enumerate(body.yields) if reducing and p in masks}
        for number, scalar in enumerate(body.ops, first):
            operands = [value[o] for o in scalar.operands]
            if number in folds:
                position = folds[number]
                accumulator = first - len(self.op.inits) + position
                operands = [
                    o if o == accumulator else self._guarded(o, masks[position], scalar.type)
                    for o in operands
                ]
            if scalar.name == "linalg.index":
                value[number] = self._index(int(scalar.attribute("dim")))
            else:
                value[number] = self._keep(replace(scalar, operands=tuple(operands)))
        yields = [value[y] for y in body.yields]
        for position, made in masks.items():
            accumulator = first - len(self.op.inits) + position
            kept = [m for m in made if m.value is None or not reducing]
            yields[position] = self._guarded(
                yields[position], kept, body.arguments[accumulator], accumulator
            )
        return Body(body.arguments, tuple(self.ops), tuple(yields))

    def _guarded(
        self, value: int, masks: Sequence[Mask], element: str, accumulator: int | None = None
    ) -> int:
        for mask in masks:
            if mask.value is None and accumulator is None:
                continue
            other = accumulator
            if mask.value is not None:
                other = self._constant(mask.value, element)
            assert other is not None
            value = self._add("arith.select", [self._inside(mask.loops), value, other], element)
        return value

    def _inside(self, loops: tuple[int, ...]) -> int:
        """Whether no loop is past its end."""
        found: int | None = None
        for loop in loops:
            end = self._keep(size_constant(self.op.domain[loop]))
            below = self._add("arith.cmpi", [self._index(loop), end], "i1", _BELOW)
            found = below if found is None else self._add("arith.andi", [found, below], "i1")
        assert found is not None
        return found

    def _index(self, loop: int) -> int:
        """The index of a loop of the op as it was."""
        if loop not in self.indices:
            index = self._add("linalg.index", [], "index", (("dim", str(loop)),))
            if loop in self.tile:
                size = self._constant(f"{self.tile[loop]} : index", "index")
                index = self._add("arith.muli", [index, size], "index")
                inside = (("dim", str(self.inner[loop])),)
                inside_index = self._add("linalg.index", [], "index", inside)
                index = self._add("arith.addi", [index, inside_index], "index")
            self.indices[loop] = index
        return self.indices[loop]

    def _constant(self, text: str, element: str) -> int:
        return self._add("arith.constant", [], element, (("value", text),))

    def _add(
        self,
        name: str,
        operands: Sequence[int],
        element: str,
        attributes: tuple[tuple[str, str], ...] = (),
    ) -> int:
        return self._keep(ScalarOp(name, tuple(operands), element, attributes))

    def _keep(self, op: ScalarOp) -> int:
        self.ops.append(op)
        return len(self.op.body.arguments) + len(self.ops) - 1
