"""Steps that move elements: reshapes, transposes, slices, pads, concats, inserts, packs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tests.fuzz.draw import Draw
from tests.fuzz.kinds.shapes import dims, fresh, given, need, of_type, shape, whole_numbers
from tests.fuzz.value import Value, tensor_text
from tests.fuzz.writer import Read, Writer


def _same(writer: Writer, name: str, sizes: tuple[int, ...], of: Value) -> Value:
    """A value with the numbers of another one."""
    return writer.define(name, sizes, of.element, of.bound, of.error, of.integral)


def collapse(writer: Writer, draw: Draw) -> None:
    """Neighbouring dims become one."""
    x = given(writer, draw, range(1, 6))
    groups: list[list[int]] = []
    for d in range(len(x.shape)):
        if groups and draw.below(2):
            groups[-1].append(d)
        else:
            groups.append([d])
    sizes = tuple(math.prod(x.shape[d] for d in group) for group in groups)
    if draw.one_in(8) and all(n == 1 for n in x.shape):
        groups, sizes = [], ()
    name = writer.op(
        f"tensor.collapse_shape {writer.read(x)} {groups} : {x.type} into "
        f"{tensor_text(sizes, x.element)}"
    )
    _same(writer, name, sizes, x)


def expand(writer: Writer, draw: Draw) -> None:
    """Dims become several."""
    expanded(writer, draw, given(writer, draw, range(0, 5)))


def expanded(writer: Writer, draw: Draw, x: Value) -> None:
    """Some dims of a tensor become two."""
    groups: list[list[int]] = []
    sizes: list[int] = []
    for n in x.shape:
        parts = [n]
        if draw.below(2) and n:
            part = draw.pick([k for k in range(1, n + 1) if n % k == 0])
            parts = [part, n // part]
        groups.append(list(range(len(sizes), len(sizes) + len(parts))))
        sizes += parts
    if not x.shape:
        sizes = [1] * draw.between(1, 2)
    need(len(sizes) <= 6, "too many dims")
    name = writer.op(
        f"tensor.expand_shape {writer.read(x)} {groups} output_shape {sizes} : {x.type} into "
        f"{tensor_text(tuple(sizes), x.element)}"
    )
    _same(writer, name, tuple(sizes), x)


def transpose(writer: Writer, draw: Draw) -> None:
    """A permutation of dims, as the named op or as a generic."""
    x = given(writer, draw, range(2, 6))
    transposed(writer, draw, x, draw.order(range(len(x.shape))))


def transposed(writer: Writer, draw: Draw, x: Value, order: Sequence[int]) -> None:
    """The dims of a tensor in another order."""
    sizes = tuple(x.shape[d] for d in order)
    kind, into = tensor_text(sizes, x.element), writer.empty(sizes, x.element)
    if draw.below(2):
        text = f"linalg.transpose ins({writer.read(x)} : {x.type}) outs({into} : {kind})"
        name = writer.op(f"{text} permutation = {list(order)}")
    else:
        reads = [Read(writer.read(x), x.type, dims([order.index(d) for d in range(len(order))]))]
        (name,) = writer.generic(
            reads,
            [Read(into, kind, dims(range(len(order))))],
            "p" * len(order),
            [f"linalg.yield %x : {x.element}"],
            [f"%x: {x.element}", f"%o: {x.element}"],
        )
    _same(writer, name, sizes, x)


def broadcast(writer: Writer, draw: Draw) -> None:
    """New dims along which everything is equal."""
    x = given(writer, draw, range(0, 4))
    at = sorted({draw.below(len(x.shape) + 1) for _ in range(draw.between(1, 2))})
    _spread(writer, draw, x, {d + n: draw.between(1, 5) for n, d in enumerate(at)})


def repeated(writer: Writer, draw: Draw, x: Value) -> None:
    """Each part of a tensor along its first dim several times, or all of them several times."""
    times = draw.between(2, 3)
    _spread(writer, draw, x, {draw.below(2): times})
    wide = writer.values[-1]
    groups = [[0, 1], *([d] for d in range(2, len(wide.shape)))]
    sizes = (x.shape[0] * times, *x.shape[1:])
    name = writer.op(
        f"tensor.collapse_shape {writer.read(wide)} {groups} : {wide.type} into "
        f"{tensor_text(sizes, x.element)}"
    )
    _same(writer, name, sizes, x)


def _spread(writer: Writer, draw: Draw, x: Value, dims_of: Mapping[int, int]) -> None:
    """The tensor with these dims more, by place in the result."""
    sizes, added = list(x.shape), sorted(dims_of)
    for d in added:
        sizes.insert(d, dims_of[d])
    kind, into = tensor_text(tuple(sizes), x.element), writer.empty(sizes, x.element)
    if draw.below(2):
        text = f"linalg.broadcast ins({writer.read(x)} : {x.type}) outs({into} : {kind})"
        name = writer.op(f"{text} dimensions = {added}")
    else:
        kept = [d for d in range(len(sizes)) if d not in added]
        (name,) = writer.generic(
            [Read(writer.read(x), x.type, dims(kept))],
            [Read(into, kind, dims(range(len(sizes))))],
            "p" * len(sizes),
            [f"linalg.yield %x : {x.element}"],
            [f"%x: {x.element}", f"%o: {x.element}"],
        )
    _same(writer, name, tuple(sizes), x)


def _part(draw: Draw, n: int) -> tuple[int, int, int]:
    """Offset, size and stride of a part of a dim."""
    stride = draw.pick((1, 1, 2, 3))
    offset = draw.below(n // 2 + 1) if n > 1 else 0
    most = -(-(n - offset) // stride)
    return offset, most - draw.below(most), stride


def cut(writer: Writer, draw: Draw) -> None:
    """A slice with offsets and strides, sometimes without a dim of size one."""
    x = given(writer, draw, range(1, 6))
    need(min(x.shape) > 0, "a place to start at")
    parts = [_part(draw, n) if draw.below(2) else (0, n, 1) for n in x.shape]
    offsets, sizes, strides = (list(v) for v in zip(*parts, strict=True))
    kept = tuple(sizes)
    if draw.one_in(4):
        ones = [d for d, n in enumerate(sizes) if n == 1]
        kept = tuple(n for d, n in enumerate(sizes) if d not in ones[:1])
    name = writer.op(
        f"tensor.extract_slice {writer.read(x)}{offsets} {sizes} {strides} : {x.type} to "
        f"{tensor_text(kept, x.element)}"
    )
    _same(writer, name, kept, x)


def pad(writer: Writer, draw: Draw) -> None:
    """Padding with any value, around any dims."""
    x = given(writer, draw, range(1, 6))
    rank = len(x.shape)
    inner = draw.one_in(2)  # as convolutions have it: not around the outer dims
    low = [0 if inner and d == 0 else draw.pick((0, 1, 0, 2)) for d in range(rank)]
    high = [0 if inner and d == 0 else draw.pick((0, 1, 0, 2)) for d in range(rank)]
    number = draw.pick((0, 0, 0, 1, -3))
    sizes = tuple(a + n + b for a, n, b in zip(low, x.shape, high, strict=True))
    value = writer.scalar(number, x.element)
    at = ", ".join(f"%i{d}: index" for d in range(rank))
    name = writer.op(
        f"tensor.pad {writer.read(x)} low{low} high{high} {{\n  ^bb0({at}):\n"
        f"    tensor.yield {value} : {x.element}\n  }} : {x.type} to "
        f"{tensor_text(sizes, x.element)}"
    )
    writer.define(name, sizes, x.element, max(x.bound, abs(number)), x.error, x.integral)


def concat(writer: Writer, draw: Draw) -> None:
    """Two or three tensors behind one another."""
    x = given(writer, draw, range(1, 6))
    axis = draw.below(len(x.shape))
    parts = [x]
    for _ in range(draw.between(1, 2)):
        sizes = list(x.shape)
        if draw.below(2):
            sizes[axis] = draw.between(1, 4)
        parts.append(x if draw.one_in(5) else of_type(writer, draw, sizes, x.element))
    whole = list(x.shape)
    whole[axis] = sum(p.shape[axis] for p in parts)
    names = ", ".join(writer.read(p) for p in parts)
    kinds = ", ".join(p.type for p in parts)
    name = writer.op(
        f"tensor.concat dim({axis}) {names} : ({kinds}) -> {tensor_text(tuple(whole), x.element)}"
    )
    writer.define(
        name,
        whole,
        x.element,
        max(p.bound for p in parts),
        max(p.error for p in parts),
        all(p.integral for p in parts),
    )


def interior_pad(writer: Writer, draw: Draw) -> None:
    """A tensor at strided places of a background: zeros most often."""
    x = given(writer, draw, range(1, 6))
    need(min(x.shape) > 0, "a place to start at")
    rank = len(x.shape)
    strides = [draw.pick((1, 2, 2, 3)) if d in (1, 2, rank - 1) else 1 for d in range(rank)]
    if rank == 1:
        strides = [2]
    offsets = [draw.below(2) if s > 1 else 0 for s in strides]
    sizes = tuple(
        o + (n - 1) * s + 1 + (draw.below(3) if s > 1 else 0)
        for o, n, s in zip(offsets, x.shape, strides, strict=True)
    )
    number = draw.pick((0, 0, 0, 0, 2))
    into = _background(writer, draw, number, sizes, x.element)
    kind = tensor_text(sizes, x.element)
    name = writer.op(
        f"tensor.insert_slice {writer.read(x)} into {into}{offsets} {list(x.shape)} {strides} : "
        f"{x.type} into {kind}"
    )
    writer.define(name, sizes, x.element, max(x.bound, number), x.error, x.integral)


def _background(
    writer: Writer, draw: Draw, number: int, sizes: tuple[int, ...], element: str
) -> str:
    way = draw.pick(("fill", "fill", "splat", "broadcast"))
    if way == "splat":
        return writer.constant(np.full(sizes, number), element).name
    if way == "fill":
        return writer.fill(number, sizes, element)
    one, into = writer.fill(number, (), element), writer.empty(sizes, element)
    kind = tensor_text(sizes, element)
    return writer.op(
        f"linalg.broadcast ins({one} : {tensor_text((), element)}) outs({into} : {kind}) "
        f"dimensions = {list(range(len(sizes)))}"
    )


def insert(writer: Writer, draw: Draw) -> None:
    """A tensor into part of another one that holds something."""
    x = given(writer, draw, range(1, 5))
    need(min(x.shape) > 0, "a place to start at")
    offsets, strides, sizes = [], [], []
    for n in x.shape:
        offsets.append(draw.below(3))
        strides.append(draw.pick((1, 1, 2)))
        sizes.append(offsets[-1] + (n - 1) * strides[-1] + 1 + draw.below(2))
    into = of_type(writer, draw, sizes, x.element)
    name = writer.op(
        f"tensor.insert_slice {writer.read(x)} into {writer.read(into)}{offsets} {list(x.shape)} "
        f"{strides} : {x.type} into {into.type}"
    )
    writer.define(
        name,
        sizes,
        x.element,
        max(x.bound, into.bound),
        max(x.error, into.error),
        x.integral and into.integral,
    )


def pack(writer: Writer, draw: Draw) -> None:
    """linalg.pack with random tiles, sometimes unpacked at once."""
    x = given(writer, draw, range(1, 4))
    need(min(x.shape) > 0, "an empty tensor")
    rank = len(x.shape)
    tiled = draw.order(range(rank))[: draw.between(1, min(2, rank))]
    tiles = [draw.between(1, 4) for _ in tiled]
    order = list(draw.order(range(rank)))
    tile_of = dict(zip(tiled, tiles, strict=True))
    outer = [-(-x.shape[d] // tile_of.get(d, 1)) for d in order]
    sizes, padding = (*outer, *tiles), ""
    if any(x.shape[d] % t for d, t in tile_of.items()) or draw.one_in(4):
        value = writer.scalar(draw.pick((0, 1)), x.element)
        padding = f"padding_value({value} : {x.element}) "
    into, kind = writer.empty(sizes, x.element), tensor_text(sizes, x.element)
    how = f"outer_dims_perm = {order} inner_dims_pos = {list(tiled)} inner_tiles = {tiles}"
    name = writer.op(
        f"linalg.pack {writer.read(x)} {padding}{how} into {into} : {x.type} -> {kind}"
    )
    bound = max(x.bound, 1.0)
    packed = writer.define(name, sizes, x.element, bound, x.error, x.integral)
    if draw.below(2):
        into = writer.empty(x.shape, x.element)
        name = writer.op(
            f"linalg.unpack {writer.read(packed)} {how} into {into} : {kind} -> {x.type}"
        )
        _same(writer, name, x.shape, x)


def gather_rows(writer: Writer, draw: Draw) -> None:
    """Rows of a table by computed numbers, as torch.embedding writes it."""
    table = given(writer, draw, range(1, 4))
    need(min(table.shape) > 0, "a table without rows")
    lead = shape(draw, draw.between(1, 2), 5)
    axis = draw.below(len(table.shape))
    kind = draw.pick(("i64", "i32"))
    most = table.shape[axis] - 1
    if draw.one_in(3):
        rows = writer.constant(whole_numbers(draw, lead, 0, most), kind)
    else:
        rows = writer.argument(lead, kind, 0, most)
    rest = [n for d, n in enumerate(table.shape) if d != axis]
    sizes = (*lead, *rest)
    places = iter(range(len(lead), len(sizes)))
    body = [f"%j = arith.index_cast %r : {kind} to index"]
    at = []
    for d in range(len(table.shape)):
        if d == axis:
            at.append("%j")
            continue
        body.append(f"%i{d} = linalg.index {next(places)} : index")
        at.append(f"%i{d}")
    body.append(f"%e = tensor.extract {writer.read(table)}[{', '.join(at)}] : {table.type}")
    body.append(f"linalg.yield %e : {table.element}")
    into = writer.empty(sizes, table.element)
    (name,) = writer.generic(
        [Read(writer.read(rows), rows.type, dims(range(len(lead))))],
        [Read(into, tensor_text(sizes, table.element), dims(range(len(sizes))))],
        "p" * len(sizes),
        body,
        [f"%r: {kind}", f"%o: {table.element}"],
    )
    _same(writer, name, sizes, table)


def flip(writer: Writer, draw: Draw) -> None:
    """A dim backwards, or each element repeated: reads by computed index."""
    x = given(writer, draw, range(1, 5))
    need(min(x.shape) > 0, "an empty tensor")
    axis, sizes = draw.below(len(x.shape)), list(x.shape)
    body = [f"%i{d} = linalg.index {d} : index" for d in range(len(sizes))]
    repeat = draw.pick((1, 1, 2, 3))
    if repeat == 1:
        body.append(f"%last = arith.constant {sizes[axis] - 1} : index")
        body.append(f"%j = arith.subi %last, %i{axis} : index")
    else:
        sizes[axis] *= repeat
        body.append(f"%n = arith.constant {repeat} : index")
        body.append(f"%j = arith.divui %i{axis}, %n : index")
    at = ", ".join("%j" if d == axis else f"%i{d}" for d in range(len(sizes)))
    body.append(f"%e = tensor.extract {writer.read(x)}[{at}] : {x.type}")
    body.append(f"linalg.yield %e : {x.element}")
    into, kind = writer.empty(sizes, x.element), tensor_text(tuple(sizes), x.element)
    (name,) = writer.generic(
        [],
        [Read(into, kind, dims(range(len(sizes))))],
        "p" * len(sizes),
        body,
        [f"%o: {x.element}"],
    )
    _same(writer, name, tuple(sizes), x)


def diagonal(writer: Writer, draw: Draw) -> None:
    """The elements whose two last indices are equal."""
    n = draw.between(1, 5)
    x = writer.operand(draw, lambda v: len(v.shape) in (2, 3) and len({*v.shape[-2:]}) == 1)
    if x is None:
        x = fresh(writer, draw, (draw.between(1, 4), n, n), "f32")
    rank = len(x.shape) - 1
    into, kind = writer.empty(x.shape[:-1], x.element), tensor_text(x.shape[:-1], x.element)
    (name,) = writer.generic(
        [Read(writer.read(x), x.type, dims([*range(rank), rank - 1]))],
        [Read(into, kind, dims(range(rank)))],
        "p" * rank,
        [f"linalg.yield %x : {x.element}"],
        [f"%x: {x.element}", f"%o: {x.element}"],
    )
    _same(writer, name, x.shape[:-1], x)
