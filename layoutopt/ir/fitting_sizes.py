"""Sizes that go together: what is planned for has to be something that the model can run at.

    t: tensor<d>, u = t[1 : d - 4]; v = expand(w: tensor<e>) to <8 s, 1>

says that d is 5 at least, and that e is 8 s. Symbols of different arguments are different, so
that what is planned for each of them by default may contradict what ops do with them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from layoutopt.ir.concrete import concrete
from layoutopt.ir.graph import Concat, Graph, Insert, Op, Pad, Reshape, Scatter, Slice, Structured
from layoutopt.ir.ops import kind_name
from layoutopt.ir.planned_sizes import divided, open_sizes
from layoutopt.ir.size import Symbol, at, symbols
from layoutopt.ir.types import TensorType

_LARGEST = 1 << 12
"""Powers of two up to this are tried."""


def fitting_sizes(graph: Graph, fixed: Collection[str] = ()) -> dict[str, int]:
    """By name, the sizes to plan for where those planned for contradict each other.

    ``fixed``: names of those that stay. Empty too where no sizes are found that go together.
    """
    of = {symbol.name: divided(symbol) for symbol in open_sizes(graph)}
    values = going_together(graph, {}, [s for s, (name, _) in of.items() if name in fixed]) or {}
    return {of[symbol][0]: n * of[symbol][1] for symbol, n in values.items()}


def going_together(
    graph: Graph, values: Mapping[str, int], fixed: Collection[str] = ()
) -> dict[str, int] | None:
    """Values of symbols, some of them others than those given; None where none are found.

    ``fixed``: names of symbols that stay as they are.
    """
    found, staying = dict(values), set(fixed)
    place = _first_misfit(graph, found)
    while place is not None:
        mended = _mended(graph, place, found, staying)
        if mended is None:
            return None
        name, n = mended
        found[name] = n
        staying.add(name)
        place = _first_misfit(graph, found)
    return found


def misfit(graph: Graph) -> str:
    """What contradicts what in a graph of known sizes; empty where all goes together."""
    found = (_misfit(op, graph.types) for op in graph.ops)
    return next(filter(None, found), "")


def _first_misfit(graph: Graph, values: Mapping[str, int]) -> int | None:
    if not open_sizes(graph):
        return None
    known = concrete(graph, values)
    return next((i for i, op in enumerate(known.ops) if _misfit(op, known.types)), None)


def _mended(
    graph: Graph, place: int, values: Mapping[str, int], staying: Collection[str]
) -> tuple[str, int] | None:
    """A symbol and a value of it at which an op no longer is the first misfit; None without any."""
    op = graph.ops[place]
    shapes = [graph.types[t].shape for t in (*op.inputs, *op.outputs)]
    around = {at(n, values) for shape in shapes for n in shape}
    around |= {math.prod(at(n, values) for n in shape) for shape in shapes}
    around |= {1 << power for power in range(_LARGEST.bit_length())}
    for symbol in sorted({s for shape in shapes for n in shape for s in symbols(n)}):
        if symbol.name in staying:
            continue
        _, divisor = divided(symbol)
        for n in _within(symbol, (total // divisor for total in around)):
            later = _first_misfit(graph, {**values, symbol.name: n})
            if later is None or later > place:
                return symbol.name, n
    return None


def _within(symbol: Symbol, numbers: Iterable[int]) -> list[int]:
    """Those that the symbol can be, the nearest to what is planned for first."""
    found = {n for n in numbers if max(symbol.low, 1) <= n <= symbol.high}
    return sorted(found, key=lambda n: (abs(math.log(n / max(1, symbol.planned))), n))


def _misfit(op: Op, types: tuple[TensorType, ...]) -> str:
    """What contradicts what in an op of known sizes."""
    for t in (*op.inputs, *op.outputs):
        if any(n < 0 for n in types[t].shape):
            return f"a {kind_name(op)} of {types[t]}"
    return next((f"a {kind_name(op)} {said}" for said in _contradictions(op, types)), "")


def _contradictions(op: Op, types: tuple[TensorType, ...]) -> Iterator[str]:
    if isinstance(op, Structured):
        yield from _outside(op, types)
    elif isinstance(op, Reshape):
        source, result = types[op.source], types[op.result]
        if source.elements != result.elements:
            yield f"from {source} to {result}"
    elif isinstance(op, Slice):
        yield from _beyond(op.offsets, op.strides, types[op.result], types[op.source])
    elif isinstance(op, Insert):
        yield from _beyond(op.offsets, op.strides, types[op.source], types[op.destination])
    elif isinstance(op, Scatter):
        for t, offsets in zip(op.sources, op.offsets, strict=True):
            yield from _beyond(offsets, op.strides, types[t], types[op.result])
    elif isinstance(op, Pad):
        padded = zip(op.low, types[op.source].shape, op.high, strict=True)
        if tuple(map(sum, padded)) != types[op.result].shape:
            yield f"of {types[op.source]} to {types[op.result]}"
    elif isinstance(op, Concat):
        along = sum(types[t].shape[op.axis] for t in op.sources)
        if along != types[op.result].shape[op.axis]:
            yield f"of {along} along one dim to {types[op.result]}"


def _outside(op: Structured, types: tuple[TensorType, ...]) -> Iterator[str]:
    """Where an op reads or writes outside of a tensor."""
    if 0 in op.domain:
        return
    for t, index_map in zip((*op.sources, *op.results), op.maps, strict=True):
        for n, form in zip(types[t].shape, index_map, strict=True):
            steps = [c * (op.domain[d] - 1) for d, c in form.terms]
            last = form.offset + sum(step for step in steps if step > 0)
            short = form.plain_dim is not None and op.domain[form.plain_dim] != n
            if last >= n or short:
                yield f"over {'x'.join(map(str, op.domain))} with {types[t]}"


def _beyond(
    offsets: Sequence[int], strides: Sequence[int], part: TensorType, whole: TensorType
) -> Iterator[str]:
    ends = _ends(offsets, part.shape, strides)
    if any(end > n for end, n in zip(ends, whole.shape, strict=True)):
        yield f"of {part} at {list(offsets)} with {whole}"


def _ends(offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> list[int]:
    triples = zip(offsets, sizes, strides, strict=True)
    return [o + (n - 1) * s + 1 if n else o for o, n, s in triples]
