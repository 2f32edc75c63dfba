"""Give what control flow hands on the types of other layouts, ahead of the plans.

    for iter_args(%h = %x)                       for iter_args(%h = %x')        %x' = cast %x
      .. %h ..                           ->        %g = cast %h;  .. %g ..
      yield %y : T                                 yield %y' : T'               %y' = cast %y

Casts stand for conversions until plans are written: these take %h as it lies, make %x' and %y',
and, where an op that stays reads %g, that too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from iree.compiler import ir

from layoutopt.errors import LoweringError
from layoutopt.ir.layout import Layout
from layoutopt.mlir.read.carried import Capture, CarriedValues
from layoutopt.mlir.read.lift import Lifted
from layoutopt.mlir.write.relaid_state import relay_global

CAST = "builtin.unrealized_conversion_cast"


class Relaid:
    """The blocks of a module, with the values that plans take and hand on in other layouts."""

    def __init__(
        self,
        blocks: Sequence[Lifted],
        carried: Sequence[CarriedValues],
        layouts: Mapping[str, Layout],
    ) -> None:
        self._casts: list[Any] = []
        """Of values to the type that they had."""
        self._seen: dict[Any, Any] = {}
        """By value whose type has changed, the one of the type that it had."""
        taken: list[dict[int, Any]] = [{} for _ in blocks]
        handed: list[dict[tuple[int, Layout], tuple[Any, ...]]] = [{} for _ in blocks]
        chosen = [(c, layouts[c.tensor.name]) for c in carried if c.tensor.name in layouts]
        chosen = [(c, layout) for c, layout in chosen if not layout.is_row_major]
        for c, layout in chosen:
            place, tensor = c.tensor.made[0]
            kind = layout.physical_type(blocks[place].graph.types[tensor])
            with blocks[place].block.owner.context:
                new = ir.Type.parse(str(kind))
            values = c.values
            if isinstance(values, Capture):
                casts = [_cast(values.value, new, ir.InsertionPoint(values.holder))]
                made = casts * len(c.tensor.made)
            else:
                casts = [self._handed(op, number, new) for op, number in values.read]
                made = [self._taken(value, new) for value in values.made]
                if values.state is not None:
                    relay_global(values.state, blocks[place].graph.types[tensor], layout)
                if values.called is not None:
                    values.called.retype()
            for (place, tensor), cast in zip(c.tensor.read, casts, strict=True):
                known = handed[place].get((tensor, layout), ())
                handed[place][tensor, layout] = (*known, cast)
            for (place, tensor), value in zip(c.tensor.made, made, strict=True):
                taken[place][tensor] = value
        self.blocks = tuple(
            replace(
                block,
                values={t: self._seen.get(v, v) for t, v in block.values.items()},
                taken=taken[place],
                handed=handed[place],
            )
            for place, block in enumerate(blocks)
        )

    def _handed(self, op: Any, number: int, kind: Any) -> Any:
        """An operand of control flow in another type, behind a cast."""
        cast = _cast(op.operands[number], kind, ir.InsertionPoint(op))
        op.operands[number] = cast
        return cast

    def _taken(self, value: Any, kind: Any) -> Any:
        """A value in another type; all that reads it reads a cast of it."""
        owner, old = value.owner, value.type
        inside = isinstance(owner, ir.Block)
        place = (
            ir.InsertionPoint.at_block_begin(owner) if inside else ir.InsertionPoint.after(owner)
        )
        cast = _cast(value, old, place)
        value.replace_all_uses_except(cast, cast.owner.operation)
        value.set_type(kind)
        self._seen[value] = cast
        self._casts.append(cast)
        return value

    def finish(self) -> None:
        """Erase the casts that are left and that nothing reads. Raises LoweringError."""
        for cast in self._casts:
            if list(cast.uses):
                raise LoweringError(
                    str(cast.type),
                    "plans that make and take it in one layout",
                    "one that does neither",
                    "report this as a bug of layoutopt",
                )
            cast.owner.erase()


def _cast(value: Any, kind: Any, place: Any) -> Any:
    with place, ir.Location.unknown(value.type.context):
        return ir.Operation.create(CAST, results=[kind], operands=[value]).results[0]
