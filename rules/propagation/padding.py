"""What an op makes of padding: proved to hold what the layout requires, else masked.

A loop whose tile does not divide it runs past its end. What its body computes there is known
where all that it reads there is known: ``relu(0) = 0``, ``0 * 0 = 0``, ``max(-inf, -inf) = -inf``.
Two things have to be right: a reduction may fold nothing in that its op does not ignore (0 where it
adds, minus infinity where it takes the largest), and the padding of a result is what its layout
requires. Where that is not proved, the body selects by its index; a contraction is refused
instead, since with a select it would be none.

An x that is read inside a tensor may be Inf or NaN, and ``0 * x`` is then NaN: only integers keep
zeros beside it. So a contraction of floats leaves anything where it runs past the end of a result,
while the sums inside, over zeros of both operands, stay what they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from layoutopt.ir.graph import Fill, FromTensor, Structured
from layoutopt.ir.neutral import Padding, neutral
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.scalar import ScalarOp, is_reassociable
from layoutopt.ir.types import Array, TensorType, numpy_dtype
from layoutopt.oracle.constant import constant
from layoutopt.rules.propagation.known import State, Unknown, applied, equal

_TRAPS = (
    "arith.divsi",
    "arith.divui",
    "arith.remsi",
    "arith.remui",
    "arith.ceildivsi",
    "arith.ceildivui",
    "arith.floordivsi",
    "math.ipowi",
)
"""Padding may be zero, and processors stop there."""


@dataclass(frozen=True, slots=True)
class Mask:
    """What counts in place of a body's value where one of ``loops`` is past its end.

    ``value`` as MLIR text; None: the accumulator stays as it is.
    """

    loops: tuple[int, ...]
    value: str | None


Masks = Mapping[int, tuple[Mask, ...]]
"""By position of the result; of a reduction they apply to what is folded in."""


def masks(
    op: Structured,
    layouts: Assignment,
    types: Sequence[TensorType],
    padded: tuple[int, ...],
) -> Masks | Refusal:
    """The masks that make an op right where its ``padded`` loops run past their end."""
    if not padded:
        return {}
    traps = [o.name for o in op.body.ops if o.name in _TRAPS]
    if traps:
        return Refusal(f"expected no integer division over a padded loop, but got {traps[0]}")
    found: dict[int, tuple[Mask, ...]] = {}
    for position in range(len(op.results)):
        values = _Values(op, layouts, types, padded, position)
        made = _unproved(values) or (
            _of_reduction(values) if op.reduction_dims else _of_elementwise(values)
        )
        if isinstance(made, Refusal):
            return made
        if made and op.is_contraction:
            return Refusal(
                f"expected zeros in the padding of a contraction, but got {values.paddings}"
            )
        if made:
            found[position] = made
    return found


class _Values:
    """One result of an op, and what its body computes past the end of loops."""

    def __init__(
        self,
        op: Structured,
        layouts: Assignment,
        types: Sequence[TensorType],
        padded: tuple[int, ...],
        position: int,
    ) -> None:
        self.op, self.layouts, self.types, self.position = op, layouts, types, position
        self.result = op.results[position]
        self.element = types[self.result].element
        written = {d for form in op.result_maps[position] for d in form.dims}
        self.parallel = tuple(d for d in padded if d in written)
        self.reduced = tuple(d for d in padded if d not in written)
        required = layouts[self.result].padding
        self.required = None if required is Padding.ANY or not self.parallel else required

    @property
    def writes_all(self) -> bool:
        """Whether each dim of the result is a loop of its own, or has one element."""
        if 0 in self.op.domain:
            return False
        forms = zip(self.op.result_maps[self.position], self.types[self.result].shape, strict=True)
        loops = [form.plain_dim for form, n in forms if form.terms or n != 1]
        return None not in loops and len({*loops}) == len(loops)

    @property
    def paddings(self) -> str:
        """The padding of the inputs, for a refusal."""
        return " and ".join(self.layouts[t].padding.value for t in self.op.sources)

    def after(self, past: frozenset[int], value: int) -> State:
        """A value of the body where just the loops ``past`` are past their end."""
        op = self.op
        states: list[State] = [
            self._state_of(t, {d for form in m for d in form.dims} & past)
            for t, m in zip(op.sources, op.source_maps, strict=True)
        ]
        states += [
            Unknown.SPOILED if op.reduction_dims else self.init(past, i)
            for i in range(len(op.inits))
        ]
        for scalar in op.body.ops:
            states.append(applied(scalar, [states[o] for o in scalar.operands]))
        return states[value]

    def init(self, past: frozenset[int], position: int) -> State:
        """The init of a result there."""
        init = self.op.inits[position]
        if isinstance(init, Fill):
            value = constant(init.value, self.types[self.op.results[position]].element)
            return Unknown.SPOILED if value is None else value
        if isinstance(init, FromTensor):
            return self._state_of(init.tensor, past)
        return Unknown.SPOILED

    def _state_of(self, tensor: int, past: frozenset[int] | set[int]) -> State:
        if not past:
            return Unknown.READ
        padding = self.layouts[tensor].padding
        dtype = numpy_dtype(self.types[tensor].element)
        if padding is Padding.ANY or dtype is None:
            return Unknown.SPOILED
        return np.asarray(padding.number(dtype), dtype)

    def required_value(self) -> Array | None:
        """The value that the result's padding has to hold; None where any will do."""
        dtype = numpy_dtype(self.element)
        if self.required is None or dtype is None:
            return None
        return np.asarray(self.required.number(dtype), dtype)


def _unproved(values: _Values) -> Refusal | None:
    """Why no mask can give the required padding: an unknown number, or where no point writes."""
    if values.required is None:
        return None
    goal = values.required_value()
    if goal is None:
        return Refusal(f"expected an element type with a neutral element, but got {values.element}")
    inits = [values.init(past, values.position) for past in _subsets(values.parallel)]
    if values.writes_all or all(equal(init, goal) for init in inits):
        return None
    return Refusal(
        f"expected {values.required.value} in the padding where nothing is written, "
        "but the init of the result is another value"
    )


def _of_elementwise(values: _Values) -> tuple[Mask, ...] | Refusal:
    op, goal = values.op, values.required_value()
    if values.reduced:
        return Refusal(f"expected padded loops in every result, but d{values.reduced[0]} is not")
    if values.required is None:
        return ()
    guarded: dict[int, None] = {}
    for past in _subsets(values.parallel):
        value = values.after(past, op.body.yields[values.position])
        if not past & guarded.keys() and not equal(value, goal):
            guarded |= dict.fromkeys(sorted(past))
    return _mask(tuple(guarded), values.required.text(values.element), values)


def _of_reduction(values: _Values) -> tuple[Mask, ...] | Refusal:
    op = values.op
    outside = [d for d in values.reduced if d not in op.reduction_dims]
    if outside:
        return Refusal(f"expected padded loops in every result, but d{outside[0]} is not")
    folding = op.body.op_of(op.body.yields[values.position])
    ignored = neutral(folding.name, values.element) if folding is not None else None
    if folding is None or ignored is None or not is_reassociable(op.body, len(op.results)):
        return _in_order(values)
    accumulator = len(op.sources) + values.position
    (folded,) = (v for v in folding.operands if v != accumulator)
    nothing = constant(ignored, values.element)
    guarded: dict[int, None] = {}
    for past in _subsets(values.reduced):
        if not past & guarded.keys() and not equal(values.after(past, folded), nothing):
            guarded |= dict.fromkeys(sorted(past))
    inner = _mask(tuple(guarded), ignored, values)
    outer = _required_of_reduction(values, folding, folded, frozenset(guarded))
    if isinstance(inner, Refusal) or isinstance(outer, Refusal):
        return inner if isinstance(inner, Refusal) else outer
    return (*outer, *inner)


def _required_of_reduction(
    values: _Values,
    folding: ScalarOp,
    folded: int,
    guarded: frozenset[int],
) -> tuple[Mask, ...] | Refusal:
    """Masks for the padding of a reduction's result: all that is folded in has to keep it."""
    goal = values.required_value()
    if goal is None or values.required is None:
        return ()
    wrong: dict[int, None] = {}
    for past in _subsets(values.parallel):
        init = values.init(past, values.position)
        for more in (frozenset[int](), *_subsets(values.reduced)):
            if more & guarded or past & wrong.keys():
                continue
            if not _keeps(folding, init, values.after(past | more, folded), goal):
                wrong |= dict.fromkeys(sorted(past))
    inits = [values.init(past, values.position) for past in _subsets(values.parallel)]
    if wrong and not all(_keeps(folding, init, goal, goal) for init in inits):
        return Refusal(
            f"expected a reduction that leaves {values.required.value} in the padding of its "
            f"result, but the init of {folding.name} is another value"
        )
    return _mask(tuple(wrong), values.required.text(values.element), values)


def _keeps(folding: ScalarOp, init: State, value: State, goal: Array) -> bool:
    """Whether folding a value in gives the goal at once, and again from there."""
    return all(equal(applied(folding, [state, value]), goal) for state in (init, goal))


def _in_order(values: _Values) -> tuple[Mask, ...] | Refusal:
    """A reduction that is not a plain fold: past the end its accumulator stays."""
    past = _subsets(values.parallel)
    goal = values.required_value()
    if goal is None:
        return _mask(values.reduced, None, values)
    if all(equal(values.init(p, values.position), goal) for p in past):
        return _mask((*values.parallel, *values.reduced), None, values)
    return Refusal(
        f"expected a reduction with init {goal} in the padding of its result, "
        "but its init is another value"
    )


def _mask(loops: tuple[int, ...], value: str | None, values: _Values) -> tuple[Mask, ...] | Refusal:
    if not loops:
        return ()
    if value is None and not values.op.reduction_dims:
        return Refusal(f"expected an element type with a neutral element, but got {values.element}")
    return (Mask(loops, value),)


def _subsets(loops: Sequence[int]) -> Iterator[frozenset[int]]:
    for size in range(1, len(loops) + 1):
        yield from map(frozenset, itertools.combinations(loops, size))
