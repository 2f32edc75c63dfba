"""Sequences of several lengths in one batch, of which recurrent nodes read all steps.

What a node computes behind a sequence's end counts as zero; its last state is read where the
sequence ends. The state of an LSTM's cells is a result at the very last step only, so the steps
behind the end leave it as it is: an input that is 1 there opens the forget gate and closes the
input gate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

from layoutopt.frontend.onnx.contents import LENGTHS
from layoutopt.frontend.onnx.nodes import Builder, Known, operand
from layoutopt.ir.types import Array

_OPEN = 1e4
"""The sigmoid of it is 1, that of its negative 0, in every element type and beside any weights."""
_INPUT_GATE, _FORGET_GATE, _GATES = 0, 2, 4
"""Of the rows of an LSTM's weights."""


@dataclass(frozen=True)
class Ends:
    """Where each sequence of a batch ends; `ends_of` makes it."""

    builder: Builder
    lengths: str
    """``[1, 1, batch, 1]``."""
    steps: str
    """The number of each, ``[time, 1, 1, 1]``."""
    inside: str
    """Whether a step is in the sequence, ``[time, 1, batch, 1]``."""
    inputs: int
    hidden: int
    zero: Array
    """Of the element type of weights and results, without dims."""

    def reversed(self, sequence: str, of_results: bool) -> str:
        """Each sequence reversed within its own length.

        ``sequence``: ``[time, batch, inputs]``, of results ``[time, 1, batch, hidden]``.
        """
        add, sizes = self.builder.add, self.builder.sizes
        back = add("Sub", [self._last_step(), self.steps])
        index = add("Where", [self.inside, back, self.steps])
        if of_results:
            index = add("Expand", [index, sizes(1, 1, 1, self.hidden)])
        else:
            index = add("Reshape", [index, sizes(0, -1, 1)])
            index = add("Expand", [index, sizes(1, 1, self.inputs)])
        return add("GatherElements", [sequence, index], axis=0)

    def ended(self, results: str) -> str:
        """``[time, 1, batch, hidden]`` with zeros behind the end of each sequence."""
        return self.builder.add("Where", [self.inside, results, self._zero()])

    def last(self, results: str) -> str:
        """What is computed at the last step of each sequence, zero where it has none.

        ``results``: ``[time, 1, batch, hidden]``; returns ``[1, batch, hidden]``.
        """
        add, sizes = self.builder.add, self.builder.sizes
        index = add("Where", [self._has_steps(), self._last_step(), self._number(0)])
        index = add("Expand", [index, sizes(1, 1, 1, self.hidden)])
        found = add("GatherElements", [results, index], axis=0)
        found = add("Where", [self._has_steps(), found, self._zero()])
        return add("Reshape", [found, sizes(1, -1, self.hidden)])

    def kept(self, sequence: str, weights: str) -> tuple[str, str]:
        """A sequence, and weights ``[1, 4 * hidden, inputs]``, that leave cells behind the end.

        Both have one input more.
        """
        add = self.builder.add
        inside = add("Reshape", [self.inside, self.builder.sizes(0, -1, 1)])
        shown = add("Where", [inside, sequence, self._zero()])
        one = self.builder.constant(np.ones_like(self.zero))
        behind = add("Where", [inside, self._zero(), one])
        gates = np.zeros((_GATES, self.hidden), self.zero.dtype)
        gates[_INPUT_GATE], gates[_FORGET_GATE] = -_OPEN, _OPEN
        column = self.builder.constant(gates.reshape(1, -1, 1))
        return add("Concat", [shown, behind], axis=2), add("Concat", [weights, column], axis=2)

    def last_cells(self, cells: str) -> str:
        """``[1, batch, hidden]`` with zeros where a sequence has no step."""
        add = self.builder.add
        has_steps = add("Reshape", [self._has_steps(), self.builder.sizes(1, -1, 1)])
        return add("Where", [has_steps, cells, self._zero()])

    def _last_step(self) -> str:
        return self.builder.add("Sub", [self.lengths, self._number(1)])

    def _has_steps(self) -> str:
        return self.builder.add("Less", [self._number(0), self.lengths])

    def _zero(self) -> str:
        return self.builder.constant(self.zero)

    def _number(self, value: int) -> str:
        return self.builder.constant(np.array(value))


def ends_of(
    node: onnx.NodeProto, sequence: str, steps: int | None, known: Known, builder: Builder
) -> Ends | None:
    """The ends of a recurrent node's sequences; None where its weights are not known enough.

    ``sequence``: ``[time, batch, inputs]``. ``steps``: how many, None where that is known at run
    time only.
    """
    weights, recurrence = (operand(node, position) for position in (1, 2))
    element = known.dtype(weights)
    inputs, hidden = ((known.shape(name) or [None])[-1] for name in (weights, recurrence))
    if element is None or inputs is None or hidden is None:
        return None
    add, number = builder.add, builder.constant
    lengths = add("Cast", [operand(node, LENGTHS)], to=onnx.TensorProto.INT64)
    lengths = add("Reshape", [lengths, builder.sizes(1, 1, -1, 1)])
    if steps is None:
        first = number(np.array(0))
        count = add("Gather", [add("Shape", [sequence]), first], axis=0)
        numbers = add("Range", [first, count, number(np.array(1))])
    else:
        numbers = number(np.arange(steps))
    numbers = add("Reshape", [numbers, builder.sizes(-1, 1, 1, 1)])
    inside = add("Less", [numbers, lengths])
    zero = np.zeros((), element)
    return Ends(builder, lengths, numbers, inside, inputs, hidden, zero)
