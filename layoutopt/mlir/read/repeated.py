"""Loops that read an operand at ``d // n``: two loops, and reshapes around the op.

    op over d, reading x at d // n   ->   reshape(op over (q, r), reading x at q)      d = q * n + r

Sound because (q, r) visits what d visits, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from layoutopt.ir.affine import IndexMap, affine
from layoutopt.ir.graph import FromTensor, GraphBuilder, Init, Reshape, Structured
from layoutopt.mlir.read.state import PlaceNotLinear


def add_repeated(
    builder: GraphBuilder, op: Structured, repeats: Mapping[int, tuple[int, int]]
) -> None:
    """Add an op some of whose maps read the quotient of a loop.

    ``repeats``: for each such loop its n and the number that the quotient has in the maps, behind
    the loops of ``op.domain``. Raises NotUnderstood where an operand has no form over the split
    loops.
    """
    _check(op, repeats)
    order: list[int] = []
    for d in range(len(op.domain)):
        order += [repeats[d][1], d] if d in repeats else [d]
    number = {old: new for new, old in enumerate(order)}
    sizes = dict(enumerate(op.domain))
    for d, (repeat, quotient) in repeats.items():
        sizes |= {quotient: op.domain[d] // repeat, d: repeat}
    loop_of = {quotient: d for d, (_, quotient) in repeats.items()}

    def split_map(index_map: IndexMap) -> IndexMap:
        forms = (
            [affine([(repeats[form.dims[0]][1], 1)]), form] if form.plain_dim in repeats else [form]
            for form in index_map
        )
        return tuple(form.renamed(number) for pair in forms for form in pair)

    def split_tensor(tensor: int, index_map: IndexMap) -> int:
        kind = builder.types[tensor]
        if not any(form.plain_dim in repeats for form in index_map):
            return tensor
        shape: list[int] = []
        for form, n in zip(index_map, kind.shape, strict=True):
            d = form.plain_dim
            shape += [sizes[repeats[d][1]], sizes[d]] if d is not None and d in repeats else [n]
        return builder.tensor(shape, kind.element)

    sources = [
        _read(builder, t, split_tensor(t, m))
        for t, m in zip(op.sources, op.source_maps, strict=True)
    ]
    inits: list[Init] = [
        FromTensor(_read(builder, init.tensor, split_tensor(init.tensor, m)))
        if isinstance(init, FromTensor)
        else init
        for init, m in zip(op.inits, op.result_maps, strict=True)
    ]
    results = [split_tensor(t, m) for t, m in zip(op.results, op.result_maps, strict=True)]
    builder.add(
        replace(
            op,
            sources=tuple(sources),
            inits=tuple(inits),
            results=tuple(results),
            domain=tuple(sizes[d] for d in order),
            iterators=tuple(op.iterators[loop_of.get(d, d)] for d in order),
            maps=tuple(map(split_map, op.maps)),
            body=op.body.with_index_dims(number),
        )
    )
    for made, whole in zip(results, op.results, strict=True):
        if made != whole:
            builder.add(Reshape(made, whole))


def _check(op: Structured, repeats: Mapping[int, tuple[int, int]]) -> None:
    for index_map in op.maps:
        for form in index_map:
            if form.plain_dim is None and any(d in repeats for d in form.dims):
                raise PlaceNotLinear(
                    f"expected a repeated loop to be read alone, but a map reads '{form}'"
                )
    looked_at = {int(o.attribute("dim")) for o in op.body.ops if o.name == "linalg.index"}
    if looked_at & {*repeats}:
        raise PlaceNotLinear(
            "expected a repeated loop to be an index alone, but the body computes with it"
        )


def _read(builder: GraphBuilder, tensor: int, split: int) -> int:
    if split != tensor:
        builder.add(Reshape(tensor, split))
    return split
