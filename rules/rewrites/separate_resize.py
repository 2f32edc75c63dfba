"""Resizing, one dim after another: by short filters where places come round, else by tables.

    y[P*m + p] = sum over t of k[p, t] * x[Q*m + t - low], where x goes on with its first and last
                 element beyond its ends
    y[h]       = sum over g of a_g[h] * x[p_g[h]]

An image that is resized along two dims by 4 elements at computed places is resized along each by 2.
Where places come round every P elements of the result, Q elements of what is read further on, they
are filters with P phases: multiplications of whole rows, which compilers vectorize, where elements
at computed places are read one by one. Elsewhere places and factors are constants. Sound because
the sum is one along each dim by itself (``separable_reads``); places and factors, worked out for
every element of a dim, are those of the filters, up to the rounding of the factors; what lies
beyond the ends is read at the ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.extensions.computed_reads import ComputedReads
from layoutopt.ir.graph import (
    Concat,
    Graph,
    GraphBuilder,
    IteratorType,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, pruned, scalar_constant
from layoutopt.ir.size import Size, symbol
from layoutopt.ir.types import TensorType
from layoutopt.rules.rewrites.resize_examples import linear_resize
from layoutopt.rules.rewrites.resize_filter import Filter, resize_filter
from layoutopt.rules.rewrites.separable_reads import (
    Axis,
    SeparableReads,
    factors_of,
    places_of,
    separable_reads,
    table,
)
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class Resize:
    """A resize, what it sums up, and the sizes before and after of each dim that it resizes."""

    op: ComputedReads
    reads: SeparableReads
    sizes: tuple[tuple[int, int], ...]


def _of_open_size() -> Graph:
    """Elements of an open number, read at the places of seven."""
    graph = linear_resize((2, 7), (2, 11))
    kinds = TensorType((2, symbol("s", 7, 9)), "f32"), graph.types[1]
    return replace(graph, types=kinds)


class SeparateResize:
    """Reads at computed places along several dims -> sums along one dim after another."""

    name = "separate-resize"
    summary = "resize along some dims -> one dim after another, by filters with phases or by tables"
    argument = "a sum of products along each dim; places and factors are compared one by one"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.APPROXIMATES
    canonicalizes = False
    examples = (
        Example(linear_resize((2, 5, 4), (2, 10, 8)), 0),
        Example(linear_resize((3, 4, 6), (3, 8, 3)), 0),
        Example(linear_resize((5, 2), (17, 2), corners=True), 0),
        Example(linear_resize((2, 6), (2, 9), element="f16"), 0),
        Example(linear_resize((2, 7, 4), (2, 11, 8), element="f16"), 0),
        Example(
            _of_open_size(),
            0,
            refusal="expected sizes that are known along each dim, but got s resized to 11",
        ),
    )

    def match(self, graph: Graph, op: int) -> Resize | None:
        """Reads at computed places that are sums along each dim by itself."""
        found = graph.ops[op]
        reads = separable_reads(found, graph.types) if isinstance(found, ComputedReads) else None
        if reads is None:
            return None
        assert isinstance(found, ComputedReads)  # it has reads
        shape, made = graph.types[reads.source].shape, graph.types[found.results[0]].shape
        sizes = tuple((shape[axis.dim], made[axis.dim]) for axis in reads.axes)
        return Resize(found, reads, sizes)

    def guard(self, match: Resize) -> Refusal | None:
        """Places that can be worked out."""
        for n, m in match.sizes:
            if isinstance(n, Size) or isinstance(m, Size):
                return Refusal(
                    f"expected sizes that are known along each dim, but got {n} resized to {m}"
                )
        return None

    def rewrite(self, graph: Graph, match: Resize) -> Expression:
        """What lies beyond the ends, then each dim by itself, those that grow most last."""
        writer = _Writer(graph, match)
        found = [
            (resize_filter(match.op, match.reads, i, *sizes), match.reads.axes[i], sizes)
            for i, sizes in enumerate(match.sizes)
        ]
        for own, *_ in found:
            if own is not None:
                writer.extend(own)
        found.sort(key=lambda one: (one[2][1] / one[2][0], -one[1].dim))
        for left, (own, axis, (_, made)) in zip(range(len(found))[::-1], found, strict=True):
            result = None if left else match.op.results[0]
            if own is not None:
                writer.filter(own, result)
            else:
                writer.look_up(axis, made, result)
        return Expression(tuple(writer.builder.types), tuple(writer.builder.ops), rounds=True)


class _Writer:
    """The ops of a resize, one after another."""

    def __init__(self, graph: Graph, match: Resize) -> None:
        self.builder = GraphBuilder(len(graph.types))
        self.op, self.element = match.op, match.reads.element
        self.image, self.kind = match.reads.source, graph.types[match.reads.source]
        self.wanted = graph.types[match.op.results[0]].element

    def extend(self, own: Filter) -> None:
        """Put the first and last elements of a dim beyond its ends."""
        size = self.kind.shape[own.dim]
        high = own.beyond(size)
        if not own.low + high:
            return
        parts = [self.image]
        if own.low:
            parts = [self._cut(own.dim, 0, 1, 1)] * own.low + parts
        if high:
            parts += [self._cut(own.dim, size - 1, 1, 1)] * high
        kind = self._resized(own.dim, own.low + size + high)
        self.image, self.kind = self.builder.tensor(kind.shape, kind.element), kind
        self.builder.add(Concat(tuple(parts), self.image, own.dim))

    def filter(self, own: Filter, result: int | None = None) -> None:
        """Sum up the taps along one dim. ``result``: the tensor to make, a new one without it."""
        dim, count = own.dim, len(own.phases)
        rows = [self._cut(dim, t, own.periods, own.step) for t in own.taps]
        factors = [tuple(phase[t] for phase in own.phases) for t in own.taps]
        tables = [self.builder.tensor((count,), self.element) for _ in factors if count > 1]
        for numbers, tensor in zip(factors, tables, strict=False):
            self.builder.add(table(_by_index(numbers, self.element), tensor, count))
        made = self.element if result is None else self.wanted
        body = _weighted((self.kind.element, self.element, made), factors, count > 1)
        shape = self.kind.shape
        kinds = [TensorType((*shape[:dim], own.periods, *shape[dim + 1 :]), made)]
        if count > 1:
            kinds = [TensorType((*shape[:dim], own.periods, count, *shape[dim + 1 :]), made)]
            kinds.append(TensorType((*shape[:dim], own.periods * count, *shape[dim + 1 :]), made))
        if own.periods * count > own.made:
            kinds.append(TensorType((*shape[:dim], own.made, *shape[dim + 1 :]), made))
        new = kinds if result is None else kinds[:-1]
        targets = [self.builder.tensor(kind.shape, kind.element) for kind in new]
        targets += [] if result is None else [result]
        rank = len(kinds[0].shape)
        row = plain_map(d for d in range(rank) if count == 1 or d != dim + 1)
        self.builder.add(
            Structured(
                (*rows, *tables), (Uninitialized(),), (targets[0],), kinds[0].shape,
                (IteratorType.PARALLEL,) * rank,
                (
                    *(row,) * len(rows), *(plain_map((dim + 1,)),) * len(tables),
                    identity_map(rank),
                ),
                body,
            )
        )  # fmt: skip
        if count > 1:
            self.builder.add(Reshape(targets[0], targets[1]))
        if own.periods * count > own.made:
            none = (0,) * len(shape)
            self.builder.add(Slice(targets[-2], targets[-1], none, (1,) * len(shape)))
        self.image, self.kind = targets[-1], kinds[-1]

    def look_up(self, axis: Axis, size: int, result: int | None = None) -> None:
        """Sum up the taps along one dim, at places that tables say."""
        bodies = [places_of(self.op, axis, tap) for tap in axis.taps]
        bodies += [factors_of(self.op, axis, tap, self.element) for tap in axis.taps]
        tables = [self.builder.tensor((size,), body.type_of(body.yields[0])) for body in bodies]
        for body, tensor in zip(bodies, tables, strict=True):
            self.builder.add(table(body, tensor, size))
        made = self.element if result is None else self.wanted
        kind = replace(self._resized(axis.dim, size), element=made)
        target = self.builder.tensor(kind.shape, made) if result is None else result
        elements = (self.kind.element, self.element, made)
        body = _looked_up(axis.dim, len(kind.shape), len(axis.taps), elements)
        maps = ((axis.dim,),) * len(tables)
        self.builder.add(ComputedReads((*tables, self.image), (target,), maps, body))
        self.image, self.kind = target, kind

    def _cut(self, dim: int, start: int, size: int, step: int) -> int:
        """Elements of the image along one dim."""
        if (start, size, step) == (0, self.kind.shape[dim], 1):
            return self.image
        kind = self._resized(dim, size)
        part = self.builder.tensor(kind.shape, kind.element)
        offsets, strides = [0] * len(kind.shape), [1] * len(kind.shape)
        offsets[dim], strides[dim] = start, step
        self.builder.add(Slice(self.image, part, tuple(offsets), tuple(strides)))
        return part

    def _resized(self, dim: int, size: int) -> TensorType:
        shape = self.kind.shape
        return TensorType((*shape[:dim], size, *shape[dim + 1 :]), self.kind.element)


def _text(number: float, element: str) -> ScalarOp:
    return scalar_constant(f"{number:.9e} : {element}", element)


def _by_index(numbers: Sequence[float], element: str) -> Body:
    """Yields the number at the place where the loop stands."""
    at = ScalarOp("linalg.index", (), "index", (("dim", "0"),))
    ops, chosen = [at, _text(numbers[0], element)], 1
    for place, number in enumerate(numbers[1:], 1):
        first = len(ops)
        ops += [
            scalar_constant(f"{place} : index", "index"),
            ScalarOp("arith.cmpi", (0, first), "i1", (("predicate", "0 : i64"),)),
            _text(number, element),
            ScalarOp("arith.select", (first + 1, first + 2, chosen), element),
        ]
        chosen = first + 3
    return Body((), tuple(ops), (chosen,))


def _looked_up(dim: int, rank: int, count: int, elements: tuple[str, str, str]) -> Body:
    """The sum of elements at the places of the first arguments along a dim, by the next ones."""
    read, element, made = elements
    arguments = (*("i64",) * count, *(element,) * count)
    ops: list[ScalarOp] = []

    def add(name: str, operands: tuple[int, ...], kind: str, *attributes: tuple[str, str]) -> int:
        ops.append(ScalarOp(name, operands, kind, attributes))
        return 2 * count + len(ops) - 1

    at = [add("linalg.index", (), "index", ("dim", str(d))) for d in range(rank)]
    total = None
    for tap in range(count):
        place = add("arith.index_cast", (tap,), "index")
        places = (*at[:dim], place, *at[dim + 1 :])
        value = add("tensor.extract", places, read, ("source", str(2 * count)))
        value = value if read == element else add("arith.extf", (value,), element)
        value = add("arith.mulf", (value, count + tap), element)
        total = value if total is None else add("arith.addf", (total, value), element)
    assert total is not None  # a dim has taps
    total = total if made == element else add("arith.truncf", (total,), made)
    return pruned(Body(arguments, tuple(ops), (total,)))


def _weighted(
    elements: tuple[str, str, str], factors: Sequence[Sequence[float]], given: bool
) -> Body:
    """The sum of the first arguments by factors, which are the next ones where ``given``.

    ``elements``: the types that are read, summed up in, and made.
    """
    read, element, made = elements
    count = len(factors)
    arguments = (*(read,) * count, *((element,) * count if given else ()), made)
    ops: list[ScalarOp] = []

    def add(op: ScalarOp) -> int:
        ops.append(op)
        return len(arguments) + len(ops) - 1

    total: int | None = None
    for tap, numbers in enumerate(factors):
        value = tap if read == element else add(ScalarOp("arith.extf", (tap,), element))
        if given or numbers[0] != 1.0:
            factor = count + tap if given else add(_text(numbers[0], element))
            value = add(ScalarOp("arith.mulf", (value, factor), element))
        total = value if total is None else add(ScalarOp("arith.addf", (total, value), element))
    assert total is not None  # a filter has taps
    if made != element:
        total = add(ScalarOp("arith.truncf", (total,), made))
    return Body(arguments, tuple(ops), (total,))
