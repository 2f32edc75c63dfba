"""Clusters that compute a cheap tensor anew instead of storing it.

    a = contraction, + residual, widened, squared      stores three tensors
    b = reduction of the squares, f(sum) * the wide    reads two of them

The elementwise ops at the end of a dispatch may be left to those that read what they make: the
dispatch stores what they start from, one tensor, and each reader computes them once more.

    a = contraction, + residual                        stores one
    b = a widened, squared, reduced, and so on

So may slices, concats and a few elementwise ops be that a dispatch of its own would run: rotary
embeddings (`concat(-x[h:], x[:h])`) become part of what reads them. And so may, apart from that,
the reshapes and transposes between them: queries are cut out of a merged projection, parted into
heads and turned where they are read.

Whether that pays is a matter of prices: all are candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from layoutopt.candidates.partition import (
    LARGEST,
    is_elementwise,
    is_transpose,
    leads_light,
)
from layoutopt.ir.graph import Concat, Graph, Op, Reshape, Slice

MOST = 4
"""Ops that one cluster leaves to others."""
MOST_ANEW = 16
"""Ops that one cluster computes anew, reshapes and transposes aside."""

Ops = tuple[int, ...]
"""Indices into the graph, in order."""


@dataclass(frozen=True)
class Recomputing:
    """What the clusters of a model's own ops may leave to each other."""

    graph: Graph
    partition: Sequence[Ops]
    moves: bool = False
    """Whether reshapes and transposes may be left to others, and transposes compute what is."""

    @cached_property
    def _home(self) -> dict[int, Ops]:
        return {i: ops for ops in self.partition for i in ops}

    @cached_property
    def left(self) -> dict[Ops, Ops]:
        """By cluster, the ops at its end that it may leave to those that read what they make."""
        found: dict[Ops, Ops] = {}
        for ops in self.partition:
            left = self._last(ops)
            if left:
                found[ops] = left
        while stored := [ops for ops in found if not self._is_computed(ops, found)]:
            for ops in stored:
                del found[ops]
        made = {t for left in found.values() for t in self._made(left)}
        return {
            ops: left
            for ops, left in found.items()
            if left == ops or made.isdisjoint(self._read(ops))
        }

    def shorter(self, behind: Ops) -> tuple[Ops, ...]:
        """What of the ops behind the first one of a cluster it still runs where it leaves some."""
        return tuple(
            behind[: len(behind) - len(left)]
            for ops, left in self.left.items()
            if ops[1:] == behind and len(left) < len(ops)
        )

    def ahead(self, tensors: Sequence[int]) -> Ops:
        """Cheap ops that tensors are computed from, as far as a cluster computes them anew.

        Those of clusters that are cheap as a whole. None where there are too many.
        """
        return self._needed(self._cheap_makers, tensors, LARGEST - 1)

    @cached_property
    def _cheap_makers(self) -> dict[int, int]:
        """By tensor, the op that makes it, in clusters that are cheap as a whole."""
        cheap = (ops for ops in self.partition if self._is_cheap_whole(ops))
        return {t: i for ops in cheap for i in ops for t in self.graph.ops[i].outputs}

    def _needed(self, maker: Mapping[int, int], tensors: Iterable[int], most: int) -> Ops:
        """The ops that make tensors, of those that ``maker`` has; none where there are too many."""
        needed: set[int] = set()
        wanted = [*tensors]
        while wanted:
            made_by = maker.get(wanted.pop())
            if made_by is not None and made_by not in needed:
                needed.add(made_by)
                wanted += self.graph.ops[made_by].inputs
        computing = sum(not _is_move(self.graph.ops[i]) for i in needed)
        return tuple(sorted(needed)) if computing <= MOST_ANEW and len(needed) <= most else ()

    def readers(self) -> Iterator[tuple[int, Ops]]:
        """Clusters that read what is left to them: the first op of each, and it with that ahead."""
        maker = {t: i for left in self.left.values() for i in left
                 for t in self.graph.ops[i].outputs}  # fmt: skip
        for ops in self.partition:
            if ops in self.left or not self._may_compute(ops):
                continue
            needed = self._needed(maker, self._read(ops), LARGEST - len(ops))
            if needed:
                yield ops[0], (*needed, *ops)

    def _is_computed(self, ops: Ops, found: Mapping[Ops, Ops]) -> bool:
        """Whether all that read what a cluster leaves can compute it, or are left as a whole."""
        made = self._made(found[ops])
        homes = {self._home[c] for t in made for c in self._own_readers(t)} - {ops}
        return all(self._may_compute(home) or found.get(home) == home for home in homes)

    def _last(self, ops: Ops) -> Ops:
        """The fewest elementwise ops at the end without which a cluster stores less.

        That is one tensor at most, of fewer bytes than it stores with them. None of them makes a
        result of the graph. A cluster of a few cheap ops alone is left as a whole.
        """
        graph = self.graph
        if self._is_cheap_whole(ops):
            returned = any(t in graph.outputs for t in self._made(ops))
            return () if returned else ops
        whole = self._bytes(self._stored(ops))
        for cut in range(len(ops) - 1, 0, -1):
            op = graph.ops[ops[cut]]
            if len(ops) - cut > MOST or not is_elementwise(op) or {*op.outputs} & {*graph.outputs}:
                return ()
            stored = self._stored(ops[:cut])
            if len(stored) <= 1 and self._bytes(stored) < whole:
                return ops[cut:]
        return ()

    def _stored(self, ops: Ops) -> list[int]:
        """The tensors of these that others of the model's own ops read, or the graph returns."""
        return [
            t
            for t in self._made(ops)
            if t in self.graph.outputs or not self._own_readers(t) <= {*ops}
        ]

    def _bytes(self, tensors: Sequence[int]) -> int:
        return sum(self.graph.types[t].size_bytes for t in tensors)

    def _own_readers(self, tensor: int) -> set[int]:
        return {c for c in self.graph.consumers[tensor] if c in self._home}

    def _made(self, ops: Ops) -> list[int]:
        return [t for i in ops for t in self.graph.ops[i].outputs]

    def _read(self, ops: Ops) -> set[int]:
        return {t for i in ops for t in self.graph.ops[i].inputs} - {*self._made(ops)}

    def _may_compute(self, ops: Ops) -> bool:
        """Whether a cluster can compute something ahead of its own: its first op is no root."""
        first = self.graph.ops[ops[0]]
        return leads_light(first) or (self.moves and is_transpose(first))

    def _is_cheap_whole(self, ops: Ops) -> bool:
        return len(ops) <= MOST and all(self._is_cheap(self.graph.ops[i]) for i in ops)

    def _is_cheap(self, op: Op) -> bool:
        if is_elementwise(op) or isinstance(op, Slice | Concat):
            return True
        return self.moves and _is_move(op)


def _is_move(op: Op) -> bool:
    return isinstance(op, Reshape) or is_transpose(op)
