"""Whether a rule computes what the op that it replaces does: both run on the same inputs.

Rules have an argument, most have proofs of their index maps, and all are tested on small shapes;
here each one that fired is compared with the op that it fired on, before anything is priced. What a
rule knows of the tensors around (a fill of zeros, a padding) is computed too, so that it holds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from layoutopt.ir.concrete import concrete
from layoutopt.ir.dead_code import live_ops
from layoutopt.ir.fitting_sizes import misfit
from layoutopt.ir.graph import Constant, Graph, Op, Opaque, Structured
from layoutopt.ir.renaming import counted_from_zero
from layoutopt.ir.size import planned
from layoutopt.ir.types import Array
from layoutopt.oracle import OracleError, evaluate_bounded
from layoutopt.oracle.constant import constant
from layoutopt.oracle.contraction import is_matmul
from layoutopt.oracle.inputs import chosen_inputs, unsuitable
from layoutopt.oracle.precision import unit_roundoff
from layoutopt.oracle.rounding import total
from layoutopt.rules.rule import Expression
from layoutopt.runtime.comparison import difference

_MOST_WORK = 4_000_000
"""Points that are evaluated at most; those of contractions count a tenth, for BLAS does them."""
_MOST_ELEMENTS = 1 << 25
"""Of a tensor that is made: memory holds it."""
_AROUND = 12
"""How many ops back something is looked for that a rule may know of its inputs."""
_ROUNDINGS = 64
"""Of the largest number of a result, by which a rule that rounds otherwise may be off: what errors
of constants that it works out come to."""
Compared = tuple[Graph, Graph, tuple[tuple[int, str], ...], bool]
"""Two graphs over the same tensors, values of some of these, and whether one rounds otherwise."""
_Link = Callable[[Op, set[int], set[int]], bool]
_DIFFERS = "computes something else than the model's own op"


@dataclass
class Soundness:
    """Checks rules where they fire, and counts those that it could not check, by reason."""

    skipped: Counter[str] = field(default_factory=Counter)
    most_in_all: float = math.inf
    """Points that are evaluated at most for all rules together; what is equal counts once."""
    _compared: set[Compared] = field(default_factory=set)
    _spent: float = 0

    def reason(self, graph: Graph, index: int, found: Expression) -> str:
        """Why the expression does not compute what op ``index`` does; empty where it does."""
        linked = _linked(graph, index, found)
        if self._is_shown(graph, index, found, linked):
            return ""
        around = _around(graph, index, found)
        work = sum(map(_work, (*around, graph.ops[index], *found.ops)))
        if work > _MOST_WORK:
            self.skipped[f"they have more than {_MOST_WORK} points"] += 1
            return ""
        if _largest(graph, index, found, around) > _MOST_ELEMENTS:
            self.skipped[f"a tensor has more than {_MOST_ELEMENTS} elements"] += 1
            return ""
        if self.most_in_all < math.inf and not self._affords(
            _pair(graph, index, found, around), work
        ):
            self.skipped[f"they have more than {self.most_in_all} points in all"] += 1
            return ""
        try:
            differs = _compared(*_pair(graph, index, found, around)).reason
        except OracleError as error:
            self.skipped[str(error)] += 1
            return ""
        return differs if differs and not self._holds_behind_all(graph, index, found) else ""

    def _is_shown(self, graph: Graph, index: int, found: Expression, before: Sequence[Op]) -> bool:
        """Whether both compute the same behind some ops, where it is no work to find out."""
        work = sum(map(_work, (*before, graph.ops[index], *found.ops)))
        if work > _MOST_WORK or _largest(graph, index, found, before) > _MOST_ELEMENTS:
            return False
        held = _pair(graph, index, found, before)
        return (self.most_in_all == math.inf or self._affords(held, work)) and _holds(held)

    def _holds_behind_all(self, graph: Graph, index: int, found: Expression) -> bool:
        """Whether both compute the same where all that they read comes from the same tensors.

        Of a tensor that is computed in two ways, the ops around may have left out one.
        """
        return self._is_shown(graph, index, found, _all_behind(graph, index, found))

    def _affords(self, held: Compared, work: float) -> bool:
        if held in self._compared:
            return True
        if self._spent + work > self.most_in_all:
            return False
        self._compared.add(held)
        self._spent += work
        return True


def _pair(graph: Graph, index: int, found: Expression, before: Sequence[Op]) -> Compared:
    """An op and what replaces it, both behind ``before``; equal for rewrites of equal structure."""
    types = (*graph.types, *found.types)
    op = graph.ops[index]
    results = {t for o in found.ops for t in o.outputs}.intersection(op.outputs)
    ops, tensors = counted_from_zero((*before, op, *found.ops))
    place = {tensor: i for i, tensor in enumerate(tensors)}
    made = {t for o in (*before, op, *found.ops) for t in o.outputs}
    one = Graph(
        tuple(types[t] for t in tensors),
        ops[: len(before) + 1],
        tuple(i for t, i in place.items() if t not in made),
        tuple(place[t] for t in op.outputs if t in results),
    )
    other = Graph(
        one.types, (*ops[: len(before)], *ops[len(before) + 1 :]), one.inputs, one.outputs
    )
    splats = tuple((place[t], graph.splats[t]) for t in tensors if t in graph.splats)
    return concrete(one), concrete(other), splats, found.rounds


def _holds(held: Compared) -> bool:
    """Whether two graphs are shown to compute the same."""
    try:
        found = _compared(*held)
    except OracleError:
        return False
    return found.conclusive and not found.reason


@dataclass(frozen=True, slots=True)
class _Comparison:
    reason: str
    """In one line, how the outputs differ; empty where they do not."""
    conclusive: bool
    """Whether every element of them was compared: it was finite, and could have been wrong."""


@lru_cache(maxsize=1024)
def _compared(
    one: Graph, other: Graph, splats: tuple[tuple[int, str], ...], rounds: bool
) -> _Comparison:
    """Two graphs over the same tensors, run on the same inputs."""
    contradiction = misfit(one) or misfit(other)
    if contradiction:
        raise OracleError(
            f"oracle: expected sizes that go together, but got {contradiction}; skip the check"
        )
    fixed: dict[int, Array] = {}
    for t, splat in splats:
        value = constant(splat, one.types[t].element)
        if value is not None:
            fixed[t] = np.full(one.types[t].shape, value)
    inputs, wanted, bounds = chosen_inputs(one, fixed)
    found, beside = evaluate_bounded(other, inputs)
    allowed = [
        total(
            bounds.get(t),
            beside.get(t),
            _rounded(wanted[t], one.types[t].element) if rounds else None,
        )
        for t in one.outputs
    ]
    reason = difference(
        [found[t] for t in one.outputs],
        [wanted[t] for t in one.outputs],
        [np.zeros(()) if error is None else error for error in allowed],
    )
    conclusive = not any(
        unsuitable(wanted[t], error) for t, error in zip(one.outputs, allowed, strict=True)
    )
    return _Comparison(f"{_DIFFERS}: {reason}" if reason else "", conclusive)


def _rounded(wanted: Array, element: str) -> Array:
    """What a result may be off by where constants behind it are rounded otherwise."""
    sizes = np.abs(wanted).astype(np.float64)
    largest = float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))
    return np.full(wanted.shape, _ROUNDINGS * unit_roundoff(element) * largest)


def _largest(graph: Graph, index: int, found: Expression, around: Sequence[Op]) -> int:
    """Elements of the largest tensor that a check reads or makes."""
    types = (*graph.types, *found.types)
    ops = (*around, graph.ops[index], *found.ops)
    return max(types[t].elements for op in ops for t in (*op.inputs, *op.outputs))


def _work(op: Op) -> float:
    if not isinstance(op, Structured):
        return 0.0
    points = math.prod(map(planned, op.domain))
    return points / 10 if is_matmul(op) else points * (1 + len(op.body.ops)) / 4


def _linked(graph: Graph, index: int, found: Expression) -> list[Op]:
    """The ops that compute some of what both sides read from the rest of it.

    What holds behind these alone holds whatever the other tensors are. It is tried first: far less
    is computed, the values lie where they show most, and rewrites of like ops become one check.
    """
    inside = {t for op in found.ops for t in op.outputs}
    if {t for op in found.ops for t in op.inputs} - inside <= {*graph.ops[index].inputs}:
        return []
    return _around(graph, index, found, (_follows, _joins))


def _follows(op: Op, read: set[int], known: set[int]) -> bool:
    """Whether an op computes something from known tensors alone."""
    return all(t in known for t in op.inputs)


def _joins(op: Op, read: set[int], known: set[int]) -> bool:
    """Whether an op computes some of the tensors that are read from others of them."""
    return not read.isdisjoint(op.outputs) and not read.isdisjoint(op.inputs)


def _touches(op: Op, read: set[int], known: set[int]) -> bool:
    """Whether an op reads something that is known."""
    return not known.isdisjoint(op.inputs)


def _around(
    graph: Graph,
    index: int,
    found: Expression,
    links: Sequence[_Link] = (_follows, _joins, _touches),
) -> list[Op]:
    """The ops that compute some of what both sides read from other tensors that they read.

    ``links``: which ops those are, in turn; of several that make a tensor the first one counts.
    """
    inside = {t for op in found.ops for t in op.outputs}
    read = {t for op in found.ops for t in op.inputs if t not in inside}
    read.update(graph.ops[index].inputs)
    known = {*read, *graph.splats}
    behind = [graph.ops[i] for i in sorted(_behind(graph, read, index))]
    candidates = [op for op in behind if not isinstance(op, Constant | Opaque)]
    taken: set[int] = set()
    ops: list[Op] = []
    for links_them in links:
        for op in candidates:
            if taken.isdisjoint(op.outputs) and links_them(op, read, known):
                ops.append(op)
                known.update(op.outputs)
                taken.update(op.outputs, op.inputs)
    return list(live_ops(ops, read)[0])


def _all_behind(graph: Graph, index: int, found: Expression) -> list[Op]:
    """The ops that compute what both sides read, in their first form, back to what is given."""
    inside = {t for op in found.ops for t in op.outputs}
    pending = [t for op in found.ops for t in op.inputs if t not in inside]
    pending += graph.ops[index].inputs
    chosen: set[int] = set()
    while pending:
        first = next(iter(graph.producers[pending.pop()]), index)
        if first in chosen or first == index or isinstance(graph.ops[first], Constant | Opaque):
            continue
        chosen.add(first)
        pending += graph.ops[first].inputs
    return [graph.ops[i] for i in sorted(chosen)]


def _behind(graph: Graph, tensors: Iterable[int], index: int) -> set[int]:
    """Ops that tensors come from, a few steps back, but for the one that is rewritten."""
    found: set[int] = set()
    made = set(graph.ops[index].outputs)
    at = set(tensors)
    for _ in range(_AROUND):
        new = {i for t in at if t not in made for i in graph.producers[t]} - found
        found |= new
        at = {t for i in new for t in graph.ops[i].inputs}
    return {i for i in found if not made & set(graph.ops[i].outputs)}
