"""Ops of one kind that read the same tensor, each with weights of its own, as one op.

    y_i = f(x, w_i)             ->   y = f(x, concat_i w_i),              y_i = slice_i(y)
    y_i = g(slice_i(x), b_i)    ->   y = g(x, concat_i b_i),              y_i = slice_i(y)

The first for contractions and convolutions: queries, keys and values of an attention block, gate
and up projections, branches of an Inception module. The second for the elementwise ops behind them.
Sound because a parallel loop's points do not look at each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from layoutopt.ir.affine import IndexMap, plain_map
from layoutopt.ir.backward_slice import computed_from
from layoutopt.ir.graph import (
    Concat,
    Fill,
    FromTensor,
    Graph,
    GraphBuilder,
    IteratorType,
    Slice,
    Structured,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import contraction_body
from layoutopt.ir.types import TensorType
from layoutopt.rules.rewrites.examples import counted
from layoutopt.rules.rewrites.window import convolution
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class Siblings:
    """Ops that are equal but for the size of one loop and the operands that it runs along."""

    matched: int
    """The op that was asked for."""
    places: tuple[int, ...]
    """The ops, in the order in which their results lie in that of the merged op."""
    ops: tuple[Structured, ...]
    loop: int
    axes: tuple[int | None, ...]
    """For each source the dim that the loop runs along, None where it does not."""
    sliced: dict[int, int]
    """Sources (by position) that are slices of one tensor, and that tensor."""
    constant: bool
    """Whether the others that the loop runs along are constants."""


def _siblings_example(constant: bool) -> Graph:
    """Two matmuls of x (tensor 0) with weights of three and of five columns."""
    builder = GraphBuilder()
    x = builder.tensor((2, 4), "f32")
    weights = [builder.tensor((4, n), "f32") for n in (3, 5)]
    results = [builder.tensor((2, n), "f32") for n in (3, 5)]
    parallel, reduction = IteratorType.PARALLEL, IteratorType.REDUCTION
    for w, n in zip(weights, (3, 5), strict=True) if constant else ():
        builder.add(counted(w, (4, n)))
    for w, y, n in zip(weights, results, (3, 5), strict=True):
        builder.add(
            Structured(
                (x, w), (Fill("0.0 : f32"),), (y,), (2, n, 4), (parallel, parallel, reduction),
                (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1))),
                contraction_body("f32", "f32", "f32"),
            )
        )  # fmt: skip
    return builder.build((x,) if constant else (x, *weights), results)


class MergeSiblings:
    """One op over weights side by side."""

    name = "merge-siblings"
    summary = "ops that read one tensor with weights of their own -> one op + slices of its result"
    argument = "each result element depends on its own point of the parallel loops alone"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(_siblings_example(constant=True), 2),
        Example(
            _siblings_example(constant=False),
            0,
            refusal="expected weights that are constants, but got some that are computed",
        ),
    )

    def match(self, graph: Graph, op: int) -> Siblings | None:
        """Two or more ops that could be one."""
        found = graph.ops[op]
        if not isinstance(found, Structured) or not _is_plain(found):
            return None
        window = convolution(graph, op)
        if window is not None and window.has_unit_filter:
            return None  # its contraction has siblings too
        families = (_family(graph, op, found, loop) for loop in range(len(found.domain)))
        return next((family for family in families if family is not None), None)

    def guard(self, match: Siblings) -> Refusal | None:
        """Weights that are laid side by side ahead of time."""
        if not match.constant:
            return Refusal("expected weights that are constants, but got some that are computed")
        return None

    def rewrite(self, graph: Graph, match: Siblings) -> Expression:
        """The merged op, and each result as a slice of its result."""
        first = match.ops[0]
        builder = GraphBuilder(len(graph.types))
        sources = list(first.sources)
        for position, axis in enumerate(match.axes):
            if position in match.sliced:
                sources[position] = match.sliced[position]
            elif axis is not None:
                parts = tuple(op.sources[position] for op in match.ops)
                kinds = [graph.types[part] for part in parts]
                joined = sum(kind.shape[axis] for kind in kinds)
                sources[position] = builder.tensor(_with(kinds[0], axis, joined), kinds[0].element)
                builder.add(Concat(parts, sources[position], axis))
        size = sum(op.domain[match.loop] for op in match.ops)
        out = _axis(first.result_maps[0], match.loop)
        kind = graph.types[first.results[0]]
        assert out is not None  # by the match
        whole = builder.tensor(_with(kind, out, size), kind.element)
        domain = tuple(size if d == match.loop else n for d, n in enumerate(first.domain))
        builder.add(replace(first, sources=tuple(sources), results=(whole,), domain=domain))
        offset, ones = 0, (1,) * len(kind.shape)
        slices: dict[int, Slice] = {}
        for place, op in zip(match.places, match.ops, strict=True):
            offsets = tuple(offset if d == out else 0 for d in range(len(ones)))
            slices[place] = Slice(whole, op.results[0], offsets, ones)
            offset += op.domain[match.loop]
        own = slices.pop(match.matched)
        for cut in (*slices.values(), own):
            builder.add(cut)
        return Expression(tuple(builder.types), tuple(builder.ops), replaces=match.places)


def _is_plain(op: Structured) -> bool:
    """Whether a part of the op's loops can be run by itself, from the same start."""
    started = any(isinstance(init, FromTensor) for init in op.inits)
    return len(op.results) == 1 and not started and not op.body.reads_index


def _family(graph: Graph, place: int, op: Structured, loop: int) -> Siblings | None:
    """The siblings of an op along one loop, itself among them."""
    if op.iterators[loop] is not IteratorType.PARALLEL or type(op.domain[loop]) is not int:
        return None
    axes = _axes(op, loop)
    if axes is None or all(axis is None for axis in axes):
        return None
    if op.is_contraction:
        shared = [s for s, axis in zip(op.sources, axes, strict=True) if axis is None]
        if not shared or shared[0] in graph.constants:
            return None
        same_kind = [c for c in graph.consumers[shared[0]] if _is_sibling(graph, c, op, loop)]
        places = _one_of_each(graph, place, same_kind)
        sliced: dict[int, int] = {}
    else:
        places, sliced = _behind_slices(graph, op, loop, axes)
    if len(places) < 2 or place not in places:
        return None
    ops = tuple(o for o in (graph.ops[p] for p in places) if isinstance(o, Structured))
    own = [
        o.sources[position]
        for o in ops
        for position, axis in enumerate(axes)
        if axis is not None and position not in sliced
    ]
    if any(_is_merged(graph, tensor) for tensor in own):
        return None  # already, or cut apart again
    return Siblings(
        place, tuple(places), ops, loop, axes, sliced, all(t in graph.constants for t in own)
    )


def _one_of_each(graph: Graph, place: int, places: Sequence[int]) -> list[int]:
    """Those of some ops whose weights are not made of one another's.

    Where they are, the ops are other ways to compute the same. Op ``place`` is among the ones that
    are left; where its weights are made of another's, others like that come first.
    """
    own = {p: {t for t in graph.ops[p].inputs if t in graph.constants} for p in places}
    made_of = {p: set().union(*(computed_from(graph, t) for t in own[p])) for p in places}

    def is_made_of(one: int, other: int) -> bool:
        return bool(own[other] & made_of[one])

    others = [p for p in places if not is_made_of(p, place) and not is_made_of(place, p)]
    if any(is_made_of(place, p) for p in places):
        return [p for p in others if not any(is_made_of(o, p) for o in others)]
    return [p for p in others if not any(is_made_of(p, o) for o in others)]


def _is_merged(graph: Graph, tensor: int) -> bool:
    """Whether a tensor is several side by side, or cut out of such, or of one that is computed."""
    for place in graph.producers[tensor]:
        op = graph.ops[place]
        if isinstance(op, Concat):
            return True
        if isinstance(op, Slice) and (
            tensor not in graph.constants or _is_merged(graph, op.source)
        ):
            return True
    return False


def _axes(op: Structured, loop: int) -> tuple[int | None, ...] | None:
    """For each source the dim that a loop runs along; None where it is no dim of its own."""
    if _axis(op.result_maps[0], loop) is None:
        return None
    used = [any(loop in form.dims for form in m) for m in op.source_maps]
    found = [_axis(m, loop) for m in op.source_maps]
    if any(axis is None and reads for axis, reads in zip(found, used, strict=True)):
        return None
    return tuple(found)


def _axis(forms: IndexMap, loop: int) -> int | None:
    """The dim that runs along a loop and along nothing else, where it is the only one that does."""
    running = [axis for axis, form in enumerate(forms) if loop in form.dims]
    if len(running) != 1 or forms[running[0]].plain_dim != loop:
        return None
    return running[0]


def _is_sibling(graph: Graph, place: int, op: Structured, loop: int) -> bool:
    """Whether another op is the same but for a loop's size and the operands that it runs along."""
    other = graph.ops[place]
    if not isinstance(other, Structured) or len(other.domain) != len(op.domain):
        return False
    axes = _axes(op, loop)
    assert axes is not None  # asked before
    if _common(graph, other, loop, axes) != _common(graph, op, loop, axes):
        return False
    return type(other.domain[loop]) is int


def _common(
    graph: Graph, op: Structured, loop: int, axes: tuple[int | None, ...]
) -> tuple[Structured, tuple[TensorType, ...]] | None:
    """What siblings have in common: the op without its own operands, and the types of these."""
    if len(op.sources) != len(axes):
        return None
    pairs = tuple(zip(op.sources, axes, strict=True))
    domain = tuple(0 if d == loop else n for d, n in enumerate(op.domain))
    shared = tuple(s if axis is None else -1 for s, axis in pairs)
    own = tuple((graph.types[s], axis) for s, axis in pairs if axis is not None)
    kinds = tuple(TensorType(_with(kind, axis, 0), kind.element) for kind, axis in own)
    result = TensorType((), graph.types[op.results[0]].element)
    return replace(op, sources=shared, results=(), domain=domain), (*kinds, result)


def _behind_slices(
    graph: Graph, op: Structured, loop: int, axes: tuple[int | None, ...]
) -> tuple[list[int], dict[int, int]]:
    """The siblings behind all slices of one tensor, in order; none where there are gaps."""

    def reads(place: int, position: int, part: int) -> bool:
        other = graph.ops[place]
        return _is_sibling(graph, place, op, loop) and other.inputs[position] == part

    for position, axis in enumerate(axes):
        if axis is None:
            continue
        for whole in _wholes(graph, op.sources[position]):
            parts = _parts(graph, whole, axis)
            if op.sources[position] not in parts:
                continue
            readers = [
                next((c for c in graph.consumers[part] if reads(c, position, part)), None)
                for part in parts
            ]
            places = [c for c in readers if c is not None]
            if len(places) == len(parts):
                return places, {position: whole}
    return [], {}


def _wholes(graph: Graph, part: int) -> Iterator[int]:
    """The tensors that one is a slice of."""
    for maker in graph.producers[part]:
        found = graph.ops[maker]
        if isinstance(found, Slice):
            yield found.source


def _parts(graph: Graph, whole: int, axis: int) -> list[int]:
    """The slices of a tensor along one dim, in order; none where they are not all of it, once."""
    kind = graph.types[whole]
    starts: dict[int, int] = {}
    for reader in graph.consumers[whole]:
        op = graph.ops[reader]
        if isinstance(op, Slice) and _is_along(graph, op, axis):
            starts[op.offsets[axis]] = op.result
    reached = 0
    for start in sorted(starts):
        if start != reached:
            return []
        reached += graph.types[starts[start]].shape[axis]
    return [starts[start] for start in sorted(starts)] if reached == kind.shape[axis] else []


def _is_along(graph: Graph, op: Slice, axis: int) -> bool:
    """Whether a slice has all of the other dims, and no strides."""
    whole, part = graph.types[op.source].shape, graph.types[op.result].shape
    cut = {d for d, (n, m) in enumerate(zip(whole, part, strict=True)) if n != m}
    known = all(type(n) is int for n in (*op.offsets, part[axis], whole[axis]))
    return known and cut == {axis} and all(stride == 1 for stride in op.strides)


def _with(kind: TensorType, axis: int, size: int) -> tuple[int, ...]:
    """A shape with another size along one dim."""
    return tuple(size if d == axis else n for d, n in enumerate(kind.shape))
