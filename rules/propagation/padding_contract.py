"""The padding contract between the tensors of an op, given the padding of one of them.

Inputs have to hold as little as saves a mask; results hold what they hold anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.ir.graph import FromTensor, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.types import TensorType
from layoutopt.rules.propagation.padding import masks

_KNOWN = (Padding.ZERO, Padding.LOWEST, Padding.HIGHEST, Padding.ONE)


def with_padding_contract(
    op: Structured,
    types: Sequence[TensorType],
    padded: tuple[int, ...],
    given: int,
    layouts: dict[int, Layout],
) -> dict[int, Layout]:
    """The layouts with paddings; that of the tensor ``given`` stays. ``padded``: its loops."""

    def filled(choice: dict[int, Padding]) -> dict[int, Layout]:
        return {
            t: x.padded_with(choice.get(t, x.padding)) if x.pads(types[t].shape) else x
            for t, x in layouts.items()
        }

    own = layouts[given].padding
    starts = [i.tensor for i in op.inits if isinstance(i, FromTensor)]
    others = [t for t in (*op.sources, *starts) if t != given]
    if given in op.results:
        made = dict.fromkeys(op.results, own)
        for padding in (*_KNOWN, Padding.ANY):
            found = filled(made | dict.fromkeys(others, padding))
            if masks(op, found, types, padded) == {}:
                return found
        return filled(made | dict.fromkeys(others, Padding.ANY))
    read = dict.fromkeys(others, own)
    loose = masks(op, filled(read | dict.fromkeys(op.results, Padding.ANY)), types, padded)
    for padding in _KNOWN:
        found = filled(read | dict.fromkeys(op.results, padding))
        if masks(op, found, types, padded) == loose:
            return found
    return filled(read | dict.fromkeys(op.results, Padding.ANY))
