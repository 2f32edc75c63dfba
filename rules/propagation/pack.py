"""Packs and unpacks as they came: between row-major tensors, as a candidate of their own.

In every other form they are transposes (`layoutopt.normalize.packs.pack_to_transpose`), which
layouts pass through.
"""

from __future__ import annotations

from dataclasses import replace

from layoutopt.ir.graph import Op, Pack, Unpack
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.rules.propagation.barrier import BarrierLayouts


class PackLayouts(BarrierLayouts):
    """The propagation rule of ``linalg.pack`` and ``linalg.unpack``."""

    name = "pack-layouts"

    def relayout(self, op: Op, layouts: Assignment, physical: Physical) -> Refusal | None:
        """The op as it came."""
        assert isinstance(op, Pack | Unpack)
        other = next(
            (x for t in (op.source, op.result) if not (x := layouts[t]).is_row_major), None
        )
        if other is not None:
            return Refusal(f"expected row-major tensors of a pack as it came, but got {other}")
        source, result = (physical.tensor(t, layouts[t]) for t in (op.source, op.result))
        physical.builder.add(replace(op, source=source, result=result))
        return None
