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
