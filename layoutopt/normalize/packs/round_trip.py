"""What an unpack of a pack gives: what was packed, but for its size and the order of its dims."""

from __future__ import annotations

from layoutopt.ir.graph import Graph, GraphBuilder, Pack, Pad, Slice
from layoutopt.ir.layout import Layout
from layoutopt.ir.packs_as_transposes import add_transpose
from layoutopt.ir.types import TensorType


def same_dims(packed: Layout, unpacked: Layout) -> tuple[int, ...] | None:
    """For each dim of what is unpacked, the dim that was packed; None where places differ."""
    if packed.rank != unpacked.rank or packed.inner_tiles != unpacked.inner_tiles:
        return None
    dim = dict(zip(unpacked.outer_dims_perm, packed.outer_dims_perm, strict=True))
    inner = zip(unpacked.inner_dims_pos, packed.inner_dims_pos, strict=True)
    if any(dim[ours] != theirs for ours, theirs in inner):
        return None
    return tuple(dim[d] for d in range(unpacked.rank))


def read_through(
    graph: Graph, builder: GraphBuilder, pack: Pack, layout: Layout, shape: tuple[int, ...]
) -> int | None:
    """The tensor of ``shape`` that an unpack of ``layout`` gives, made without the pack.

    It is transposed, padded and cut as far as that is asked for. None where the unpack reads
    elements in other places than the pack puts them.
    """
    places = same_dims(pack.layout, layout)
    if places is None:
        return None
    source, kind = pack.source, graph.types[pack.source]
    rank = len(kind.shape)
    if places != tuple(range(rank)):
        moved = TensorType(tuple(kind.shape[d] for d in places), kind.element)
        made = builder.tensor(moved.shape, kind.element)
        add_transpose(builder, kind, source, made, places)
        source, kind = made, moved
    longer = tuple(max(pair) for pair in zip(kind.shape, shape, strict=True))
    if longer != kind.shape:
        assert pack.padding is not None
        made = builder.tensor(longer, kind.element)
        high = tuple(a - b for a, b in zip(longer, kind.shape, strict=True))
        builder.add(Pad(source, made, (0,) * rank, high, pack.padding))
        source = made
    if longer != shape:
        made = builder.tensor(shape, kind.element)
        builder.add(Slice(source, made, (0,) * rank, (1,) * rank))
        source = made
    return source
