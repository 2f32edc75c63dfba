"""Attention of sizes that no tile of a GPU divides, padded to sizes that one does.

    attention(q, k, v, mask)   ->   slice(attention(pad(q), pad(k), pad(v), pad(mask)))
    attention(q, k, v)         ->   attention(q, k, v, zeros)        for columns of open size

IREE 3.13 computes an attention of 197 tokens without matrix instructions, one of 224 with them.
Rows of padding are sliced off. Columns of padding are masked with minus infinity, so that their
shares are zeros and what is added to results are zeros. Sound, since the values there are zeros.

Open sizes are padded by tiles of layouts. All that these need is a mask, in which padding can be
told apart. It has rows too: IREE makes one loop of two that stand side by side in all operands,
and that one would be open again; in tiles of a mask of rows and columns they stand apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.affine import IndexMap, identity_map, plain_map
from layoutopt.ir.extensions.attention import Attention
from layoutopt.ir.graph import (
    Graph,
    GraphBuilder,
    IteratorType,
    Pad,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, fill_body, lowest
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

_TILE = 32
"""Rows and columns that IREE's kernels come in multiples of, on the GPUs that are known."""
_MOST = 16
"""Times the work at most."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """An attention with loops that no tile divides, and how long they would be."""

    op: Attention
    types: tuple[TensorType, ...]
    """Of its sources, and of its result."""
    rows: int
    columns: int
    """The loop of queries, and the one that the softmax runs along."""
    sizes: dict[int, int]
    padded: dict[int, int]
    """Of each loop its size as it is; where that is known, of these two as a multiple of the tile.
    Empty where a mask is all that is added."""


def _example(mask: str | None = None, *, columns: int = 40) -> Graph:
    """Two heads of 33 queries and so many keys; ``mask``: the element type of one."""
    maps: tuple[tuple[int, ...], ...] = ((0, 1, 3), (0, 4, 3), (0, 4, 2), (0, 1, 2))
    shapes: list[tuple[int, ...]] = [(2, 33, 8), (2, columns, 8), (2, columns, 4), (2, 33, 4)]
    kinds = ["f32"] * 4
    if mask is not None:
        maps = (*maps[:3], (1, 4), maps[3])
        shapes.insert(3, (33, columns))
        kinds.insert(3, mask)
    types = tuple(TensorType(s, k) for s, k in zip(shapes, kinds, strict=True))
    count = len(types) - 1
    op = Attention(tuple(range(count)), (count,), maps, "5.000000e-01 : f32")
    return Graph(types, (op,), op.sources, op.results)


class PadAttention:
    """Rows and columns up to the next tile."""

    name = "pad-attention"
    summary = "attention -> pads or a mask + attention in whole tiles + slice"
    argument = "shares of masked columns are zeros; rows of padding are sliced off"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.APPROXIMATES
    canonicalizes = False
    examples = (
        Example(_example(), 0),
        Example(_example("f32"), 0),
        Example(_example("i1"), 0),
        Example(_example(columns=64), 0),
        Example(
            _example(columns=3),
            0,
            refusal="expected padding to tiles to be 16 times the work at most, but it is 20.7",
        ),
    )

    def match(self, graph: Graph, op: int) -> Ragged | None:
        """One loop of rows and one of columns; some of them not in whole tiles."""
        found = graph.ops[op]
        if not isinstance(found, Attention):
            return None
        types = tuple(graph.types[t] for t in (*found.inputs, *found.outputs))
        query, key, value, result = map(set, (*found.maps[:3], found.maps[-1]))
        rows, columns = (query & result) - key - value, (key & value) - query - result
        if len(rows) != 1 or len(columns) != 1:
            return None
        sizes, row, column = found.sizes(types), rows.pop(), columns.pop()
        if isinstance(sizes[column], Size):
            masked = len(found.sources) > 3 and {row, column} <= {*found.maps[3]}
            return None if masked else Ragged(found, types, row, column, sizes, {})
        known = [d for d in (row, column) if not isinstance(sizes[d], Size)]
        padded = {d: -(-sizes[d] // _TILE) * _TILE for d in known}
        if all(padded[d] == sizes[d] for d in known):
            return None
        return Ragged(found, types, row, column, sizes, padded)

    def guard(self, match: Ragged) -> Refusal | None:
        """A mask that can tell columns apart, and not too much more work."""
        op = match.op
        wider = match.columns in match.padded and _wider(match)
        if wider and len(op.sources) > 3 and match.columns not in op.maps[3]:
            return Refusal("expected a mask with a dim of columns, but it has none")
        more = 1.0
        for d, size in match.padded.items():
            more *= size / match.sizes[d]
        if more > _MOST:
            return Refusal(
                f"expected padding to tiles to be {_MOST} times the work at most, "
                f"but it is {more:.1f}"
            )
        return None

    def rewrite(self, graph: Graph, match: Ragged) -> Expression:
        """Zeros around queries, keys and values; a mask that has minus infinity there."""
        op, builder = match.op, GraphBuilder(len(graph.types))
        if not match.padded:
            mask, loops = _whole_mask(builder, match)
            masked = replace(op, maps=(*op.maps[:3], loops, op.maps[-1]))
            builder.add(replace(masked, sources=(*op.sources[:3], mask)))
            return Expression(tuple(builder.types), tuple(builder.ops), rounds=True)
        zero = [f"0.0 : {kind.element}" for kind in match.types[:3]]
        found = [
            _padded(builder, match, tensor, match.types[i], (op.maps[i], zero[i]))
            for i, tensor in enumerate(op.sources[:3])
        ]
        maps = list(op.maps)
        if len(op.sources) > 3:
            mask, kind = op.sources[3], match.types[3]
            out = "false" if kind.element == "i1" else lowest(kind.element)
            found.append(_padded(builder, match, mask, kind, (op.maps[3], out)))
        elif _wider(match):
            found.append(_column_mask(builder, match))
            maps.insert(3, (match.columns,))
        kind = match.types[-1]
        sizes = match.sizes | match.padded
        shape = tuple(sizes[d] for d in op.maps[-1])
        (result,) = op.results
        made = result if shape == kind.shape else builder.tensor(shape, kind.element)
        builder.add(replace(op, sources=tuple(found), results=(made,), maps=tuple(maps)))
        if made != result:
            rank = len(shape)
            builder.add(Slice(made, result, (0,) * rank, (1,) * rank))
        return Expression(tuple(builder.types), tuple(builder.ops), rounds=True)


def _padded(
    builder: GraphBuilder,
    match: Ragged,
    tensor: int,
    kind: TensorType,
    how: tuple[tuple[int, ...], str],
) -> int:
    """A tensor with padding behind its rows and columns; ``how``: its loops, and the value."""
    loops, value = how
    high = tuple(match.padded.get(d, match.sizes[d]) - match.sizes[d] for d in loops)
    if not any(high):
        return tensor
    shape = (size + more for size, more in zip(kind.shape, high, strict=True))
    made = builder.tensor(shape, kind.element)
    builder.add(Pad(tensor, made, (0,) * len(high), high, value))
    return made


def _wider(match: Ragged) -> bool:
    return match.padded[match.columns] != match.sizes[match.columns]


def _whole_mask(builder: GraphBuilder, match: Ragged) -> tuple[int, tuple[int, ...]]:
    """A mask that has rows and columns, made of the one that is there, and its loops."""
    op, sizes = match.op, match.sizes
    given = op.maps[3] if len(op.sources) > 3 else ()
    element = match.types[3 if given else 0].element
    both = {match.rows, match.columns}
    loops = (*sorted({*given} - both), match.rows, match.columns)
    shape = tuple(sizes[d] for d in loops)
    made = builder.tensor(shape, element)
    whole, kinds = identity_map(len(loops)), (IteratorType.PARALLEL,) * len(loops)
    if given:
        maps: tuple[IndexMap, ...] = (plain_map(map(loops.index, given)), whole)
        body, sources = Body((element, element), (), (0,)), op.sources[3:]
    else:
        maps, body, sources = (whole,), fill_body(f"0.0 : {element}", element), ()
    builder.add(Structured(sources, (Uninitialized(),), (made,), shape, kinds, maps, body))
    return made, loops


def _column_mask(builder: GraphBuilder, match: Ragged) -> int:
    """Zeros for columns that are there, minus infinity for those of padding."""
    size, element = match.sizes[match.columns], match.types[0].element
    zeros = builder.tensor((size,), element)
    builder.add(
        Structured(
            (), (Uninitialized(),), (zeros,), (size,), (IteratorType.PARALLEL,), (identity_map(1),),
            fill_body(f"0.0 : {element}", element),
        )
    )  # fmt: skip
    kind = TensorType((size,), element)
    return _padded(builder, match, zeros, kind, ((match.columns,), lowest(element)))
