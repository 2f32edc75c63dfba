"""From a choice to one graph over row-major tensors: what will be written as MLIR."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from layoutopt.candidates.candidate import Candidate, PhysicalForm, physical_form
from layoutopt.candidates.choice import Choice, is_free
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.conversion import Conversion, conversion_form, lower_packs
from layoutopt.candidates.regions import emitted
from layoutopt.errors import LoweringError
from layoutopt.ir.carried import Ends
from layoutopt.ir.dead_code import live_ops
from layoutopt.ir.graph import (
    Concat,
    Constant,
    FusionBarrier,
    Graph,
    GraphBuilder,
    Insert,
    Op,
    Opaque,
    Pad,
    Reshape,
    Slice,
    Structured,
    tensors_made,
)
from layoutopt.ir.layout import Layout, row_major, same_memory
from layoutopt.ir.lowered import HoistedWeight, Lowered
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.renaming import renumbered
from layoutopt.lowering.hoisted_copy import hoisted_copy
from layoutopt.lowering.order import Pair, in_order


def lower(
    graph: Graph,
    clusters: Sequence[Cluster],
    choice: Choice,
    io: Mapping[int, Layout] | None = None,
    ends: Ends | None = None,
) -> Lowered:
    """Write the chosen candidates and conversions in an order that works.

    ``io``: layouts in which the memory of some inputs and outputs is taken and given. ``ends``:
    those of tensors that control flow hands on, whose types are the ones of their memory.
    """
    return _Lowering(graph, clusters, io or {}, ends or Ends()).run(choice)


def packs_lowered(lowered: Lowered) -> Lowered:
    """The same plan with reshapes and transposes in place of packs."""
    hoisted = tuple(replace(w, graph=lower_packs(w.graph)) for w in lowered.hoisted)
    return replace(lowered, graph=lower_packs(lowered.graph), hoisted=hoisted)


class _Lowering:
    def __init__(
        self, graph: Graph, clusters: Sequence[Cluster], io: Mapping[int, Layout], ends: Ends
    ) -> None:
        self.graph = graph
        self.io = io
        self.ends = ends
        self.clusters = clusters
        self.builder = GraphBuilder()
        self.where: dict[Pair, int] = {}
        self.ahead_of: dict[int, int] = {}
        """Of each tensor behind a fusion barrier, the same ahead of it."""
        self.pinned: set[int] = set()
        """Those that all read behind the barrier."""
        self.hoisted: list[HoistedWeight] = []
        self.lowered: frozenset[Conversion] = frozenset()

    def run(self, choice: Choice) -> Lowered:
        self.lowered = choice.lowered
        inputs: dict[int, int] = {}
        leaves = [op.result for op in self.graph.ops if isinstance(op, Constant)]
        for tensor in (*self.graph.inputs, *leaves):
            inputs[tensor] = self._taken(tensor)
        for op in self.graph.ops:
            if not isinstance(op, Constant | Opaque) and all(
                t in self.graph.constants for t in op.outputs
            ):
                self._constant_op(op)
        for step in in_order(self.clusters, choice, self.where):
            if isinstance(step, Candidate):
                self._candidate(step)
            else:
                self._conversion(step)
        plain = (t for t in self.graph.outputs if t not in self.ends.handed_only)
        outputs = {t: self._given_out(t) for t in plain}
        handed = {pair: self._unpinned(self._converted(pair)) for pair in self.ends.handed}
        built = self.builder.build(inputs.values(), (*outputs.values(), *handed.values()))
        return _live(Lowered(built, inputs, outputs, tuple(self.hoisted), handed))

    def _taken(self, tensor: int) -> int:
        """A tensor from outside; of a free input, the memory is read in its own layout."""
        if tensor in self.ends.taken:
            return self._place(tensor, self.ends.taken[tensor])
        layout = self.io.get(tensor, self._plain(tensor))
        if layout.is_row_major:
            return self._place(tensor, layout)
        kind = self.graph.types[tensor]
        whole = self.builder.tensor(kind.shape, kind.element)
        self.builder.add(Reshape(whole, self._place(tensor, layout)))
        return whole

    def _given_out(self, tensor: int) -> int:
        """A tensor for outside; of a free output, the memory is handed out as it lies."""
        layout = self.io.get(tensor, self._plain(tensor))
        found = self._unpinned(self._converted((tensor, layout)))
        if layout.is_row_major or tensor in self.graph.inputs:
            return found
        kind = self.graph.types[tensor]
        whole = self.builder.tensor(kind.shape, kind.element)
        self.builder.add(Reshape(found, whole))
        return whole

    def _unpinned(self, tensor: int) -> int:
        """A tensor as others than the plan's dispatches read it.

        Those may be fused with what makes it, but for scheduled contractions and conversions.
        """
        return tensor if tensor in self.pinned else self.ahead_of.get(tensor, tensor)

    def _plain(self, tensor: int) -> Layout:
        return row_major(len(self.graph.types[tensor].shape))

    def _place(self, tensor: int, layout: Layout) -> int:
        key = (tensor, layout)
        if key not in self.where:
            kind = layout.physical_type(self.graph.types[tensor])
            self.where[key] = self.builder.tensor(kind.shape, kind.element)
        return self.where[key]

    def _constant_op(self, op: Op) -> None:
        """What constants compute is written once, in its first form: IREE evaluates it.

        What IREE might leave until run time is hoisted: for its size, or because it is put together
        from parts, which IREE copies in every turn of a loop.
        """
        if all((tensor, self._plain(tensor)) in self.where for tensor in op.outputs):
            return
        if (isinstance(op, Structured) and op.ahead) or isinstance(op, Concat | Insert | Pad):
            (tensor,) = op.outputs
            self._hoist((tensor, self._plain(tensor)), is_copy=isinstance(op, Structured))
            return
        for tensor in op.outputs:
            self._place(tensor, self._plain(tensor))
        self.builder.add(
            renumbered(op, {t: self.where[t, self._plain(t)] for t in (*op.inputs, *op.outputs)})
        )

    def _converted(self, pair: Pair) -> int:
        """A tensor in a layout; free conversions and those of constants are made on the spot."""
        if pair in self.where:
            return self.where[pair]
        tensor, goal = pair
        sources = [layout for t, layout in self.where if t == tensor]
        free = [s for s in sources if same_memory(self.graph.types[tensor].shape, s, goal)]
        if not free and tensor not in self.graph.constants:
            raise LoweringError(
                f"tensor {tensor}",
                f"the plan to make it in {goal}",
                "no producer",
                "report this as a bug of layoutopt",
            )
        if not free:
            self._hoist(pair)
            return self.where[pair]
        source = free[0]
        form = conversion_form(self.graph, Conversion(tensor, source, goal))
        self._inline(form, [(tensor, source)], [pair])
        return self.where[pair]

    def _hoist(self, pair: Pair, is_copy: bool = True) -> None:
        """Have a constant made ahead of time in a layout; the plan reads the one that is made."""
        copy = hoisted_copy(self.graph, *pair)
        read = {t: t for t in copy.graph.inputs}
        self.hoisted.append(
            HoistedWeight(copy.graph, read, copy.result, self._place(*pair), is_copy)
        )

    def _candidate(self, candidate: Candidate) -> None:
        cluster = self.clusters[candidate.cluster]
        layouts = dict(candidate.layouts)
        form = physical_form(self.graph, cluster, candidate)
        if isinstance(form, Refusal):
            raise LoweringError(
                f"cluster {candidate.cluster}",
                "a form that can be written",
                form.reason,
                "report this as a bug of layoutopt",
            )
        reads = [(t, layouts[t]) for t in (*cluster.inputs, *cluster.weights)]
        makes = [(t, layouts[t]) for t in cluster.outputs]
        new = [pair for pair in makes if pair not in self.where]
        self._apart_from_slices(form, reads)
        self._inline(form, reads, makes)
        if not form.is_free:
            self._behind_fusion_barriers(new)
        if candidate.form.is_scheduled:
            self.pinned.update(self.where[pair] for pair in new)

    def _apart_from_slices(self, form: PhysicalForm, reads: Sequence[Pair]) -> None:
        """Have a dispatch with slices inside read tensors behind fusion barriers.

        IREE folds its slices into those ahead of it otherwise, which are read where they lie, and
        no longer sees what they were one dispatch for (a rotary embedding).
        """
        if form.is_free:
            return
        sliced = {op.source for op in form.graph.ops if isinstance(op, Slice)}
        for local, pair in zip(form.inputs, reads[: len(form.inputs)], strict=True):
            if local in sliced:
                self._behind_fusion_barriers([pair])

    def _behind_fusion_barriers(self, pairs: Iterable[Pair]) -> None:
        """Have others read these tensors behind fusion barriers: each dispatch is as planned."""
        for pair in pairs:
            made = self._converted(pair)
            if pair[0] not in self.graph.inputs and made not in self.ahead_of:
                self.where[pair] = self._behind_fusion_barrier(made)

    def _behind_fusion_barrier(self, tensor: int) -> int:
        """The same tensor behind a fusion barrier."""
        kind = self.builder.types[tensor]
        behind = self.builder.tensor(kind.shape, kind.element)
        self.builder.add(FusionBarrier(tensor, behind))
        self.ahead_of[behind] = tensor
        return behind

    def _conversion(self, conversion: Conversion) -> None:
        if conversion.tensor in self.graph.constants:
            return  # what reads it has it converted ahead of time
        read = (conversion.tensor, conversion.source)
        made = (conversion.tensor, conversion.target)
        if made not in self.where:
            form = conversion_form(self.graph, conversion)
            if conversion in self.lowered:
                form = replace(form, graph=lower_packs(form.graph))
            if is_free(self.graph, conversion):
                self._inline(form, [read], [made])
                return
            kind = conversion.target.physical_type(self.graph.types[conversion.tensor])
            open_end = self.builder.tensor(kind.shape, kind.element)
            self.where[made] = open_end
            self._inline_as(form, [read], {form.outputs[0]: open_end})
            self.where[made] = self._behind_fusion_barrier(open_end)
            self.pinned.add(self.where[made])

    def _inline(self, form: PhysicalForm, inputs: list[Pair], outputs: list[Pair]) -> None:
        number: dict[int, int] = {}
        for local, pair in zip((*form.inputs, *form.weights), inputs, strict=True):
            number[local] = self._converted(pair)
        made = {t for op in form.graph.ops for t in op.outputs}
        for local, pair in zip(form.outputs, outputs, strict=True):
            if pair in self.where:
                continue  # two candidates make the same pair: the first one serves
            if local not in made:
                self.where[pair] = number[local]
            else:
                number[local] = self._place(*pair)
        self._inline_as(form, inputs, number)

    def _inline_as(self, form: PhysicalForm, inputs: list[Pair], number: dict[int, int]) -> None:
        """Add the form's ops; ``number`` gives the tensors that are already known."""
        for local, pair in zip((*form.inputs, *form.weights), inputs, strict=True):
            number[local] = self._converted(pair)
        graph = emitted(form)
        for op in graph.ops:
            for tensor in tensors_made(op):
                if tensor not in number:
                    kind = graph.types[tensor]
                    number[tensor] = self.builder.tensor(kind.shape, kind.element)
            self.builder.add(renumbered(op, number))


def _live(lowered: Lowered) -> Lowered:
    """Drop ops whose results are not read."""
    kept, needed = live_ops(lowered.graph.ops, lowered.made)
    graph = replace(lowered.graph, ops=kept, names=())
    hoisted = tuple(w for w in lowered.hoisted if w.planned_tensor in needed)
    return replace(lowered, graph=graph, hoisted=hoisted)
