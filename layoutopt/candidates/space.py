"""Which layouts each tensor may have: a small set, found by a fixed point over the graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from layoutopt.candidates.byte_panels import whole_depth
from layoutopt.candidates.egraph import EGraph
from layoutopt.candidates.packing.options import PackingOptions, packings
from layoutopt.candidates.packing.whole_rows import whole_rows
from layoutopt.candidates.packing.whole_subgroups import whole_subgroups
from layoutopt.candidates.packing.whole_vectors import whole_vectors
from layoutopt.candidates.partition import is_root, is_transpose
from layoutopt.candidates.preference import lhs_layouts, result_layouts, rhs_layouts
from layoutopt.candidates.whole_panels import in_whole_panels
from layoutopt.ir.canonical_layout import canonical
from layoutopt.ir.graph import Constant, FromTensor, Graph, Op, Opaque, Structured
from layoutopt.ir.layout import Layout, row_major, unfillable
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.types import TensorType
from layoutopt.rules.propagation import propagate


@dataclass(frozen=True, slots=True)
class LayoutSets:
    """``of[t]``: the layouts of tensor t, row-major first, then in order of discovery."""

    of: tuple[tuple[Layout, ...], ...]
    refusals: tuple[tuple[int, str], ...]
    """(op, reason) for each layout that could not pass through an op."""
    cut: tuple[int, ...] = ()
    """Tensors that had as many layouts as they may when more were found."""

    def allow(self, layouts: Mapping[int, Layout], tensors: Iterable[int]) -> bool:
        """Whether some tensors may have the layouts that they are assigned."""
        return all(layouts[t] in self.of[t] for t in tensors)


def layout_sets(egraph: EGraph, options: PackingOptions | None = None, most: int = 4) -> LayoutSets:
    """Seed with what contractions like and what makes transposes free, then let layouts pass on.

    ``options``: tiles that packed contractions may take. ``most`` bounds the set of each tensor;
    what comes later is left out.
    """
    graph, options = egraph.graph, options or PackingOptions()
    found: list[list[Layout]] = [[row_major(len(t.shape))] for t in graph.types]
    pending: deque[tuple[int, Layout]] = deque()
    refusals: dict[tuple[int, str], None] = {}
    cut: dict[int, None] = {}

    def offer(tensor: int, layout: Layout) -> None:
        kind = graph.types[tensor]
        layout = canonical(kind.shape, layout)
        if layout in found[tensor] or tensor in graph.constants:
            return
        if unfillable(kind, layout) is not None:
            return  # candidates in this layout are refused with the reason
        if len(found[tensor]) >= most:
            cut[tensor] = None
            return
        found[tensor].append(layout)
        pending.append((tensor, layout))

    inside = {i for ops in egraph.atomic for i in ops}
    for tensor, layout in _all_seeds(graph, inside, options):
        offer(tensor, layout)
    while pending:
        tensor, layout = pending.popleft()
        for index in dict.fromkeys((*graph.producers[tensor], *graph.consumers[tensor])):
            op = graph.ops[index]
            if (
                index in inside
                or isinstance(op, Constant | Opaque)
                or (isinstance(op, Structured) and op.is_contraction)
            ):
                continue
            if isinstance(op, Structured) and op.is_copy and is_root(op):
                continue  # an im2col copy: its two sides are chosen apart
            if isinstance(op, Structured) and any(
                isinstance(i, FromTensor) and i.tensor == tensor for i in op.inits
            ):
                continue
            layouts = propagate(op, graph.types, tensor, layout)
            if isinstance(layouts, Refusal):
                refusals[index, layouts.reason] = None
                continue
            for other, there in layouts.items():
                offer(other, there)
    return LayoutSets(tuple(map(tuple, found)), tuple(refusals), tuple(sorted(cut)))


def _all_seeds(
    graph: Graph, inside: set[int], options: PackingOptions
) -> Iterator[tuple[int, Layout]]:
    """What ops would like their tensors to be in; ``inside``: those priced as a whole."""
    for op in graph.ops:
        if is_transpose(op):
            yield from _unmoved(op, graph.types)
    for index, op in enumerate(graph.ops):
        if (
            isinstance(op, Structured)
            and op.is_contraction
            and op.results[0] not in graph.constants
            and index not in inside
        ):
            yield from _seeds(graph, index, options)
    for op in graph.ops if options.subgroup or options.lanes else ():
        if not isinstance(op, Structured) or not op.reduction_dims or op.is_contraction:
            continue
        if options.subgroup:
            yield from whole_subgroups(op, graph.types, options.subgroup)
        if options.lanes:
            yield from whole_vectors(op, graph.types, options.lanes)


def _seeds(graph: Graph, index: int, options: PackingOptions) -> Iterator[tuple[int, Layout]]:
    """What a contraction would like its tensors to be in.

    Where open rows need whole tiles, no other order of dims helps a kernel. Rows of whole subgroups
    are what reductions would like.
    """
    op = graph.ops[index]
    assert isinstance(op, Structured), "asked of contractions"
    tensors = (*op.sources, op.results[0])
    lhs, rhs, result = (graph.types[t] for t in tensors)
    if not (options.whole_rows and any(whole_rows(op, graph.types))):
        liked = (lhs_layouts(op, lhs), rhs_layouts(op, rhs), result_layouts(op, result))
        for tensor, layouts in zip(tensors, liked, strict=True):
            yield from ((tensor, layout) for layout in layouts)
        if op.sources[1] in graph.constants and options.panel is not None:
            for made in result_layouts(op, result):
                whole = in_whole_panels(op, result.element, made, options.panel)
                if whole is not None:
                    yield op.results[0], whole
        if op.sources[1] in graph.constants and options.bytes_in_panels and lhs.element == "i8":
            for read in lhs_layouts(op, lhs):
                deep = whole_depth(op, read)
                if deep is not None:
                    yield op.sources[0], deep
    constant, tiles = op.sources[1] in graph.constants, replace(options, subgroup=0)
    for packing in packings(op, graph.types, tiles, constant, graph.name_of(index)):
        yield from zip(tensors, (packing.lhs, packing.rhs, packing.result), strict=True)


def _unmoved(op: Op, types: tuple[TensorType, ...]) -> Iterator[tuple[int, Layout]]:
    """The layouts in which a transpose moves nothing, where its other side is row-major."""
    for tensor in (*op.inputs, *op.outputs):
        layouts = propagate(op, types, tensor, row_major(len(types[tensor].shape)))
        if not isinstance(layouts, Refusal):
            yield from layouts.items()
