"""Loop distribution, and loop-invariant code motion: contractions that need not be in their loop.

    for t: x = slice(xs, t); y = x * W; h = f(h, y)
      ->
    ys = xs * W; for t: y = slice(ys, t); h = f(h, y)

Sound because what reads nothing that the loop carries is the same in whatever order the steps come.
Contractions with an operand that no step changes gain by it: they read that operand once, and not
once a step. So do those that no step changes at all. What only they need goes with them, and what
is computed of their results alone as long as that takes no more memory.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from layoutopt.ir.affine import IndexMap, dim, identity_map
from layoutopt.ir.dead_code import live_ops
from layoutopt.ir.graph import (
    Constant,
    FromTensor,
    Graph,
    GraphBuilder,
    IteratorType,
    Op,
    Pad,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
    needs_open_sizes,
)
from layoutopt.ir.renaming import renumbered
from layoutopt.ir.scalar import copy_body
from layoutopt.ir.size import Size, Symbol, bounds, coefficient, one_symbol, planned, symbols
from layoutopt.ir.steps import Steps


@dataclass(frozen=True, slots=True)
class AheadResult:
    """A tensor of the body for all steps: row p is that of step p, or of the p-th from the end."""

    tensor: int
    """Of `Distributed.graph`: dim 0 are the steps."""
    backwards: bool | None
    """None where it is the same in all steps: then it has no such dim."""


@dataclass(frozen=True, slots=True)
class Distributed:
    """What is computed ahead of a loop."""

    graph: Graph
    leaves: Mapping[int, int]
    """By input or constant of the graph, the tensor of the body that it is."""
    results: Mapping[int, AheadResult]
    """By tensor of the body that the loop still reads."""
    contractions: tuple[int, ...]
    """The ops of the body that gain, by number."""


@dataclass(frozen=True, slots=True)
class LoopBody:
    """A loop's body, and what is known of it outside."""

    graph: Graph
    step: Symbol
    """The loop's variable."""
    steps: Steps
    varying: Collection[int]
    """Inputs that are not the same in all steps."""
    known: Collection[str] = ()
    """Names of symbols whose values are there ahead of the loop."""


def distributed(body: LoopBody, named: Collection[int]) -> Distributed | None:
    """What can be computed ahead of a loop; None where that holds no contraction.

    ``named``: the tensors that can be handed to the loop.
    """
    found = _Distribution(body)
    for number, op in enumerate(body.graph.ops):
        found.add(number, op)
    return found.result(named)


class _Distribution:
    def __init__(self, loop: LoopBody) -> None:
        self.loop = loop
        self.body = loop.graph
        self.steps = loop.steps
        self.builder = GraphBuilder()
        self.leaves: dict[int, int] = {}
        self.same: dict[int, int] = {}
        """By tensor of the body that no step changes, the one ahead."""
        self.of_all: dict[int, AheadResult] = {}
        self.gaining: list[int] = []
        self.moved: set[int] = set()
        """Tensors that the loop no longer computes."""
        for t in self.body.inputs:
            if t not in loop.varying and self._is_known(t):
                self._leaf(t)

    def _is_known(self, tensor: int) -> bool:
        """Whether the sizes of a tensor are known ahead of the loop."""
        shape = self.body.types[tensor].shape
        return all(s.name in self.loop.known for n in shape for s in symbols(n))

    def _leaf(self, tensor: int) -> None:
        self.same[tensor] = self._tensor(self.body.types[tensor].shape, tensor)
        self.leaves[self.same[tensor]] = tensor

    def _tensor(self, shape: tuple[int, ...], like: int) -> int:
        return self.builder.tensor(shape, self.body.types[like].element)

    def add(self, number: int, op: Op) -> None:
        """Compute an op of the body ahead, if it can be."""
        if not all(map(self._is_known, op.outputs)):
            return
        if isinstance(op, Constant):
            self._leaf(op.result)
            self.builder.add(replace(op, result=self.same[op.result]))
        elif isinstance(op, Slice) and op.source in self.same and needs_open_sizes(op):
            self._step(op)
        elif needs_open_sizes(op):
            return
        elif op.inputs and all(t in self.same for t in op.inputs):
            self._once(number, op)
        elif any(t in self.of_all for t in op.inputs):
            self._for_all(number, op)

    def _once(self, number: int, op: Op) -> None:
        """An op that is the same in all steps."""
        for t in op.outputs:
            self.same[t] = self._tensor(self.body.types[t].shape, t)
        self.builder.add(renumbered(op, self.same))
        if not all(t in self.body.constants for t in op.outputs):  # those are ahead of all runs
            self._move(number, op, isinstance(op, Structured) and op.is_contraction)

    def _step(self, op: Slice) -> None:
        """The slices of all steps, where each is one place along one dim."""
        moving = [axis for axis, n in enumerate(op.offsets) if not isinstance(n, int)]
        shape = self.body.types[op.result].shape
        if len(moving) != 1 or shape[moving[0]] != 1:
            return
        (axis,) = moving
        times = coefficient(op.offsets[axis], self.loop.step)
        more: int = op.offsets[axis] - times * one_symbol(self.loop.step)
        source, count = self.same[op.source], self.steps.count
        start = more + times * (self.steps.first if times > 0 else self.steps.last)
        by = abs(times) * self.steps.by
        end = start + by * (count - 1)
        room: int = self.builder.types[source].shape[axis] - 1 - end
        if not times or self.loop.step in symbols(more) or isinstance(start, Size):
            return
        if start < 0 or bounds(room)[0] < 0:
            return  # at run time it would fail, or it is not known that it would not
        whole = self._tensor((*shape[:axis], count, *shape[axis + 1 :]), op.result)
        offsets = (*op.offsets[:axis], start, *op.offsets[axis + 1 :])
        strides = (*op.strides[:axis], by, *op.strides[axis + 1 :])
        self.builder.add(Slice(source, whole, offsets, strides))
        if math.prod(shape[:axis]) == 1:
            made = self._tensor((count, *shape), op.result)
            self.builder.add(Reshape(whole, made))
        else:
            made = self._with_steps_first(whole, axis, op.result)
        self.of_all[op.result] = AheadResult(made, times < 0)

    def _with_steps_first(self, whole: int, axis: int, like: int) -> int:
        """A slice of all steps along ``axis``, transposed."""
        shape = self.body.types[like].shape
        read = identity_map(len(shape) + 1)
        read = (*read[1 : axis + 1], read[0], *read[axis + 2 :])
        made = self._tensor((self.steps.count, *shape), like)
        self.builder.add(
            Structured(
                (whole,),
                (Uninitialized(),),
                (made,),
                (self.steps.count, *shape),
                (IteratorType.PARALLEL,) * (len(shape) + 1),
                (read, identity_map(len(shape) + 1)),
                copy_body(self.body.types[like].element),
            )
        )
        return made

    def _for_all(self, number: int, op: Op) -> None:
        """An op over the tensors of all steps."""
        if not all(t in self.of_all or t in self.same for t in op.inputs):
            return
        ways = {self.of_all[t].backwards for t in op.inputs if t in self.of_all}
        known = {t: self.of_all[t].tensor if t in self.of_all else self.same[t] for t in op.inputs}
        made = {
            t: self._tensor((self.steps.count, *self.body.types[t].shape), t) for t in op.outputs
        }
        widened = self._widened(op) if len(ways) == 1 else None
        if widened is None:
            return
        (backwards,) = ways
        self.builder.add(renumbered(widened, known | made))
        self.of_all |= {t: AheadResult(n, backwards) for t, n in made.items()}
        self._move(number, op, _reads_more_than_once(op, self.same))

    def _move(self, number: int, op: Op, gains: bool) -> None:
        """Take an op out of the loop if that gains, or if it only goes on from what is outside."""
        if gains:
            self.gaining.append(number)
        if gains or self._follows(op):
            self.moved.update(op.outputs)

    def _follows(self, op: Op) -> bool:
        """Whether an op makes no more of what is computed ahead than that takes."""
        read = [t for t in op.inputs if t in self.moved]
        return bool(read) and _elements(self.body, op.outputs) <= _elements(self.body, read)

    def _widened(self, op: Op) -> Op | None:
        """An op with a loop over the steps around it; None for kinds that have none."""
        match op:
            case Structured():
                return self._structured(op)
            case Reshape():
                return op
            case Slice():
                return replace(op, offsets=(0, *op.offsets), strides=(1, *op.strides))
            case Pad():
                return replace(op, low=(0, *op.low), high=(0, *op.high))
            case _:
                return None

    def _structured(self, op: Structured) -> Structured | None:
        begun = [init.tensor for init in op.inits if isinstance(init, FromTensor)]
        if op.body.reads_index or any(t not in self.of_all for t in begun):
            return None
        inside = {d: d + 1 for d in range(len(op.domain))}

        def widened(forms: IndexMap, moves: bool) -> IndexMap:
            own = tuple(form.renamed(inside) for form in forms)
            return (dim(0), *own) if moves else own

        sources = (
            widened(forms, t in self.of_all)
            for t, forms in zip(op.sources, op.source_maps, strict=True)
        )
        return replace(
            op,
            domain=(self.steps.count, *op.domain),
            iterators=(IteratorType.PARALLEL, *op.iterators),
            maps=(*sources, *(widened(forms, True) for forms in op.result_maps)),
        )

    def result(self, named: Collection[int]) -> Distributed | None:
        """What is found, without what no contraction needs."""
        body = self.body
        read = set(body.outputs)
        for op in body.ops:
            if not self.moved.intersection(op.outputs):
                read.update(op.inputs)
        results = {
            t: self.of_all[t] if t in self.of_all else AheadResult(self.same[t], None)
            for t in sorted(self.moved & read)
        }
        if not results or not all(t in named for t in results):
            return None
        made = [found.tensor for found in results.values()]
        ops, needed = live_ops(self.builder.ops, made)
        leaves = {n: t for n, t in self.leaves.items() if n in needed}
        constants = {op.result for op in ops if isinstance(op, Constant)}
        graph = Graph(
            tuple(self.builder.types),
            ops,
            tuple(n for n in leaves if n not in constants),
            tuple(made),
        )
        return Distributed(graph, leaves, results, tuple(self.gaining))


def _reads_more_than_once(op: Op, same: Collection[int]) -> bool:
    """Whether an op is a contraction that reads one tensor anew in each step."""
    return isinstance(op, Structured) and op.is_contraction and any(t in same for t in op.sources)


def _elements(graph: Graph, tensors: Iterable[int]) -> int:
    return sum(math.prod(map(planned, graph.types[t].shape)) for t in tensors)
