"""Random graphs of scattered tensors and what reads them; the last op is the one to rewrite."""

from __future__ import annotations

from hypothesis import strategies as st

from layoutopt.ir.affine import affine, identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    FromTensor,
    Graph,
    GraphBuilder,
    Init,
    Insert,
    IteratorType,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body, fill_body
from layoutopt.ir.types import is_float
from tests.property.rules.ops import FACTORS

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION


def _zero(element: str) -> str:
    return f"{'0.0' if is_float(element) else '0'} : {element}"


def _scattered(
    draw: st.DrawFn, builder: GraphBuilder, small: list[int], rank_strides: list[int], element: str
) -> tuple[int, int, list[int]]:
    """A source and its scatter into zeros, by one of the ways that models write it."""
    offsets = [draw(st.integers(0, 2)) if s > 1 else 0 for s in rank_strides]
    behind = [draw(st.integers(0, 2)) if s > 1 else 0 for s in rank_strides]
    shape = [
        o + (n - 1) * s + 1 + b
        for o, n, s, b in zip(offsets, small, rank_strides, behind, strict=True)
    ]
    x, wide = builder.tensor(small, element), builder.tensor(shape, element)
    strides = tuple(rank_strides)
    way = draw(st.sampled_from(["scatter", "fill", "pad"]))
    if way == "scatter":
        builder.add(Scatter((x,), wide, (tuple(offsets),), strides, _zero(element)))
        return x, wide, shape
    filled = builder.tensor(shape, element)
    rank = len(shape)
    builder.add(
        Structured(
            (),
            (Uninitialized(),),
            (filled,),
            tuple(shape),
            (P,) * rank,
            (identity_map(rank),),
            fill_body(_zero(element), element),
        )
    )
    builder.add(Insert(x, filled, wide, tuple(offsets), strides))
    if way == "fill":
        return x, wide, shape
    low = [draw(st.integers(0, 1)) for _ in shape]
    more = [a + n for a, n in zip(low, shape, strict=True)]
    padded = builder.tensor(more, element)
    builder.add(Pad(wide, padded, tuple(low), (0,) * rank, _zero(element)))
    return x, padded, more


def _start(draw: st.DrawFn, builder: GraphBuilder, shape: list[int], element: str) -> Init:
    way = draw(st.sampled_from(["zero", "two", "tensor"]))
    if way == "tensor":
        return FromTensor(builder.tensor(shape, element))
    value = {"zero": "0", "two": "2"}[way]
    return Fill(f"{value}.0 : {element}" if is_float(element) else f"{value} : {element}")


@st.composite
def backward_convolutions(draw: st.DrawFn, filters: int = 3) -> Graph:
    """Any filter, stride, dilation, forward stride and group; 1-D to 3-D; either side padded."""
    spatial = draw(st.integers(1, 2))
    grouped = draw(st.booleans())
    factor, out = draw(st.sampled_from(FACTORS))
    builder = GraphBuilder()
    small = [draw(st.integers(1, 3)) for _ in range(spatial)]
    strides = [draw(st.integers(1, 3)) for _ in range(spatial)]
    strides[0] = draw(st.integers(2, 3))
    sizes = [draw(st.integers(1, 2)) for _ in range(4)]  # n, g, c, f
    n, g, c, f = sizes if grouped else (sizes[0], 1, sizes[2], sizes[3])
    channels_last = draw(st.booleans())
    image_small = [n, *small, g, c] if channels_last else [n, g, c, *small]
    image_strides = [1, *strides, 1, 1] if channels_last else [1, 1, 1, *strides]
    x, wide, shape = _scattered(draw, builder, image_small, image_strides, factor)
    reach = shape[1 : 1 + spatial] if channels_last else shape[3:]
    taps, dilations, steps, outs = [], [], [], []
    for extent in reach:
        tap = draw(st.integers(1, filters))
        dilation = draw(st.integers(1, 2))
        while (tap - 1) * dilation + 1 > extent:
            tap -= 1
        step = draw(st.sampled_from([1, 1, 2, 3]))
        taps.append(tap)
        dilations.append(dilation)
        steps.append(step)
        outs.append((extent - (tap - 1) * dilation - 1) // step + 1)
    w = builder.tensor([g, f, c, *taps], factor)
    y_shape = [n, g, f, *outs]
    # loops: n g f o.. | c k..
    loop_n, loop_g, loop_f = 0, 1, 2
    image = list(range(3, 3 + spatial))
    loop_c = 3 + spatial
    inside = list(range(4 + spatial, 4 + 2 * spatial))
    windows = [
        affine([(i, s), (k, d)]) for i, k, s, d in zip(image, inside, steps, dilations, strict=True)
    ]
    batch = plain_map([loop_n])
    channel = plain_map([loop_g, loop_c])
    read = (*batch, *windows, *channel) if channels_last else (*batch, *channel, *windows)
    n_read, g_read, c_read = (shape[0], *(shape[-2:] if channels_last else shape[1:3]))
    if (n_read, g_read, c_read) != (n, g, c):  # padded there: grow the loops
        n, g, c = n_read, g_read, c_read
        w = builder.tensor([g, f, c, *taps], factor)
        y_shape = [n, g, f, *outs]
    y = builder.tensor(y_shape, out)
    init = _start(draw, builder, y_shape, out)
    swapped = draw(st.booleans())
    sources = (w, wide) if swapped else (wide, w)
    filter_map = plain_map([loop_g, loop_f, loop_c, *inside])
    result_map = plain_map([loop_n, loop_g, loop_f, *image])
    maps = (filter_map, read, result_map) if swapped else (read, filter_map, result_map)
    builder.add(
        Structured(
            sources,
            (init,),
            (y,),
            (n, g, f, *outs, c, *taps),
            (P,) * (3 + spatial) + (R,) * (1 + spatial),
            maps,
            contraction_body(factor, factor, out),
        )
    )
    inputs = (
        [x, w, *(t for t in (init.tensor,) if True)] if isinstance(init, FromTensor) else [x, w]
    )
    return builder.build(inputs, (y,))


@st.composite
def weight_gradients(draw: st.DrawFn) -> Graph:
    """``dw[f, k, c] = sum_o x[s*o + d*k, c] * scatter(dy)[o, f]``."""
    factor, out = draw(st.sampled_from(FACTORS))
    builder = GraphBuilder()
    small, f, c = (draw(st.integers(1, 3)) for _ in range(3))
    dy, padded, shape = _scattered(draw, builder, [small, f], [draw(st.integers(2, 3)), 1], factor)
    f = shape[1]
    taps, step, dilation = (draw(st.integers(1, 3)) for _ in range(3))
    plain = draw(st.booleans())
    if plain:
        taps, step = 1, 1
    reach = (shape[0] - 1) * step + (taps - 1) * dilation + 1
    x = builder.tensor((reach, c), factor)
    dw = builder.tensor((f, taps, c), out)
    window = plain_map([3])[0] if plain else affine([(3, step), (1, dilation)])
    init = _start(draw, builder, [f, taps, c], out)
    builder.add(
        Structured(
            (x, padded),
            (init,),
            (dw,),
            (f, taps, c, shape[0]),
            (P, P, P, R),
            ((window, plain_map([2])[0]), plain_map([3, 0]), plain_map([0, 1, 2])),
            contraction_body(factor, factor, out),
        )
    )
    inputs = [x, dy, init.tensor] if isinstance(init, FromTensor) else [x, dy]
    return builder.build(inputs, (dw,))


def _phased(draw: st.DrawFn, builder: GraphBuilder) -> tuple[list[int], int, list[int]]:
    """A scatter of one source into a value, or of all phases into nothing."""
    strides = [draw(st.integers(1, 3)) for _ in range(2)]
    if draw(st.booleans()):
        small = [draw(st.integers(1, 3)) for _ in range(2)]
        offsets = [draw(st.integers(0, 2)) for _ in range(2)]
        shape = [
            o + (n - 1) * s + 1 + draw(st.integers(0, 2))
            for o, n, s in zip(offsets, small, strides, strict=True)
        ]
        x, wide = builder.tensor(small, "f32"), builder.tensor(shape, "f32")
        value = draw(st.sampled_from(["0.0 : f32", "-2.0 : f32"]))
        builder.add(Scatter((x,), wide, (tuple(offsets),), tuple(strides), value))
        return [x], wide, shape
    shape = [s * draw(st.integers(1, 2)) + draw(st.integers(0, s - 1)) for s in strides]
    places = [(a, b) for a in range(strides[0]) for b in range(strides[1])]
    sources = [
        builder.tensor([-(-(n - o) // s) for n, o, s in zip(shape, p, strides, strict=True)], "f32")
        for p in places
    ]
    wide = builder.tensor(shape, "f32")
    builder.add(Scatter(tuple(sources), wide, tuple(places), tuple(strides), None))
    return sources, wide, shape


@st.composite
def scatters(draw: st.DrawFn) -> Graph:
    """One source in a background, or all phases."""
    builder = GraphBuilder()
    sources, wide, _ = _phased(draw, builder)
    return builder.build(sources, (wide,))


@st.composite
def scatter_consumers(
    draw: st.DrawFn,
    kinds: tuple[str, ...] = ("own", "twice", "bias", "residual", "reshape", "math"),
) -> Graph:
    """f(scatter), f(scatter, scatter), f(scatter, bias), with f(0) anything; or a reshape."""
    builder = GraphBuilder()
    sources, wide, shape = _phased(draw, builder)
    kind = draw(st.sampled_from(kinds))
    if kind == "reshape":
        y = builder.tensor((*shape[:1], 1, *shape[1:]), "f32")
        builder.add(Reshape(wide, y))
        return builder.build(sources, (y,))
    turned = draw(st.booleans())
    read = plain_map([1, 0]) if draw(st.booleans()) else identity_map(2)
    inverse = {read[a].dims[0]: shape[a] for a in range(2)}
    domain = (inverse[0], inverse[1])
    written = plain_map([1, 0]) if turned else identity_map(2)
    y = builder.tensor([domain[f.dims[0]] for f in written], "f32")
    inputs = list(sources)
    tensors, maps = [wide], [read]
    if kind == "twice":
        tensors, maps = [wide, wide], [read, read]
    elif kind == "bias":
        tensors.append(builder.tensor((domain[1],), "f32"))
        maps.append(plain_map([1]))
        inputs.append(tensors[-1])
    elif kind == "residual":
        tensors.append(builder.tensor(domain, "f32"))
        maps.append(identity_map(2))
        inputs.append(tensors[-1])
    count = len(tensors)
    one = ScalarOp("arith.constant", (), "f32", (("value", "3.0 : f32"),))
    last = count + 1
    if kind == "math":
        ops = (
            one,
            ScalarOp("math.exp", (0,), "f32"),
            ScalarOp("arith.addf", (last, last + 1), "f32"),
        )
    else:
        other = 1 if count > 1 else last
        ops = (
            one,
            ScalarOp("arith.subf", (0, other), "f32"),
            ScalarOp("arith.addf", (last, last + 1), "f32"),
        )
    body = Body(("f32",) * (count + 1), ops, (last + 2,))
    builder.add(
        Structured(tuple(tensors), (Uninitialized(),), (y,), domain, (P, P), (*maps, written), body)
    )
    return builder.build(inputs, (y,))


@st.composite
def sliced(draw: st.DrawFn, graphs: st.SearchStrategy[Graph]) -> Graph:
    """Any slice of what an op makes."""
    graph = draw(graphs)
    tensor = graph.ops[-1].outputs[0]
    shape = graph.types[tensor].shape
    offsets, strides, sizes = [], [], []
    for n in shape:
        stride = draw(st.sampled_from([1, 1, 2, 3]))
        offset = draw(st.integers(0, n - 1))
        offsets.append(offset)
        strides.append(stride)
        sizes.append(draw(st.integers(1, -(-(n - offset) // stride))))
    part = len(graph.types)
    cut = Slice(tensor, part, tuple(offsets), tuple(strides))
    kind = type(graph.types[0])(tuple(sizes), graph.types[tensor].element)
    return Graph((*graph.types, kind), (*graph.ops, cut), graph.inputs, (part,))
