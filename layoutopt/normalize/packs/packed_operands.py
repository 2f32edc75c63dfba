"""How the operands of an op over tiles lie: which of its loops are an outer and an inner one.

    y[m, n, m0, n0] += x[m, k, m0, k0] * w[n, k, n0, k0]       (m, m0), (n, n0) and (k, k0)

A pack that makes an operand, or an unpack that reads a result, says it; so does a pattern that the
op itself is (``linalg.mmt4d``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from layoutopt.ir.affine import Affine, IndexMap
from layoutopt.ir.graph import FromTensor, Graph, Pack, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.named import means_mmt4d
from layoutopt.ir.refusal import Refusal

Pairs = dict[int, int]
"""Inner loops by outer ones."""


@dataclass(frozen=True, slots=True)
class PackedOperand:
    """How one operand lies, and of what size it is without padding, where that is known."""

    layout: Layout
    shape: tuple[int, ...] | None = None
    """The logical shape; None where it is whole tiles."""
    padding: str | None = None
    """What a pack fills it up with."""


Known = Mapping[int, PackedOperand]
"""By place among the maps of an op."""


def pack_of(graph: Graph, tensor: int) -> Pack | None:
    """The pack that makes a tensor, None where something else does too."""
    makers = graph.producers[tensor]
    found = graph.ops[makers[0]] if len(makers) == 1 else None
    return found if isinstance(found, Pack) else None


def packed_sources(graph: Graph, op: Structured) -> dict[int, PackedOperand]:
    """The operands that packs make; inits stand for the results that go on from them."""
    read = list(enumerate(op.sources))
    for place, init in enumerate(op.inits, len(op.sources)):
        if isinstance(init, FromTensor):
            read.append((place, init.tensor))
    packs = {place: pack_of(graph, tensor) for place, tensor in read}
    return {
        place: PackedOperand(pack.layout, graph.types[pack.source].shape, pack.padding)
        for place, pack in packs.items()
        if pack is not None
    }


def tile_pairs(op: Structured, known: Known) -> Pairs | Refusal:
    """The loops that belong together, or why they cannot be one."""
    found = matmul_tiles(op)
    for place, operand in known.items():
        pairs = _pairs_of(op.maps[place], operand.layout)
        if isinstance(pairs, Refusal):
            return pairs
        for outer, inner in pairs:
            if found.setdefault(outer, inner) != inner:
                return Refusal(
                    f"expected one tile for loop d{outer}, but got d{found[outer]} and d{inner}"
                )
    return _refusal(op, found) or found


def matmul_tiles(op: Structured) -> Pairs:
    """The pairs of ``linalg.mmt4d`` and ``linalg.batch_mmt4d``; none of any other op."""
    if not means_mmt4d(op):
        return {}
    lhs, rhs = (tuple(_plain(m)) for m in op.source_maps)
    return {lhs[-4]: lhs[-2], lhs[-3]: lhs[-1], rhs[-4]: rhs[-2]}


def layout_of(index_map: IndexMap, pairs: Pairs, domain: tuple[int, ...]) -> Layout | Refusal:
    """The layout of an operand whose logical dims are in the order of its outer ones."""
    inner_of = {inner: outer for outer, inner in pairs.items()}
    loops = [form.plain_dim for form in index_map]
    tiled = [d for d, loop in enumerate(loops) if loop in inner_of]
    rank = len(loops) - len(tiled)
    if tiled != list(range(rank, len(loops))):
        return Refusal("expected the tiles of each operand behind its other dims, but one is not")
    tiles = [loop for loop in loops[rank:] if loop is not None]
    return Layout(
        tuple(range(rank)),
        tuple(loops.index(inner_of[loop]) for loop in tiles),
        tuple(domain[loop] for loop in tiles),
    )


def _pairs_of(index_map: IndexMap, layout: Layout) -> list[tuple[int, int]] | Refusal:
    found: list[tuple[int, int]] = []
    for j, d in enumerate(layout.inner_dims_pos):
        forms = index_map[layout.outer_dims_perm.index(d)], index_map[layout.rank + j]
        outer, inner = (form.plain_dim for form in forms)
        if outer is None or inner is None or outer == inner:
            return Refusal(
                "expected a tiled dim to be read by two loops of its own, but got "
                f"'{forms[0]}' and '{forms[1]}'"
            )
        found.append((outer, inner))
    return found


def _refusal(op: Structured, pairs: Pairs) -> Refusal | None:
    """Why the pairs are no loops that could be one: each operand has to read both, or none."""
    loops = [*pairs, *pairs.values()]
    if len({*loops}) != len(loops):
        return Refusal("expected each loop in one tile, but one is in several")
    for outer, inner in pairs.items():
        if op.iterators[outer] is not op.iterators[inner]:
            return Refusal(f"expected loops d{outer} and d{inner} of one kind, but they differ")
        for index_map in op.maps:
            tile = op.domain[inner]
            apart = [f for f in index_map if not is_whole(f, outer, inner, tile)]
            forms = [[f for f in apart if loop in f.dims] for loop in (outer, inner)]
            if any(form.plain_dim is None for form in chain(*forms)):
                return Refusal(f"expected d{outer} and d{inner} alone in a dim, but one is not")
            if len(forms[0]) != len(forms[1]) or len(forms[0]) > 1:
                return Refusal(
                    f"expected each operand to be read by d{outer} and d{inner} or by neither, "
                    "but one is not"
                )
    return None


def is_whole(form: Affine, outer: int, inner: int, tile: int) -> bool:
    """Whether a dim is read by ``tile * outer + inner``, as by the one loop that both make."""
    step = form.coefficient(inner)
    return step != 0 and form.coefficient(outer) == tile * step


def _plain(index_map: IndexMap) -> Iterable[int]:
    return (form.dims[0] for form in index_map)
