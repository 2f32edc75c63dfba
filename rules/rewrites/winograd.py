"""A convolution as few multiplications of transformed tiles (Winograd's minimal filtering).

Each tile of the output reads a tile of the image. Both tiles and the filter are transformed along
every window (see ``toom_cook``); in the transformed space the convolution is one contraction over
the channels for each element of a tile, and these share nothing. Constant filters are
transformed ahead of time.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from layoutopt.compiler.installed import quirks
from layoutopt.ir.affine import IndexMap, affine, dim, identity_map, plain_map
from layoutopt.ir.graph import (
    Graph,
    GraphBuilder,
    IteratorType,
    Pad,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.minimal_filtering import Matrix
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites.examples import convolution_example, depthwise_example
from layoutopt.rules.rewrites.interior_padding import zero_pad
from layoutopt.rules.rewrites.separable import (
    Index,
    elements_read,
    paired_rows,
    selection_body,
    separable,
)
from layoutopt.rules.rewrites.short_convolution import Tiling, refusal_of, tiling
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

Source = Callable[[Index], tuple[int, IndexMap]]


class _Rewriting:
    def __init__(self, graph: Graph, match: Tiling) -> None:
        self.graph = graph
        self.found = match.convolution
        self.forms = match.forms
        self.op = match.convolution.op
        self.element = match.elements[0]
        self.builder = GraphBuilder(len(graph.types))
        self.indices = list(itertools.product(*(range(f.products) for f in match.forms)))
        self.place = {w.axis: p for p, w in enumerate(self.found.windows)}
        """The number of the window along each axis of the image that has one."""
        self.tiles = {w.image: n for w, n in zip(self.found.windows, match.tiles, strict=True)}
        """Tiles along each loop over the output image."""

    def run(self) -> Expression:
        images = self._images()
        filters = self._filters()
        products = {i: self._product(images[i], filters[i]) for i in self.indices}
        self._side_by_side(self._outputs(products))
        exact = all(f.is_dyadic for f in self.forms)
        return Expression(
            tuple(self.builder.types), tuple(self.builder.ops), rounds=not exact, atomic=True
        )

    def _images(self) -> dict[Index, int]:
        """B^T d: element i of every tile of the image, over the number of the tile."""
        image = self._wide_enough()
        windows = self.found.windows
        shape = tuple(
            self.tiles[windows[self.place[axis]].image] if axis in self.place else size
            for axis, size in enumerate(self.graph.types[self.found.image].shape)
        )

        def source(offset: Index) -> tuple[int, IndexMap]:
            return image, tuple(
                affine([(axis, self.forms[p].tile)], offset[p]) if p is not None else dim(axis)
                for axis, p in ((axis, self.place.get(axis)) for axis in range(len(shape)))
            )

        return self._transformed(tuple(f.inputs for f in self.forms), source, shape)

    def _wide_enough(self) -> int:
        """The image with zeros behind it, so that the last tile along each window is whole."""
        shape = self.graph.types[self.found.image].shape
        reach = list(shape)
        for w, form in zip(self.found.windows, self.forms, strict=True):
            whole = self.tiles[w.image] * form.tile + form.taps - 1
            # a window of one tap reads a plain loop, whose size linalg takes from the tensor
            reach[w.axis] = whole if form.products == 1 else max(whole, w.axis_size)
        image = self.found.image
        lacking = [max(0, a - b) for a, b in zip(reach, shape, strict=True)]
        if any(lacking):
            wide = self.builder.tensor(map(operator.add, shape, lacking), self.element)
            none = (0,) * len(shape)
            pad = zero_pad(self.graph, image) or Pad(
                image, wide, none, none, f"0.0 : {self.element}"
            )
            high = tuple(map(operator.add, pad.high, lacking))
            self.builder.add(replace(pad, result=wide, high=high))
            image = wide
        if any(a < b for a, b in zip(reach, shape, strict=True)):
            cut = self.builder.tensor(reach, self.element)
            self.builder.add(Slice(image, cut, (0,) * len(shape), (1,) * len(shape)))
            image = cut
        return image

    def _filters(self) -> dict[Index, int]:
        """G g: element i of every transformed filter."""
        forms = self.op.source_maps[1]
        window = {w.filter: p for p, w in enumerate(self.found.windows)}
        axes = [axis for axis, form in enumerate(forms) if form.dims[0] not in window]
        shape = tuple(self.graph.types[self.op.sources[1]].shape[axis] for axis in axes)

        def source(tap: Index) -> tuple[int, IndexMap]:
            return self.op.sources[1], tuple(
                affine([], tap[window[form.dims[0]]])
                if form.dims[0] in window
                else dim(axes.index(axis))
                for axis, form in enumerate(forms)
            )

        most = None if quirks().limits.transposes_results_of_several else 1
        return self._transformed(tuple(f.filters for f in self.forms), source, shape, most)

    def _product(self, image: int, weight: int) -> int:
        """The contraction over the channels for one element of all tiles."""
        op = self.op
        gone = {w.filter for w in self.found.windows}
        kept = [d for d in range(len(op.domain)) if d not in gone]
        number = {d: i for i, d in enumerate(kept)}
        image_map = (
            dim(number[self.found.windows[self.place[axis]].image])
            if axis in self.place
            else form.renamed(number)
            for axis, form in enumerate(op.source_maps[0])
        )
        weight_map = (f.renamed(number) for f in op.source_maps[1] if f.dims[0] not in gone)
        result_map = (f.renamed(number) for f in op.result_maps[0])
        result = self.builder.tensor(self._result_tiles(), self.element)
        self.builder.add(
            replace(
                op,
                sources=(image, weight),
                results=(result,),
                domain=tuple(self.tiles.get(d, op.domain[d]) for d in kept),
                iterators=tuple(op.iterators[d] for d in kept),
                maps=(tuple(image_map), tuple(weight_map), tuple(result_map)),
            )
        )
        return result

    def _result_tiles(self) -> tuple[int, ...]:
        """The shape of the result with one element for each tile."""
        loops = [form.dims[0] for form in self.op.result_maps[0]]
        return tuple(self.tiles.get(d, self.op.domain[d]) for d in loops)

    def _outputs(self, products: dict[Index, int]) -> dict[Index, int]:
        """A^T m: element p of every tile of the output."""
        shape = self._result_tiles()

        def source(index: Index) -> tuple[int, IndexMap]:
            return products[index], identity_map(len(shape))

        return self._transformed(tuple(f.outputs for f in self.forms), source, shape)

    def _transformed(
        self,
        matrices: tuple[Matrix, ...],
        source: Source,
        shape: tuple[int, ...],
        most: int | None = None,
    ) -> dict[Index, int]:
        """Every element of the transformed tiles, in as few ops as the device has bindings for.

        ``most``: results of one op, as many as there are bindings where it is left out. Filters get
        a transpose when they are laid out for the contraction, which may not follow several.
        """
        bindings = quirks().limits.bindings
        source = cache(source)
        made: dict[Index, int] = {}
        group: dict[Index, int] = {}

        def close() -> None:
            if group:
                self.builder.add(separable(matrices, dict(group), source, shape, self.element))
            group.clear()

        rows = itertools.product(*map(paired_rows, matrices))
        for _, line in itertools.groupby(rows, key=lambda row: row[:-1]):
            for index in line:
                wanted = (*group, index)
                read = {source(a)[0] for a in elements_read(matrices, wanted)}
                if len(read) + len(wanted) > bindings or len(wanted) > (most or bindings):
                    close()
                made[index] = group[index] = self.builder.tensor(shape, self.element)
            close()
        return made

    def _side_by_side(self, outputs: dict[Index, int]) -> None:
        """Interleave the elements of the tiles; cut off what lies behind the last output."""
        loops = [form.dims[0] for form in self.op.result_maps[0]]
        window = {w.image: p for p, w in enumerate(self.found.windows)}
        sizes: list[int] = []
        outer: list[int] = []
        inside: dict[int, int] = {}  # number of the window -> loop within its tile
        for d in loops:
            outer.append(len(sizes))
            sizes.append(self.tiles.get(d, self.op.domain[d]))
            if d in window and self.forms[window[d]].tile > 1:
                inside[window[d]] = len(sizes)
                sizes.append(self.forms[window[d]].tile)
        rank = len(sizes)
        tiled = self.builder.tensor(sizes, self.element)
        self.builder.add(
            Structured(
                tuple(outputs.values()),
                (Uninitialized(),),
                (tiled,),
                tuple(sizes),
                (IteratorType.PARALLEL,) * rank,
                (*(plain_map(outer),) * len(outputs), identity_map(rank)),
                selection_body(list(outputs), inside, self.element),
            )
        )
        (result,) = self.op.results
        shape = tuple(
            n * (self.forms[window[d]].tile if d in window else 1)
            for d, n in zip(loops, self._result_tiles(), strict=True)
        )
        if shape == self.graph.types[result].shape:
            self.builder.add(Reshape(tiled, result))
            return
        whole = self.builder.tensor(shape, self.element)
        self.builder.add(Reshape(tiled, whole))
        self.builder.add(Slice(whole, result, (0,) * len(shape), (1,) * len(shape)))


class Winograd:
    """What the rules of all tile sizes share; each names itself and its tile."""

    tile: int
    """Outputs of a tile along each window."""
    argument = "interpolation of a polynomial product at distinct points is exact"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.APPROXIMATES
    canonicalizes = False
    examples: tuple[Example, ...] = (
        Example(convolution_example(filter_size=3, stride=1), 0),
        Example(convolution_example(filter_size=2, stride=1, image=5, margin=1), 0),
        Example(
            convolution_example(filter_size=3, stride=2),
            0,
            refusal="expected windows one element apart, but got stride 2 and dilation 1",
        ),
        Example(
            depthwise_example(),
            0,
            refusal="expected channels to be summed over, for each product is a contraction over "
            "them, but every channel has its own filter",
        ),
    )

    def match(self, graph: Graph, op: int) -> Tiling | None:
        """Any convolution whose filter is small enough."""
        return tiling(graph, op, self.tile)

    def guard(self, match: Tiling) -> Refusal | None:
        """Dense windows over channels, in wide enough numbers."""
        return refusal_of(match)

    def rewrite(self, graph: Graph, match: Tiling) -> Expression:
        """Transform, contract, transform back, and put the tiles side by side."""
        return _Rewriting(graph, match).run()
