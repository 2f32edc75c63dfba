"""What the tensors of a plan hold in memory while it runs: the pieces, and from when to when.

Every tensor has a step, the place of what makes it among the ops of the model; what a rewrite made
in between follows the last thing that it reads. A tensor takes its bytes, padding included, from
there to the last step at which something reads it, results to the end. Weights and arguments take
nothing: they are held before and after. Nor does what IREE reads where it lies (reshapes, slices of
one piece); what they lie in is held as long.

IREE lays tensors out once more, and holds those of a whole wave of dispatches that may run side by
side: 12 to 18 % more than this on CNNs. What a call takes is counted there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from layoutopt.candidates.candidate import Candidate, PhysicalForm, physical_form
from layoutopt.candidates.choice import Choice
from layoutopt.candidates.cluster import Cluster
from layoutopt.ir.contiguous import is_contiguous
from layoutopt.ir.graph import Graph, Op, Reshape, Slice
from layoutopt.ir.layout import Layout, memory_runs
from layoutopt.ir.types import TensorType
from layoutopt.planning.selection import Selection, build_selection
from layoutopt.solver import Memory, Place
from layoutopt.solver import peak_bytes as solver_peak_bytes

Forms = Callable[[Candidate], Sequence[PhysicalForm]]
"""What is emitted for a candidate, at each of the sizes that are planned for."""
_Step = tuple[int, int]
"""Place among the model's own ops, and how many others come between."""


@dataclass(frozen=True)
class MemoryMap:
    """Where the tensors of one function lie while it runs."""

    graph: Graph
    clusters: Sequence[Cluster]
    own_ops: int
    """The model's own ops come first."""
    type_sets: Sequence[Sequence[TensorType]]
    """Of its tensors, at each of the sizes that are planned for: the largest counts."""

    @cached_property
    def _steps(self) -> tuple[int, ...]:
        """Of each tensor, in whole numbers."""
        found = tensor_steps(self.graph, self.own_ops)
        rank = {step: i for i, step in enumerate(sorted(set(found)))}
        return tuple(rank[step] for step in found)

    @cached_property
    def end(self) -> int:
        """The step behind all others."""
        return max(self._steps, default=0) + 1

    def piece(self, tensor: int, layout: Layout) -> Hashable:
        """What tells a piece of memory from others: layouts of one order share it."""
        whole = layout.padded_shape(self.graph.types[tensor].shape)
        return tensor, whole, memory_runs(whole, layout)

    def place(self, tensor: int, layout: Layout) -> Place:
        """The bytes of a piece, and its step."""
        size = max(layout.size_bytes(types[tensor]) for types in self.type_sets)
        return Place(size, self._steps[tensor])

    def step(self, cluster: Cluster) -> int:
        """When a cluster runs."""
        return max(self._steps[t] for t in cluster.outputs)


def tensor_steps(graph: Graph, own_ops: int) -> tuple[_Step, ...]:
    """When each tensor is made; what comes from outside is there first."""
    found: dict[int, _Step] = {}
    for index, op in enumerate(graph.ops):
        if index < own_ops:
            found |= dict.fromkeys(op.outputs, (index, 0))
            continue
        last = max((found.get(t, (-1, 0)) for t in op.inputs), default=(-1, 0))
        for tensor in op.outputs:
            found.setdefault(tensor, (last[0], last[1] + 1))
    return tuple(found.get(t, (-1, 0)) for t in range(len(graph.types)))


def scratch_bytes(candidate: Candidate, cluster: Cluster, forms: Iterable[PhysicalForm]) -> int:
    """What a candidate holds beside what it reads and makes, at the largest of its ``forms``.

    That is what the dispatches of a rewrite that is priced as a whole hand to each other, and the
    packed copies of what is data-tiled.
    """
    if candidate.form.is_data_tiled:
        return max(map(_passed_bytes, forms), default=0)
    return max(map(_between_bytes, forms), default=0) if cluster.atomic else 0


def _passed_bytes(form: PhysicalForm) -> int:
    return sum(form.graph.types[t].size_bytes for t in (*form.inputs, *form.outputs))


def _between_bytes(form: PhysicalForm) -> int:
    """The most that is held between the ops of a form, each of them a dispatch."""
    known = form.graph.worked_out
    key = _between_bytes, form.inputs, form.outputs
    if key not in known:  # each round of prices asks for it once more
        known[key] = _held_between(form)
    held: int = known[key]
    return held


def _held_between(form: PhysicalForm) -> int:
    graph = form.graph
    root = _roots(graph)
    inside = {t for op in graph.ops for t in op.outputs if root[t] == t}
    inside -= {*form.inputs, *form.outputs, *graph.constants}
    last = {t: i for i, op in enumerate(graph.ops) for t in op.outputs}
    for i, op in enumerate(graph.ops):
        last.update(dict.fromkeys((root[t] for t in op.inputs if t in root), i))
    ending: dict[int, list[int]] = {}
    for tensor in inside:
        ending.setdefault(last[tensor], []).append(graph.types[tensor].size_bytes)
    held = most = 0
    for i, op in enumerate(graph.ops):
        held += sum(graph.types[t].size_bytes for t in op.outputs if t in inside)
        most = max(most, held)
        held -= sum(ending.get(i, ()))
    return most


def lies_within(form: PhysicalForm) -> Mapping[int, int]:
    """By place of an output, the place of the input in which it lies, for what runs nothing."""
    if not form.is_free:
        return {}
    root = _roots(form.graph)
    place = {t: i for i, t in enumerate(form.inputs)}
    return {i: place[root[t]] for i, t in enumerate(form.outputs) if root.get(t, t) in place}


def _roots(graph: Graph) -> dict[int, int]:
    """What each tensor lies in: itself, or what a chain of reshapes and slices begins with."""
    root = {t: t for t in (*graph.inputs, *graph.constants)}
    for op in graph.ops:
        for tensor in op.outputs:
            root[tensor] = root.get(op.inputs[0], tensor) if _in_place(graph, op) else tensor
    return root


def _in_place(graph: Graph, op: Op) -> bool:
    return isinstance(op, Reshape) or (isinstance(op, Slice) and is_contiguous(op, graph.types))


def form_alone(
    graph: Graph, clusters: Sequence[Cluster], candidate: Candidate
) -> tuple[PhysicalForm, ...]:
    """What is emitted for a candidate, at the first of the sizes; nothing where it has no form."""
    form = physical_form(graph, clusters[candidate.cluster], candidate)
    return (form,) if isinstance(form, PhysicalForm) else ()


def in_memory(
    selection: Selection, memory: MemoryMap, forms: Forms, budget_bytes: int | None = None
) -> Selection:
    """The same selection with where its tensors lie, and what that may take."""
    problem, clusters = selection.problem, memory.clusters
    pieces: dict[Hashable, int] = {}
    places: list[Place] = []
    of: dict[tuple[int, int], int] = {}
    there = {memory.piece(t, layout) for t, numbers in selection.number.items()
             for layout, n in numbers.items() if (t, n) in problem.given}  # fmt: skip
    for tensor, numbers in selection.number.items():
        for layout, number in numbers.items():
            piece = memory.piece(tensor, layout)
            if tensor in memory.graph.constants or piece in there:
                continue
            if piece not in pieces:
                pieces[piece] = len(places)
                places.append(memory.place(tensor, layout))
            of[tensor, number] = pieces[piece]

    def placed(tensor: int, candidate: Candidate) -> int | None:
        number = selection.number[tensor][candidate.layout_of(tensor)]
        return of.get((tensor, number))

    rows = []
    for row, candidate in zip(problem.candidates, selection.candidates, strict=True):
        cluster, found = clusters[candidate.cluster], forms(candidate)
        within = {
            placed(cluster.outputs[made], candidate): placed(cluster.inputs[read], candidate)
            for made, read in (lies_within(found[0]) if found else {}).items()
        }
        rows.append(
            replace(
                row,
                step=memory.step(cluster),
                scratch_bytes=scratch_bytes(candidate, cluster, found),
                within=tuple((made, read) for made, read in within.items() if made is not None),
            )
        )
    demanded = tuple(replace(d, until=memory.end) for d in problem.demanded)
    held = Memory(tuple(places), of, budget_bytes)
    found_problem = replace(problem, candidates=tuple(rows), demanded=demanded, memory=held)
    return replace(selection, problem=found_problem)


def peak_bytes(choice: Choice, memory: MemoryMap, forms: Forms) -> int:
    """What tensors take at most while a plan runs."""
    free = dict.fromkeys(choice.conversions, 0)
    alone = build_selection(
        memory.graph, memory.clusters, dict.fromkeys(choice.candidates, 0), free
    )
    problem = in_memory(alone, memory, forms).problem
    everything = range(len(problem.candidates)), range(len(problem.conversions))
    return solver_peak_bytes(problem, *everything)
