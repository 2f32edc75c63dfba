"""The parts of an attention: from a product with values back to queries and keys.

Exporters write attention as its parts, with casts, reshapes of the dims ahead of the last two, a
mask that is added, and zeros in the place of what is not a number (rows that a mask leaves nothing
of) between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from layoutopt.ir.affine import IndexMap, identity_map
from layoutopt.ir.extensions.softmax import Softmax
from layoutopt.ir.graph import Fill, Graph, Op, Reshape, Structured
from layoutopt.ir.scalar import ScalarOp
from layoutopt.rules.rewrites.interior_padding import is_zero
from layoutopt.rules.rewrites.product import Loops, Product, made_by_product, product_of

_FURTHEST = 8
"""Ops from the softmax to either product at most."""
_CASTS = ("arith.truncf", "arith.extf")
_NOT_EQUAL = ("13", "14")
"""Predicates of ``arith.cmpf`` that hold for a value and itself where it is not a number."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What a softmax is taken of: products of queries and keys, scaled, with a mask."""

    product: Product
    shape: tuple[int, ...]
    """As the mask sees them."""
    mask: int | None = None
    mask_map: IndexMap = ()
    scale: str = "1.0"


@dataclass(frozen=True, slots=True)
class AttentionParts:
    """All that an attention is made of; dims of batches come first in every factor."""

    scores: Scores
    weighted: Product
    """Shares times values."""
    value: int
    elements: tuple[str, str, str, str]
    """The element types of queries, keys, values, and of the mask; that is empty without one."""
    orders: tuple[str, str, str, str]
    """Of the last two dims of queries, keys, values and results: ``m``, ``n``, ``k``, ``l``, the
    loops of rows, columns, the inner products and the softmax."""
    not_a_number: ScalarOp | None = None
    """How shares are found not to be a number, where zeros stand for those."""


def attention_parts(graph: Graph, op: Op) -> AttentionParts | None:
    """The attention that ends with a product; None where it does not."""
    weighted = product_of(op)
    if weighted is None or not weighted.starts_from_zero(graph):
        return None
    for place in (0, 1):
        found = _from_shares(graph, weighted, place)
        if found is not None:
            return found
    return None


def _from_shares(graph: Graph, weighted: Product, place: int) -> AttentionParts | None:
    shares, values = weighted.loops[place], weighted.loops[1 - place]
    batch = shares[:-2]
    if len(shares) < 2 or weighted.op.reduction_dims != (shares[-1],):
        return None
    ours = {shares[-2]: "m", shares[-1]: "l"}
    value_order = _order(values, batch, dict.fromkeys(weighted.loops[2], "n") | ours, "ln")
    result_order = _order(weighted.loops[2], batch, dict.fromkeys(values, "n") | ours, "mn")
    if value_order is None or result_order is None:
        return None
    tensor, test = weighted.factors[place], None
    for _ in range(_FURTHEST):
        source = _softmax_of(graph, tensor)
        if source is not None:
            return _with_scores(
                graph, weighted, weighted.factors[1 - place], source,
                (value_order, result_order), test,
            )  # fmt: skip
        step = next(_moved(graph, tensor), None)
        if step is None:
            guarded = next(_numbers_of(graph, tensor), None) if test is None else None
            if guarded is None:
                return None
            step, test = guarded
        tensor = step
    return None


def _with_scores(
    graph: Graph,
    weighted: Product,
    value: int,
    source: int,
    orders: tuple[str, str],
    test: ScalarOp | None,
) -> AttentionParts | None:
    scores = _scores(graph, source)
    if scores is None:
        return None
    first, second, result = scores.product.loops
    batch, (row, column) = result[:-2], result[-2:]
    named = {row: "m", column: "l"}
    named |= dict.fromkeys(scores.product.op.reduction_dims, "k")
    for query, key in ((0, 1), (1, 0)):
        loops = (first, second)
        query_order = _order(loops[query], batch, named, "mk")
        key_order = _order(loops[key], batch, named, "lk")
        if query_order is None or key_order is None:
            continue
        product = scores.product
        if query == 1:
            turned = (product.loops[1], product.loops[0], product.loops[2])
            op = replace(product.op, sources=product.op.sources[::-1])
            product = Product(op, turned, product.sizes)
        tensors = (*product.factors, value)
        kinds = [graph.types[t].element for t in tensors]
        mask = "" if scores.mask is None else graph.types[scores.mask].element
        return AttentionParts(
            replace(scores, product=product),
            weighted,
            value,
            (kinds[0], kinds[1], kinds[2], mask),
            (query_order, key_order, *orders),
            test,
        )
    return None


def _order(own: Loops, batch: Loops, named: dict[int, str], expected: str) -> str | None:
    """The last two loops by name, where those of batches come first; None where they do not."""
    if own[:-2] != batch or len(own) < 2:
        return None
    found = "".join(named.get(loop, "?") for loop in own[-2:])
    return found if sorted(found) == sorted(expected) else None


def _scores(graph: Graph, source: int) -> Scores | None:
    """From what a softmax is taken of back to the product."""
    tensor, mask, scale = source, None, None
    for _ in range(_FURTHEST):
        product = made_by_product(graph, tensor)
        if product is not None and len(product.loops[2]) >= 2:
            shape = graph.types[tensor if mask is None else mask.op.results[0]].shape
            if mask is None:
                return Scores(product, shape, scale=scale or "1.0")
            return Scores(product, shape, mask.other, mask.map, scale or "1.0")
        step = next(_moved(graph, tensor), None)
        if step is None and scale is None:
            scaled = next(_scaled(graph, tensor), None)
            if scaled is not None:
                step, scale = scaled
        if step is None and scale is None and mask is None:
            mask = next(_masked(graph, tensor), None)
            step = None if mask is None else mask.scores
        if step is None:
            return None
        tensor = step
    return None


@dataclass(frozen=True, slots=True)
class _Masked:
    op: Structured
    scores: int
    other: int
    map: IndexMap


def _makers(graph: Graph, tensor: int) -> Iterator[Op]:
    return (graph.ops[maker] for maker in graph.producers[tensor])


def _pointwise(graph: Graph, tensor: int, sources: int) -> Iterator[Structured]:
    """Ops that make each point of a tensor by itself."""
    for op in _makers(graph, tensor):
        if isinstance(op, Structured) and op.is_elementwise and len(op.results) == 1:
            whole = identity_map(len(op.domain))
            if len(op.sources) == sources and op.maps[-1] == whole and not op.body.reads_index:
                yield op


def _same_points(op: Structured, place: int) -> bool:
    return op.maps[place] == identity_map(len(op.domain))


def _named(op: Structured, name: str, operands: tuple[int, ...]) -> bool:
    """Whether a body is one op of some arguments."""
    body = op.body
    return (
        len(body.ops) == 1
        and (body.ops[0].name, body.ops[0].operands) == (name, operands)
        and body.yields == (len(body.arguments),)
    )


def _moved(graph: Graph, tensor: int) -> Iterator[int]:
    """What a tensor is made of by a cast, or by a reshape that leaves the last two dims alone."""
    shape = graph.types[tensor].shape
    for op in _makers(graph, tensor):
        if isinstance(op, Reshape) and graph.types[op.source].shape[-2:] == shape[-2:]:
            yield op.source
    for op in _pointwise(graph, tensor, 1):
        if _same_points(op, 0) and any(_named(op, cast, (0,)) for cast in _CASTS):
            yield op.sources[0]


def _scaled(graph: Graph, tensor: int) -> Iterator[tuple[int, str]]:
    """What a tensor is a multiple of, and the factor."""
    for op in _pointwise(graph, tensor, 1):
        ops = op.body.ops
        if len(ops) == 2 and _same_points(op, 0) and op.body.yields == (3,):
            factor, times = ops
            if factor.name == "arith.constant" and (times.name, times.operands) == (
                "arith.mulf",
                (0, 2),
            ):
                number = factor.attribute("value").split(":")[0].strip()
                if not number.startswith("0x"):  # infinite, or not a number
                    yield op.sources[0], number


def _masked(graph: Graph, tensor: int) -> Iterator[_Masked]:
    """Scores, and what is added to them."""
    for op in _pointwise(graph, tensor, 2):
        if not _named(op, "arith.addf", (0, 1)):
            continue
        for place in (0, 1):
            other = 1 - place
            shape, forms = graph.types[op.sources[other]].shape, op.maps[other]
            whole = all(form.terms or size == 1 for form, size in zip(forms, shape, strict=True))
            if _same_points(op, place) and whole:
                yield _Masked(op, op.sources[place], op.sources[other], forms)


def _numbers_of(graph: Graph, tensor: int) -> Iterator[tuple[int, ScalarOp]]:
    """What a tensor is where that is a number, and how it is told; it is zero elsewhere."""
    for op in _pointwise(graph, tensor, 3):
        if not _named(op, "arith.select", (0, 1, 2)) or not _same_points(op, 2):
            continue
        told, zero, kept = op.sources
        element = graph.types[kept].element
        if graph.types[zero].shape or not is_zero(graph.splats.get(zero, ""), element):
            continue
        for test in _pointwise(graph, told, 2):
            first = test.body.ops[0] if len(test.body.ops) == 1 else None
            if first is None or not _named(test, "arith.cmpf", (0, 1)):
                continue
            unequal = first.attribute("predicate").split(":")[0].strip() in _NOT_EQUAL
            same = test.sources == (kept, kept) and _same_points(test, 0) and _same_points(test, 1)
            if unequal and same and _same_points(op, 0):
                yield kept, first


def _softmax_of(graph: Graph, tensor: int) -> int | None:
    """What a tensor is the softmax of, along its last dim; None where it is none.

    exp(x - c) / sum(exp(x - c)) is that for every c that is the same along the dim.
    """
    last = len(graph.types[tensor].shape) - 1
    for op in _makers(graph, tensor):
        if isinstance(op, Softmax) and op.dim == last:
            return op.sources[0]
    for op in _pointwise(graph, tensor, 2):
        raised, total = op.sources
        if not _named(op, "arith.divf", (0, 1)) or not _same_points(op, 0):
            continue
        if _reads(op.maps[1], last) or not _sums(graph, total, raised, last):
            continue
        for power in _pointwise(graph, raised, 1):
            if not _named(power, "math.exp", (0,)) or not _same_points(power, 0):
                continue
            for less in _pointwise(graph, power.sources[0], 2):
                apart = _same_points(less, 0) and not _reads(less.maps[1], last)
                if apart and _named(less, "arith.subf", (0, 1)):
                    return less.sources[0]
    return None


def _reads(index_map: IndexMap, loop: int) -> bool:
    return any(loop in form.dims for form in index_map)


def _sums(graph: Graph, total: int, raised: int, last: int) -> bool:
    """Whether a tensor holds the sums of another one along its last dim."""
    for op in _makers(graph, total):
        if isinstance(op, Reshape):
            shapes = [graph.types[t].shape for t in (op.source, total)]
            same = [size for size in shapes[0] if size != 1] == [s for s in shapes[1] if s != 1]
            if same and _sums(graph, op.source, raised, last):
                return True
        elif (
            isinstance(op, Structured)
            and op.sources == (raised,)
            and op.reduction_dims == (last,)
            and _same_points(op, 0)
            and _named(op, "arith.addf", (0, 1))
        ):
            init = op.inits[0]
            element = graph.types[total].element
            return isinstance(init, Fill) and is_zero(init.value, element)
    return False
