"""Dead-code elimination: the ops that some tensors need."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from layoutopt.ir.graph import Op


def live_ops(
    ops: Sequence[Op], read: Iterable[int], ready: Collection[int] = ()
) -> tuple[tuple[Op, ...], frozenset[int]]:
    """The ops, in order, that the tensors in ``read`` need, and all tensors that are read then.

    ``ready``: tensors that are there without an op.
    """
    needed = set(read)
    kept: list[Op] = []
    for op in reversed(ops):
        if any(t in needed and t not in ready for t in op.outputs):
            kept.append(op)
            needed.update(op.inputs)
    return tuple(reversed(kept)), frozenset(needed)
