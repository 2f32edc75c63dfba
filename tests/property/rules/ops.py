"""Random graphs of one op, for every kind of op that layouts pass through."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from layoutopt.ir.affine import Affine, IndexMap, affine, identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    FromTensor,
    Graph,
    GraphBuilder,
    Init,
    IteratorType,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body
from layoutopt.ir.types import is_float

SIZES = st.sampled_from([1, 2, 3, 4, 6])
FACTORS = [
    ("f32", "f32"),
    ("i8", "i32"),
    ("f16", "f32"),
    ("f16", "f16"),
    ("bf16", "f32"),
    ("i32", "i32"),
]
"""Types of factors and of their sums."""
P, R = IteratorType.PARALLEL, IteratorType.REDUCTION


def structured(
    draw: st.DrawFn,
    domain: tuple[int, ...],
    maps: tuple[IndexMap, ...],
    body: Body,
    results: int,
    margin: int = 0,
) -> Graph:
    """A graph of one structured op over operands of just the size that the maps read.

    ``margin``: elements behind the last one that a window reads.
    """
    builder = GraphBuilder()
    tensors = [
        builder.tensor([_extent(f, domain, margin) for f in index_map], element)
        for index_map, element in zip(maps, body.arguments, strict=True)
    ]
    made = tensors[-results:]
    sources = tensors[:-results]
    inits: list[Init] = []
    inputs = list(sources)
    for tensor in made:
        kind = builder.types[tensor]
        choice = draw(st.sampled_from(["fill", "tensor"]))
        if (
            not body.used(body.arguments.index(kind.element))
            and results == 1
            and not body.used(len(sources))
        ):
            inits.append(Uninitialized())
        elif choice == "fill":
            start = str(draw(st.sampled_from([0, 2])))
            inits.append(Fill(f"{start}{'.0' * is_float(kind.element)} : {kind.element}"))
        else:
            started = builder.tensor(kind.shape, kind.element)
            inputs.append(started)
            inits.append(FromTensor(started))
    written = {d for m in maps[-results:] for form in m for d in form.dims}
    builder.add(
        Structured(
            tuple(sources),
            tuple(inits),
            tuple(made),
            domain,
            tuple(P if d in written else R for d in range(len(domain))),
            maps,
            body,
        )
    )
    return builder.build(inputs, made)


def _extent(form: Affine, domain: tuple[int, ...], margin: int) -> int:
    last = form.offset + sum(c * (domain[d] - 1) for d, c in form.terms)
    return last + 1 + (margin if len(form.terms) > 1 else 0)


@st.composite
def matmuls(draw: st.DrawFn) -> Graph:
    """Batch, m, n, k in any order in every operand, with extra unit or absent loops."""
    roles = ["lro"] * draw(st.integers(0, 1))
    roles += ["lo"] * draw(st.integers(0, 2)) + ["ro"] * draw(st.integers(0, 2))
    roles += ["lr"] * draw(st.integers(1, 2))
    domain = tuple(draw(SIZES) for _ in roles)
    maps = tuple(
        plain_map(draw(st.permutations([d for d, r in enumerate(roles) if operand in r])))
        for operand in "lro"
    )
    factor, out = draw(st.sampled_from(FACTORS))
    return structured(draw, domain, maps, contraction_body(factor, factor, out), 1)


@st.composite
def long_matmuls(draw: st.DrawFn) -> Graph:
    """A matmul with long sums and few results."""
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    summed = draw(st.sampled_from([2048, 2050, 3075, 4096]))
    forms = (draw(st.permutations((0, 2))), draw(st.permutations((1, 2))), (0, 1))
    body = contraction_body("f32", "f32", "f32")
    return structured(draw, (rows, columns, summed), tuple(map(plain_map, forms)), body, 1)


@st.composite
def long_rows(draw: st.DrawFn) -> Graph:
    """A reduction of long rows less a number of each, in one or two dims, by one of several ops."""
    rows, above = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    length = draw(st.sampled_from([48, 64, 80, 96, 128, 130, 256]))
    reduced = draw(st.booleans())
    kept = (0,) if reduced else (0, 1)
    fold = draw(st.sampled_from(["arith.addf", "arith.maximumf", "arith.minimumf"]))
    body = Body(
        ("f32", "f32", "f32"),
        (ScalarOp("arith.subf", (0, 1), "f32"), ScalarOp(fold, (3, 2), "f32")),
        (4,),
    )
    forms = ((0, 1, 2), kept, kept)
    return structured(draw, (rows, above, length), tuple(map(plain_map, forms)), body, 1)


@st.composite
def elementwise(draw: st.DrawFn) -> Graph:
    """Two inputs, each over some of the loops (broadcast, transpose), or at a fixed place."""
    rank = draw(st.integers(1, 4))
    domain = tuple(draw(SIZES) for _ in range(rank))
    maps: list[IndexMap] = []
    for _ in range(2):
        kept = [d for d in draw(st.permutations(range(rank))) if draw(st.integers(0, 3))]
        forms = list(plain_map(kept))
        if draw(st.booleans()):
            forms.insert(draw(st.integers(0, len(forms))), affine([], draw(st.integers(0, 1))))
        maps.append(tuple(forms))
    out = plain_map(draw(st.permutations(range(rank))))
    ops: list[ScalarOp] = [ScalarOp("arith.subf", (0, 1), "f32")]
    if draw(st.booleans()):
        loop = draw(st.integers(0, rank - 1))
        ops += [
            ScalarOp("linalg.index", (), "index", (("dim", str(loop)),)),
            ScalarOp("arith.index_cast", (4,), "i32"),
            ScalarOp("arith.sitofp", (5,), "f32"),
            ScalarOp("arith.addf", (3, 6), "f32"),
        ]
    body = Body(("f32", "f32", "f32"), tuple(ops), (2 + len(ops),))
    return structured(draw, domain, (*maps, out), body, 1)


@st.composite
def copies(draw: st.DrawFn) -> Graph:
    """Transposes, broadcasts and strided reads."""
    rank = draw(st.integers(1, 4))
    domain = tuple(draw(SIZES) for _ in range(rank))
    forms = [
        affine([(d, draw(st.integers(1, 2)))], draw(st.integers(0, 1)))
        for d in draw(st.permutations(range(rank)))
        if draw(st.integers(0, 3))
    ]
    return structured(
        draw, domain, (tuple(forms), identity_map(rank)), Body(("f32", "f32"), (), (0,)), 1
    )


@st.composite
def reductions(draw: st.DrawFn) -> Graph:
    """One or two results (sum and sum of squares), any loops reduced."""
    rank = draw(st.integers(1, 4))
    domain = tuple(draw(SIZES) for _ in range(rank))
    kept = [d for d in draw(st.permutations(range(rank))) if draw(st.booleans())]
    source = plain_map(draw(st.permutations(range(rank))))
    if draw(st.booleans()):
        fold = draw(st.sampled_from(["arith.addf", "arith.maximumf", "arith.minimumf"]))
        body = Body(("f32", "f32"), (ScalarOp(fold, (0, 1), "f32"),), (2,))
        return structured(draw, domain, (source, plain_map(kept)), body, 1)
    moments = Body(
        ("f32", "f32", "f32"),
        (
            ScalarOp("arith.addf", (1, 0), "f32"),
            ScalarOp("arith.mulf", (0, 0), "f32"),
            ScalarOp("arith.addf", (2, 4), "f32"),
        ),
        (3, 5),
    )
    other = plain_map(draw(st.permutations(kept)))
    return structured(draw, domain, (source, plain_map(kept), other), moments, 2)


@st.composite
def argmaxes(draw: st.DrawFn) -> Graph:
    """The first of the largest elements, as ``row * 100 + column`` of the reduced loops."""
    rank = draw(st.integers(2, 4))
    domain = tuple(draw(SIZES) for _ in range(rank))
    kept = list(draw(st.permutations(range(rank - 2))))
    source = plain_map(draw(st.permutations(range(rank))))
    ops = (
        ScalarOp("linalg.index", (), "index", (("dim", str(rank - 2)),)),
        ScalarOp("linalg.index", (), "index", (("dim", str(rank - 1)),)),
        ScalarOp("arith.constant", (), "index", (("value", "100 : index"),)),
        ScalarOp("arith.muli", (3, 5), "index"),
        ScalarOp("arith.addi", (6, 4), "index"),
        ScalarOp("arith.index_cast", (7,), "i64"),
        ScalarOp("arith.cmpf", (0, 1), "i1", (("predicate", "2 : i64"),)),
        ScalarOp("arith.select", (9, 0, 1), "f32"),
        ScalarOp("arith.select", (9, 8, 2), "i64"),
    )
    body = Body(("f32", "f32", "i64"), ops, (10, 11))
    result = plain_map(kept)
    return structured(draw, domain, (source, result, result), body, 2)


@st.composite
def alternating(draw: st.DrawFn) -> Graph:
    """``out = in - out``: a reduction that depends on the order of its loops."""
    rank = draw(st.integers(1, 3))
    domain = tuple(draw(SIZES) for _ in range(rank))
    kept = [d for d in range(rank) if draw(st.booleans())]
    source = plain_map(draw(st.permutations(range(rank))))
    body = Body(("f32", "f32"), (ScalarOp("arith.subf", (0, 1), "f32"),), (2,))
    return structured(draw, domain, (source, plain_map(kept)), body, 1)


def windows(
    draw: st.DrawFn, image: list[int], inside: list[int], unit: bool = False
) -> list[Affine]:
    """``stride * image + dilation * inside`` per spatial dim."""
    steps = st.integers(1, 3)
    return [
        affine([(i, draw(steps)), (k, draw(steps))]) for i, k in zip(image, inside, strict=True)
    ]


@st.composite
def poolings(draw: st.DrawFn) -> Graph:
    """One to three spatial dims; the second operand holds nothing but the window's size."""
    spatial = draw(st.integers(1, 3))
    image, inside = list(range(2, 2 + spatial)), list(range(2 + spatial, 2 + 2 * spatial))
    domain = (draw(SIZES), draw(SIZES), *(draw(st.integers(1, 4)) for _ in range(2 * spatial)))
    forms = [*plain_map([0, 1]), *windows(draw, image, inside)]
    order = draw(st.permutations(range(len(forms))))
    read = tuple(forms[d] for d in order)
    written = tuple([*plain_map([0, 1]), *plain_map(image)][d] for d in order)
    fold = draw(st.sampled_from(["arith.addf", "arith.maximumf", "arith.minimumf"]))
    body = Body(("f32", "f32", "f32"), (ScalarOp(fold, (2, 0), "f32"),), (3,))
    maps = (read, plain_map(inside), written)
    return structured(draw, domain, maps, body, 1, draw(st.integers(0, 1)))


@st.composite
def convolutions(
    draw: st.DrawFn, filters: st.SearchStrategy[int] | None = None, unit_batch: bool = False
) -> Graph:
    """One to three spatial dims; grouped, depthwise (with multiplier) or dense; dims anywhere."""
    spatial = draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["dense", "grouped", "depthwise", "multiplier"]))
    small = st.integers(1, 3)
    names = ["n", *(f"o{i}" for i in range(spatial)), *(f"k{i}" for i in range(spatial))]
    names += {
        "dense": ["f", "c"],
        "grouped": ["g", "f", "c"],
        "depthwise": ["g"],
        "multiplier": ["g", "m"],
    }[kind]
    loop = {name: d for d, name in enumerate(names)}
    sizes = {name: draw(small) for name in names}
    if filters is not None:
        sizes |= {f"k{i}": draw(filters) for i in range(spatial)}
    if unit_batch:
        sizes["n"] = 1
    domain = tuple(sizes[name] for name in names)
    image = [loop[f"o{i}"] for i in range(spatial)]
    inside = [loop[f"k{i}"] for i in range(spatial)]
    steps = windows(draw, image, inside)
    if draw(st.booleans()):  # windows that tile the image
        steps = [affine([(i, sizes[names[k]]), (k, 1)]) for i, k in zip(image, inside, strict=True)]
    plain = {x: plain_map([d])[0] for x, d in loop.items()}
    read = [plain[x] for x in ("n", "g", "c") if x in plain] + steps
    weights = [plain[x] for x in names if x[0] in "gfckm"]
    written = [plain[x] for x in names if x[0] in "ngfmo"]
    maps = tuple(tuple(draw(st.permutations(forms))) for forms in (read, weights, written))
    factor, out = draw(st.sampled_from(FACTORS))
    body = contraction_body(factor, factor, out)
    return structured(draw, domain, maps, body, 1, draw(st.integers(0, 2)))


STRUCTURED: dict[str, Callable[[], st.SearchStrategy[Graph]]] = {
    "matmul": matmuls,
    "elementwise": elementwise,
    "copy": copies,
    "reduction": reductions,
    "argmax": argmaxes,
    "alternating": alternating,
    "pooling": poolings,
    "convolution": convolutions,
}
