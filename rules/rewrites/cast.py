"""Tensors of floats in a wider or a narrower type."""

from __future__ import annotations

from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import IteratorType, Structured, Uninitialized
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.ir.types import TensorType


def widened(
    kind: TensorType, tensor: int, result: int, wide: str, ahead: bool = False
) -> Structured:
    """A tensor of type ``kind`` in the wider type ``wide``; ``ahead``: see `Structured`."""
    return _cast("arith.extf", kind, wide, tensor, result, ahead)


def narrowed(kind: TensorType, tensor: int, result: int, narrow: str) -> Structured:
    """A tensor of type ``kind`` rounded to the narrower type ``narrow``."""
    return _cast("arith.truncf", kind, narrow, tensor, result)


def _cast(
    name: str, kind: TensorType, to: str, tensor: int, result: int, ahead: bool = False
) -> Structured:
    rank = len(kind.shape)
    return Structured(
        (tensor,),
        (Uninitialized(),),
        (result,),
        kind.shape,
        (IteratorType.PARALLEL,) * rank,
        (identity_map(rank),) * 2,
        Body((kind.element, to), (ScalarOp(name, (0,), to),), (2,)),
        ahead=ahead,
    )
