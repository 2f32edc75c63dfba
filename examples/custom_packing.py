"""Packings of one's own: a target's TOML names this function, layoutopt prices what it returns.

    [packing]
    custom = "custom_packing:packings"        # with the folder of this file on PYTHONPATH

It is asked about every contraction of the model, with the types of all tensors, and answers with
layouts of the two inputs and the result: ``outer_dims_perm``, ``inner_dims_pos`` (the order of
the inner dims) and ``inner_tiles`` (the packed sizes), as in ``linalg.pack``; a tile that does not
divide is padded. With ``mmt4d`` the
op is written as linalg.mmt4d and left out where its maps do not match; without, as a generic. The
planner picks it where it pays; what computes wrong numbers or does not compile is refused.
"""

from collections.abc import Iterator

from layoutopt.candidates.packing.tiling import Packing
from layoutopt.ir.affine import plain_map
from layoutopt.ir.graph import Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.types import TensorType

MATMUL = (plain_map([0, 2]), plain_map([2, 1]), plain_map([0, 1]))


def packings(op: Structured, types: tuple[TensorType, ...]) -> Iterator[Packing]:
    """Tiles of 4 x 16 for plain f32 matmuls of at least that size, as a generic."""
    m, n, *_ = op.domain
    if op.maps != MATMUL or types[op.sources[0]].element != "f32" or m < 4 or n < 16:
        return
    yield Packing(
        lhs=Layout((0, 1), (0,), (4,)),
        rhs=Layout((1, 0), (1,), (16,)),
        result=Layout((0, 1), (0, 1), (4, 16)),
        mmt4d=False,
    )
