"""Random graphs with what products and sums have in common: chains, factors, branches."""

from __future__ import annotations

from random import Random

from layoutopt.ir.affine import IndexMap, affine, identity_map, plain_map
from layoutopt.ir.graph import (
    Concat,
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Pad,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body, copy_body
from layoutopt.rules.rewrites.resize_examples import linear_resize
from tests.property.rules.attentions import ATTENTIONS
from tests.property.rules.repeating import grouped
from tests.property.rules.siblings import counted

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION
ADD = Body(("f32",) * 3, (ScalarOp("arith.addf", (0, 1), "f32"),), (3,))


def chain(random: Random) -> Graph:
    """A product of three factors, two of them first; weights are constants or arguments."""
    builder = GraphBuilder()
    sizes = {d: random.choice((1, 2, 3, 4, 6)) for d in "bmkrn"}
    batch = random.random() < 0.4
    element = random.choice(("f32", "f32", "f32", "i32"))
    given: list[int] = []

    def tensor(dims: str, constant: bool = False) -> tuple[int, str]:
        dims = "".join(random.sample(dims, len(dims)))
        shape = tuple(sizes[d] for d in dims)
        if constant and element == "f32":
            return counted(builder, shape, random.randint(1, 3)), dims
        given.append(builder.tensor(shape, element))
        return given[-1], dims

    shared = random.random() < 0.5
    x = tensor("b" * batch + "mk")
    a, b = (tensor("b" * (batch and not shared) + dims, shared) for dims in ("kr", "rn"))
    between = _product(builder, random, x, a, "b" * batch + "mr", sizes, element)
    pair = (between, b) if random.random() < 0.7 else (b, between)
    result, _ = _product(builder, random, *pair, "b" * batch + "mn", sizes, element)
    return builder.build(given, (result,))


def _product(
    builder: GraphBuilder,
    random: Random,
    one: tuple[int, str],
    other: tuple[int, str],
    kept: str,
    sizes: dict[str, int],
    element: str,
) -> tuple[int, str]:
    made = "".join(random.sample(kept, len(kept)))
    loops = random.sample(sorted({*one[1], *other[1]}), len({*one[1], *other[1]}))
    result = builder.tensor((sizes[d] for d in made), element)
    zero = "0.0" if element == "f32" else "0"
    builder.add(
        Structured(
            (one[0], other[0]),
            (Fill(f"{zero} : {element}"),),
            (result,),
            tuple(sizes[d] for d in loops),
            tuple(P if d in made else R for d in loops),
            tuple(plain_map(map(loops.index, dims)) for dims in (one[1], other[1], made)),
            contraction_body(element, element, element),
        )
    )
    return result, made


def scaled(random: Random) -> Graph:
    """A contraction with weights, what adds to it and moves it, and a factor."""
    builder = GraphBuilder()
    m, k, n = (random.choice((1, 2, 3, 4)) for _ in range(3))
    x = builder.tensor((m, k), "f32")
    w = counted(builder, (k, n), random.randint(1, 3))
    y = _matmul(builder, x, w, (m, n, k))
    shape: tuple[int, ...] = (m, n)
    for _ in range(random.randint(0, 2)):
        way = random.choice(("bias", "bias", "transpose", "reshape", "slice"))
        before, read, size = y, identity_map(len(shape)), shape
        if way == "bias":
            axis = random.randrange(len(shape))
            bias = counted(builder, (shape[axis],), random.randint(1, 2))
            y = builder.tensor(shape, "f32")
            maps: tuple[IndexMap, ...] = (read, plain_map((axis,)), read)
            builder.add(_point((before, bias), y, shape, maps, ADD))
        elif way == "transpose":
            shape = shape[::-1]
            y = builder.tensor(shape, "f32")
            maps = (plain_map(range(len(shape))[::-1]), identity_map(len(shape)))
            builder.add(_point((before,), y, shape, maps, copy_body("f32")))
        elif way == "reshape":
            shape = (shape[0], 1, *shape[1:])
            y = builder.tensor(shape, "f32")
            builder.add(Reshape(before, y))
        else:
            offset = random.randrange(size[0])
            shape = (size[0] - offset, *size[1:])
            y = builder.tensor(shape, "f32")
            offsets = (offset, *(0 for _ in size[1:]))
            builder.add(Slice(before, y, offsets, (1,) * len(size)))
    return builder.build((x,), (_times(builder, random, y, shape),))


def _times(builder: GraphBuilder, random: Random, y: int, shape: tuple[int, ...]) -> int:
    """One number times a tensor, or constants along one of its dims."""
    result, whole = builder.tensor(shape, "f32"), identity_map(len(shape))
    if random.random() < 0.5:
        ops = (
            ScalarOp("arith.constant", (), "f32", (("value", "2.0 : f32"),)),
            ScalarOp("arith.mulf", random.choice(((0, 2), (2, 0))), "f32"),
        )
        body = Body(("f32", "f32"), ops, (3,))
        builder.add(_point((y,), result, shape, (whole, whole), body))
        return result
    axis = random.randrange(len(shape))
    factor = counted(builder, (shape[axis],), 1)
    body = Body(("f32",) * 3, (ScalarOp("arith.mulf", (0, 1), "f32"),), (3,))
    builder.add(_point((y, factor), result, shape, (whole, plain_map((axis,)), whole), body))
    return result


def _matmul(builder: GraphBuilder, x: int, w: int, sizes: tuple[int, int, int]) -> int:
    result = builder.tensor(sizes[:2], "f32")
    maps = (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1)))
    body = contraction_body("f32", "f32", "f32")
    kinds = (P, P, R)
    builder.add(Structured((x, w), (Fill("0.0 : f32"),), (result,), sizes, kinds, maps, body))
    return result


def _point(
    sources: tuple[int, ...],
    result: int,
    shape: tuple[int, ...],
    maps: tuple[IndexMap, ...],
    body: Body,
) -> Structured:
    return Structured(sources, (Uninitialized(),), (result,), shape, (P,) * len(shape), maps, body)


def branches(random: Random) -> Graph:
    """Convolutions of one image with filters of several sizes, and other tensors, added up."""
    builder = GraphBuilder()
    size, c, f = random.choice((2, 3, 4)), random.choice((1, 2, 3)), random.choice((1, 2))
    stride = random.choice((1, 1, 2))
    out = -(-size // stride)
    x = builder.tensor((size, c), "f32")
    parts, given = [], [x]
    for _ in range(random.randint(2, 3)):
        taps = random.choice((1, 1, 3, 3, 2))
        low = taps // 2
        high = max(0, stride * (out - 1) + taps - low - size)
        image = x
        if low or high:
            image = builder.tensor((low + size + high, c), "f32")
            builder.add(Pad(x, image, (low, 0), (high, 0), "0.0 : f32"))
        w = counted(builder, (taps, c, f), random.randint(1, 3))
        parts.append(builder.tensor((out, f), "f32"))
        maps = (
            (affine([(0, stride), (2, 1)]), *plain_map((3,))),
            plain_map((2, 3, 1)),
            plain_map((0, 1)),
        )
        body = contraction_body("f32", "f32", "f32")
        builder.add(
            Structured(
                (image, w), (Fill("0.0 : f32"),), (parts[-1],), (out, f, taps, c), (P, P, R, R),
                maps, body,
            )
        )  # fmt: skip
    if random.random() < 0.5:
        given.append(builder.tensor((out, f), "f32"))
        parts.append(given[-1])
    random.shuffle(parts)
    return builder.build(given, (_summed(builder, parts, (out, f)),))


def adapters(random: Random) -> Graph:
    """Products of one tensor with weights of any order of dims, added up."""
    builder = GraphBuilder()
    m, k, n = (random.choice((1, 2, 3, 4)) for _ in range(3))
    x = builder.tensor((m, k), "f32")
    parts = []
    for _ in range(random.randint(2, 3)):
        turned = random.random() < 0.5
        w = counted(builder, (n, k) if turned else (k, n), random.randint(1, 3))
        parts.append(builder.tensor((m, n), "f32"))
        maps = (plain_map((0, 2)), plain_map((1, 2) if turned else (2, 1)), plain_map((0, 1)))
        body, sizes = contraction_body("f32", "f32", "f32"), (m, n, k)
        builder.add(
            Structured((x, w), (Fill("0.0 : f32"),), (parts[-1],), sizes, (P, P, R), maps, body)
        )
    if random.random() < 0.5:
        parts.append(counted(builder, (n,), 1))
    return builder.build((x,), (_summed(builder, parts, (m, n)),))


def side_by_side(random: Random) -> Graph:
    """A convolution or matmul of tensors side by side, along what it sums over or not."""
    builder = GraphBuilder()
    rows, n = random.choice((2, 3, 4)), random.choice((1, 2, 3))
    widths = [random.choice((1, 2, 3)) for _ in range(random.randint(2, 3))]
    parts = [builder.tensor((rows, width), "f32") for width in widths]
    total = sum(widths)
    x = builder.tensor((rows, total), "f32")
    builder.add(Concat(tuple(parts), x, 1))
    if random.random() < 0.5:
        w = counted(builder, (total, n), random.randint(1, 3))
        return builder.build(parts, (_matmul(builder, x, w, (rows, n, total)),))
    taps = random.choice((1, 3))
    if taps == 3:
        image = builder.tensor((rows + 2, total), "f32")
        builder.add(Pad(x, image, (1, 0), (1, 0), "0.0 : f32"))
        x = image
    w = counted(builder, (taps, total, n), random.randint(1, 3))
    y = builder.tensor((rows, n), "f32")
    maps = (
        (affine([(0, 1), (2, 1)]), *plain_map((3,))),
        plain_map((2, 3, 1)),
        plain_map((0, 1)),
    )
    body, sizes = contraction_body("f32", "f32", "f32"), (rows, n, taps, total)
    kinds = (P, P, R, R)
    builder.add(Structured((x, w), (Fill("1.0 : f32"),), (y,), sizes, kinds, maps, body))
    return builder.build(parts, (y,))


def _summed(builder: GraphBuilder, parts: list[int], shape: tuple[int, int]) -> int:
    """All of some tensors, a vector read along the last dim."""
    total, *others = parts
    whole = identity_map(2)
    for other in others:
        result = builder.tensor(shape, "f32")
        read = whole if len(builder.types[other].shape) == 2 else plain_map((1,))
        builder.add(_point((total, other), result, shape, (whole, read, whole), ADD))
        total = result
    return total


def resized(random: Random) -> Graph:
    """Two or three dims, of which one or two are resized."""
    shape = [random.randint(2, 6) for _ in range(random.randint(2, 3))]
    made = list(shape)
    for d in random.sample(range(len(shape)), random.randint(1, 2)):
        made[d] = random.choice((shape[d] * 2, shape[d] * 4, shape[d] - 1, random.randint(2, 9)))
    corners = random.random() < 0.4 and min(made) > 1
    return linear_resize(shape, made, corners=corners)


ALGEBRA = (chain, scaled, branches, adapters, side_by_side, resized, grouped, *ATTENTIONS)
