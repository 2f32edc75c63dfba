"""Random convolutions with dense windows, some behind a pad."""

from __future__ import annotations

from hypothesis import strategies as st

from layoutopt.ir.affine import affine, plain_map
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, IteratorType, Pad, Structured
from layoutopt.ir.scalar import contraction_body

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION


@st.composite
def dense_convolutions(draw: st.DrawFn, large: bool = False) -> Graph:
    """Stride and dilation one, sums over channels, dims anywhere, images of any size.

    ``large``: images and filters are such that large tiles of Winograd's pay.
    """
    outputs = st.just(6) if large else st.integers(1, 9)
    taps = st.just(3) if large else st.integers(1, 5)
    spatial = draw(st.integers(1, 2))
    groups = ["g"] * draw(st.integers(0, 1))
    outer = ["n", *groups, "f", *(f"o{i}" for i in range(spatial))]
    names = [*outer, "c", *(f"k{i}" for i in range(spatial))]
    sizes = {name: draw(st.integers(1, 3)) for name in names}
    sizes |= {f"o{i}": draw(outputs) for i in range(spatial)}
    sizes |= {f"k{i}": draw(taps) for i in range(spatial)}
    loop = {name: d for d, name in enumerate(names)}
    plain = {name: plain_map([d])[0] for name, d in loop.items()}
    windows = [affine([(loop[f"o{i}"], 1), (loop[f"k{i}"], 1)]) for i in range(spatial)]
    image_forms = draw(st.permutations([plain[x] for x in ("n", *groups, "c")] + windows))
    filters = [*groups, "f", "c", *(f"k{i}" for i in range(spatial))]
    filter_map = plain_map(draw(st.permutations([loop[x] for x in filters])))
    result_map = plain_map(draw(st.permutations([loop[x] for x in outer])))
    element = draw(st.sampled_from(["f32", "f64"]))
    margin = draw(st.integers(0, 2))
    domain = tuple(sizes[name] for name in names)

    def extent(d: int) -> int:
        form = image_forms[d]
        end = 1 + sum(domain[i] - 1 for i, _ in form.terms)
        return end + (margin if len(form.terms) > 1 else 0)

    builder = GraphBuilder()
    shape = tuple(extent(d) for d in range(len(image_forms)))
    low = tuple(int(len(form.terms) > 1) for form in image_forms)
    padded = draw(st.booleans()) and all(n > b for n, b in zip(shape, low, strict=True))
    image = builder.tensor(shape, element)
    inputs = [image]
    if padded:
        inner = tuple(n - b for n, b in zip(shape, low, strict=True))
        inputs = [builder.tensor(inner, element)]
        value = draw(st.sampled_from(["0.0", "3.0"]))
        high = (0,) * len(shape)
        builder.add(Pad(inputs[0], image, low, high, f"{value} : {element}"))
    weight = builder.tensor((domain[f.terms[0][0]] for f in filter_map), element)
    result = builder.tensor((domain[f.terms[0][0]] for f in result_map), element)
    builder.add(
        Structured(
            (image, weight),
            (Fill(f"0.0 : {element}"),),
            (result,),
            domain,
            tuple(P if name in outer else R for name in names),
            (tuple(image_forms), filter_map, result_map),
            contraction_body(element, element, element),
        )
    )
    return builder.build((*inputs, weight), (result,))


@st.composite
def padded_convolutions(draw: st.DrawFn) -> Graph:
    """Filters that may reach farther than their image, which has zeros around it."""
    spatial = draw(st.integers(1, 2))
    has_channels = draw(st.booleans())
    numbers = st.lists(st.integers(1, 4), min_size=spatial, max_size=spatial)
    image, outputs, strides, dilations = (draw(numbers) for _ in range(4))
    taps = [draw(st.integers(1, 5)) for _ in range(spatial)]
    low = [draw(st.integers(0, 8)) for _ in range(spatial)]
    high: list[int] = []
    for n, o, s, k, d, before in zip(image, outputs, strides, taps, dilations, low, strict=True):
        lacking = (o - 1) * s + (k - 1) * d + 1 - before - n
        high.append(max(0, lacking) + draw(st.integers(0, 2)))
    batch, features, channels = (draw(st.integers(1, 3)) for _ in range(3))
    # loops: n, f, o.., c, k..; a depthwise convolution has no c
    domain = (batch, features, *outputs, *([channels] if has_channels else []), *taps)
    first = 2 + spatial + has_channels
    inside = [*([2 + spatial] if has_channels else []), *range(first, first + spatial)]
    read = [
        affine([(2 + i, s), (first + i, d)])
        for i, (s, d) in enumerate(zip(strides, dilations, strict=True))
    ]
    order = draw(st.permutations([0, 1, *range(2, 2 + spatial)]))
    across = plain_map([0, 2 + spatial if has_channels else 1])
    forms = [(*across, *read)[i] for i in order]
    source = [(batch, channels if has_channels else features, *image)[i] for i in order]
    around = [(0, 0, *low)[i] for i in order], [(0, 0, *high)[i] for i in order]
    builder = GraphBuilder()
    x = builder.tensor(source, "f32")
    wide = [a + n + b for a, n, b in zip(around[0], source, around[1], strict=True)]
    padded = builder.tensor(wide, "f32")
    builder.add(Pad(x, padded, tuple(around[0]), tuple(around[1]), "0.0 : f32"))
    filter_map = plain_map(draw(st.permutations([1, *inside])))
    w = builder.tensor((domain[f.dims[0]] for f in filter_map), "f32")
    y = builder.tensor(domain[: 2 + spatial], "f32")
    outer = plain_map(range(2 + spatial))
    kinds = (P,) * (2 + spatial) + (R,) * len(inside)
    body = contraction_body("f32", "f32", "f32")
    maps = (tuple(forms), filter_map, outer)
    builder.add(Structured((padded, w), (Fill("0.0 : f32"),), (y,), domain, kinds, maps, body))
    return builder.build((x, w), (y,))
