"""Packed contractions as the named op that compilers are fast on.

    y[M,N,m,n] += x[M,K,m] * w[N,K,n]
      ->
    collapse(mmt4d(expand(x), expand(w)))        with an inner k of size one

``linalg.mmt4d`` and ``linalg.batch_mmt4d`` want an outer and an inner loop of each of m, n and k; a
loop that is missing has one step. Sound because a loop of size one adds no point and a unit dim
moves nothing.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from layoutopt.ir.affine import IndexMap, plain_map
from layoutopt.ir.graph import (
    FromTensor,
    Graph,
    GraphBuilder,
    Init,
    IteratorType,
    Op,
    Reshape,
    Structured,
)
from layoutopt.ir.named import named_op
from layoutopt.ir.scalar import is_exact_contraction

_TEMPLATES = (("MKmk", "NKnk", "MNmn"), ("BMKmk", "BNKnk", "BMNmn"))
_MISSING = tuple(
    frozenset(letters) for size in (1, 2, 3) for letters in itertools.combinations("kmMKnN", size)
)
_TILED = frozenset("mn")
"""A contraction without tiles of m or n is not packed."""


def with_mmt4d(graph: Graph) -> Graph:
    """The graph where every packed contraction that is an mmt4d up to unit loops is one."""
    builder = GraphBuilder(len(graph.types))
    ops: list[Op] = []
    for op in graph.ops:
        before = len(builder.ops)
        if isinstance(op, Structured) and is_exact_contraction(op.body) and named_op(op) is None:
            _expand(op, graph, builder)
        ops += builder.ops[before:] or [op]
    return replace(graph, types=(*graph.types, *builder.types), ops=tuple(ops), names=())


def _expand(op: Structured, graph: Graph, builder: GraphBuilder) -> None:
    for form, template, missing in itertools.product(_orders(op), _TEMPLATES, _MISSING):
        if missing >= _TILED:
            continue
        loops = _bound(form, template, missing)
        if loops is not None:
            _write(form, template, loops, graph, builder)
            return


def _orders(op: Structured) -> tuple[Structured, ...]:
    """The op, and the same with its factors swapped: without a loop of m both fit."""
    if op.body.arguments[0] != op.body.arguments[1]:
        return (op,)
    lhs, rhs, result = op.maps
    return op, replace(op, sources=op.sources[::-1], maps=(rhs, lhs, result))


def _bound(
    op: Structured, template: tuple[str, str, str], missing: frozenset[str]
) -> dict[str, int] | None:
    """The loop of each letter that is there, where the maps fit the template without the others."""
    bound: dict[str, int] = {}
    for letters, index_map in zip(template, op.maps, strict=True):
        present = [x for x in letters if x not in missing]
        if len(present) != len(index_map):
            return None
        for letter, form in zip(present, index_map, strict=True):
            loop = form.plain_dim
            if loop is None or bound.setdefault(letter, loop) != loop:
                return None
    return bound if len(set(bound.values())) == len(bound) == len(op.domain) else None


def _write(
    op: Structured,
    template: tuple[str, str, str],
    loops: dict[str, int],
    graph: Graph,
    builder: GraphBuilder,
) -> None:
    letters = "".join(dict.fromkeys("".join(template)))
    size = {x: op.domain[loops[x]] if x in loops else 1 for x in letters}
    maps: tuple[IndexMap, ...] = tuple(plain_map(map(letters.index, t)) for t in template)

    def expanded(tensor: int, word: str) -> int:
        made = builder.tensor((size[x] for x in word), graph.types[tensor].element)
        builder.add(Reshape(tensor, made))
        return made

    sources = tuple(expanded(t, word) for t, word in zip(op.sources, template, strict=False))
    init: Init = op.inits[0]
    if isinstance(init, FromTensor):
        init = FromTensor(expanded(init.tensor, template[2]))
    result = builder.tensor((size[x] for x in template[2]), graph.types[op.results[0]].element)
    builder.add(
        replace(
            op,
            sources=sources,
            inits=(init,),
            results=(result,),
            domain=tuple(size[x] for x in letters),
            iterators=tuple(
                IteratorType.REDUCTION if x in "Kk" else IteratorType.PARALLEL for x in letters
            ),
            maps=maps,
        )
    )
    builder.add(Reshape(result, op.results[0]))
