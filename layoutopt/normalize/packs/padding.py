"""What an op makes of padding: which loops may leave it out, and what it holds behind the op."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from layoutopt.ir.graph import Fill, Graph, IteratorType, Structured, Uninitialized
from layoutopt.ir.neutral import neutral
from layoutopt.ir.scalar import Body, is_reassociable, pruned
from layoutopt.ir.types import Array, TensorType, integer_bits, is_float
from layoutopt.normalize.packs.packed_operands import Known
from layoutopt.normalize.packs.untiled import Tiles
from layoutopt.oracle import OracleError, evaluate
from layoutopt.oracle.constant import constant
from layoutopt.rules.rewrites.interior_padding import is_same, is_zero
from layoutopt.rules.rule import Exactness

_WEAKER = (Exactness.BIT_EXACT, Exactness.REASSOCIATES, Exactness.ASSUMES_FINITE)


def weakest(found: Iterable[Exactness]) -> Exactness:
    """The exactness of several steps together."""
    return max(found, key=_WEAKER.index, default=Exactness.BIT_EXACT)


def own_size(tiles: Tiles, known: Known, outer: int) -> int | None:
    """The size without padding that packs say a loop has; None where they do not agree."""
    sizes = {
        operand.shape[_logical_dim(tiles, place, outer)]
        for place, operand in known.items()
        if operand.shape is not None and outer in tiles.tiled(place)
    }
    return next(iter(sizes)) if len(sizes) == 1 else None


def reduced_without_padding(tiles: Tiles, known: Known, outer: int) -> Exactness | None:
    """How exact it is to leave the padding of a reduction loop out; None where it says something.

    ``known``: what packs fill the operands up with.
    """
    op = tiles.op
    acc = op.body.arguments[-1]
    padded = [
        p
        for p, operand in known.items()
        if p < len(op.sources) and operand.padding is not None and outer in tiles.tiled(p)
    ]
    if op.is_contraction:
        zeros = [p for p in padded if is_zero(known[p].padding or "", op.body.arguments[p])]
        if not zeros:
            return None
        both = len(padded) == len(op.sources) and len(zeros) == len(padded)
        exact = Exactness.REASSOCIATES if both else Exactness.ASSUMES_FINITE
        return exact if is_float(acc) else Exactness.BIT_EXACT
    if len(padded) < len(op.sources) or not is_reassociable(op.body, len(op.results)):
        return None
    values = [known[p].padding or "" for p in range(len(op.sources))]
    for yielded, element in zip(op.body.yields, op.body.arguments[len(op.sources) :], strict=True):
        fold = op.body.op_of(yielded)
        assert fold is not None
        accumulators = range(len(op.sources), len(op.body.arguments))
        (term,) = (v for v in fold.operands if v not in accumulators)
        held, nothing = value_of(op, values, term), neutral(fold.name, element)
        if held is None or nothing is None or not is_same(held, nothing, element):
            return None
    return Exactness.REASSOCIATES if is_float(acc) else Exactness.BIT_EXACT


def padding_behind(tiles: Tiles, known: Known, splats: dict[int, str]) -> str | None:
    """The one value that the padding of the result holds, as MLIR text; None where there is none.

    Zeros as factors make it what a contraction starts from.
    """
    op = tiles.op
    parallel = [o for o in tiles.padded if op.iterators[o] is IteratorType.PARALLEL]

    def filled(place: int, loops: Sequence[int]) -> str | None:
        if op.sources[place] in splats:
            return splats[op.sources[place]]
        if place not in known or not {*loops} <= {*tiles.tiled(place)}:
            return None
        return known[place].padding

    if op.is_contraction:
        (init,) = op.inits
        zero = all(
            any(
                is_zero(filled(p, (o,)) or "", op.body.arguments[p]) for p in range(len(op.sources))
            )
            for o in parallel
        )
        return init.value if zero and isinstance(init, Fill) else None
    values = [filled(p, parallel) for p in range(len(op.sources))]
    if op.reduction_dims or len(op.results) != 1 or not isinstance(op.inits[0], Uninitialized):
        return None
    if any(v is None for v in values):
        return None
    return value_of(op, [v or "" for v in values], op.body.yields[0])


def value_of(op: Structured, values: Sequence[str], wanted: int) -> str | None:
    """A value of the body, given all inputs, as MLIR text; None where it is not known."""
    kinds = op.body.arguments[: len(op.sources)]
    element = op.body.type_of(wanted)
    numbers = [constant(v, e) for v, e in zip(values, kinds, strict=True)]
    body = _of_inputs(op.body, len(kinds), wanted)
    if body.reads_index:
        return None
    count = len(kinds)
    here = replace(
        op,
        sources=tuple(range(count)),
        inits=(Uninitialized(),),
        results=(count,),
        domain=(),
        iterators=(),
        maps=((),) * (count + 1),
        body=body,
    )
    types = tuple(TensorType((), e) for e in (*kinds, element))
    graph = Graph(types, (here,), tuple(range(count)), (count,))
    try:
        given = {i: n for i, n in enumerate(numbers) if n is not None}
        found = evaluate(graph, given)[count] if len(given) == count else None
    except OracleError:
        return None
    return None if found is None else _text(found, element)


def _of_inputs(body: Body, count: int, wanted: int) -> Body:
    """What makes one value, which no accumulator has a part in, as a body with one result."""
    needed = pruned(replace(body, yields=(wanted,)))
    gone = len(body.arguments) - count - 1

    def moved(value: int) -> int:
        return value if value < count else value - gone

    ops = tuple(replace(o, operands=tuple(map(moved, o.operands))) for o in needed.ops)
    arguments = (*body.arguments[:count], body.type_of(wanted))
    return Body(arguments, ops, tuple(map(moved, needed.yields)))


def _text(value: Array, element: str) -> str | None:
    if is_float(element):
        return f"0x{value.tobytes()[::-1].hex().upper()} : {element}"
    if element == "i1":
        return "true" if value else "false"
    return None if integer_bits(element) is None else f"{int(value)} : {element}"


def _logical_dim(tiles: Tiles, place: int, outer: int) -> int:
    """The logical dim of an operand that a pair reads."""
    at = next(i for i, f in enumerate(tiles.op.maps[place]) if f.plain_dim == outer)
    return tiles.layouts[place].outer_dims_perm[at]
