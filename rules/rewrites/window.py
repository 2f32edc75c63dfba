"""What the convolution rewrites share: the sliding windows of a contraction's input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from layoutopt.ir.affine import Affine, IndexMap
from layoutopt.ir.graph import Graph, Op, Structured


@dataclass(frozen=True, slots=True)
class Window:
    """One image dim read as ``stride * image + dilation * filter``."""

    axis: int
    """Dim of the image tensor."""
    axis_size: int
    """Elements of the image along it; windows may leave some at the end."""
    image: int
    """Parallel loop over the output image."""
    filter: int
    """Reduction loop over the filter."""
    stride: int
    dilation: int


@dataclass(frozen=True, slots=True)
class Convolution:
    """A contraction whose first input is read through windows."""

    op: Structured
    windows: tuple[Window, ...]

    @property
    def image(self) -> int:
        """The tensor that is read through windows."""
        return self.op.sources[0]

    @property
    def has_unit_filter(self) -> bool:
        """Whether every window reads one element."""
        return all(self.filter_size(w) == 1 for w in self.windows)

    def filter_size(self, window: Window) -> int:
        """Filter elements along one window."""
        return self.op.domain[window.filter]

    def image_size(self, window: Window) -> int:
        """Output elements along one window."""
        return self.op.domain[window.image]


def convolution(graph: Graph, index: int) -> Convolution | None:
    """The windows of op ``index``, None where it is not a convolution with a plain filter."""
    return convolution_of(graph, graph.ops[index])


def convolution_of(graph: Graph, op: Op) -> Convolution | None:
    """The windows of an op, None where it is not a convolution with a plain filter.

    Each loop occurs once in each map: a window has loops of its own, and no operand is read along
    a diagonal. The filter is read along every window.
    """
    if not isinstance(op, Structured) or not op.is_contraction or op.body.reads_index:
        return None
    read = [[d for form in m for d in form.dims] for m in op.maps]
    if any(len({*loops}) < len(loops) for loops in read):
        return None
    windows: list[Window] = []
    for axis, form in enumerate(op.source_maps[0]):
        if form.plain_dim is not None:
            continue
        found = _window(op, axis, graph.types[op.sources[0]].shape[axis], form)
        if found is None:
            return None
        windows.append(found)
    others = (*op.source_maps[1], *op.result_maps[0])
    if not windows or any(form.plain_dim is None for form in others):
        return None
    if any(w.filter not in read[1] for w in windows):
        return None
    return Convolution(op, tuple(windows))


def _window(op: Structured, axis: int, size: int, form: Affine) -> Window | None:
    reduced = [d for d in form.dims if d in op.reduction_dims]
    moving = [d for d in form.dims if d not in op.reduction_dims]
    if form.offset or len(reduced) != 1 or len(moving) != 1:
        return None
    stride, dilation = form.coefficient(moving[0]), form.coefficient(reduced[0])
    if stride < 1 or dilation < 1:
        return None
    return Window(axis, size, moving[0], reduced[0], stride, dilation)


def read_instead(found: Convolution, replaced: Mapping[int, IndexMap]) -> IndexMap:
    """The image's map with each window axis replaced by other forms."""
    forms: list[Affine] = []
    for axis, form in enumerate(found.op.source_maps[0]):
        forms += replaced.get(axis, (form,))
    return tuple(forms)
