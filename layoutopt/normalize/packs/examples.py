"""Small graphs that the rules about packs show themselves on."""

from __future__ import annotations

from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    Graph,
    GraphBuilder,
    IteratorType,
    Pack,
    Structured,
    Uninitialized,
    Unpack,
)
from layoutopt.ir.layout import Layout
from layoutopt.ir.scalar import Body, ScalarOp

_P = IteratorType.PARALLEL
_F = "f32"
_TILES = Layout((0, 1), (0, 1), (4, 8))


def unpacked_example(also_read: bool = False) -> Graph:
    """``unpack(-x)`` of x in tiles, which do not divide the dims.

    ``also_read``: the tiles are a result too.
    """
    builder = GraphBuilder()
    x, y = (builder.tensor((2, 3, 4, 8), _F) for _ in range(2))
    z = builder.tensor((7, 20), _F)
    builder.add(_negated(x, y))
    builder.add(Unpack(y, z, _TILES))
    return builder.build((x,), (z, y) if also_read else (z,))


def packed_example(half_read: bool = False) -> Graph:
    """``-pack(x)``, or ``pack(x) + w`` where w is read by the outer loop alone."""
    builder = GraphBuilder()
    x = builder.tensor((7,), _F)
    packed, y = (builder.tensor((2, 4), _F) for _ in range(2))
    w = builder.tensor((2,), _F)
    builder.add(Pack(x, packed, Layout((0,), (0,), (4,)), "0.0 : f32"))
    if not half_read:
        builder.add(_negated(packed, y, (2, 4)))
        return builder.build((x,), (y,))
    add = Body((_F,) * 3, (ScalarOp("arith.addf", (0, 1), _F),), (3,))
    both = identity_map(2)
    builder.add(
        Structured(
            (packed, w),
            (Uninitialized(),),
            (y,),
            (2, 4),
            (_P, _P),
            (both, plain_map((0,)), both),
            add,
        )
    )
    return builder.build((x, w), (y,))


def pack_unpack_example(other_tiles: bool = False) -> Graph:
    """``unpack(pack(x))``; ``other_tiles``: tiles of one dim are taken for those of the other."""
    builder = GraphBuilder()
    shape = (16, 32) if other_tiles else (7, 20)
    x, y = builder.tensor(shape, _F), builder.tensor(shape[::-1] if other_tiles else shape, _F)
    packed = builder.tensor(_TILES.physical_shape(shape), _F)
    builder.add(Pack(x, packed, _TILES, None if other_tiles else "0.0 : f32"))
    builder.add(Unpack(packed, y, Layout((0, 1), (1, 0), (4, 8)) if other_tiles else _TILES))
    return builder.build((x,), (y,))


def unpack_pack_example(rows: int = 8) -> Graph:
    """``pack(unpack(y))`` in tiles of four rows."""
    builder = GraphBuilder()
    layout = Layout((0, 1), (0,), (4,))
    y, z = (builder.tensor((2, 3, 4), _F) for _ in range(2))
    plain = builder.tensor((rows, 3), _F)
    builder.add(Unpack(y, plain, layout))
    builder.add(Pack(plain, z, layout, "0.0 : f32" if rows % 4 else None))
    return builder.build((y,), (z,))


def packing_example(padding: str | None) -> Graph:
    """``pack(x)`` in tiles that do not divide its dims."""
    builder = GraphBuilder()
    x, y = builder.tensor((7, 20), _F), builder.tensor((2, 3, 4, 8), _F)
    builder.add(Pack(x, y, _TILES, padding))
    return builder.build((x,), (y,))


def _negated(x: int, y: int, domain: tuple[int, ...] = (2, 3, 4, 8)) -> Structured:
    rank = len(domain)
    body = Body((_F, _F), (ScalarOp("arith.negf", (0,), _F),), (2,))
    return Structured(
        (x,), (Uninitialized(),), (y,), domain, (_P,) * rank, (identity_map(rank),) * 2, body
    )
