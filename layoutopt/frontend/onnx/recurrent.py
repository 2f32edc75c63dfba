"""RNN, GRU and LSTM of any direction and layout, as those that run forward, time first.

A reverse one is a forward one on the reversed sequence, its results reversed again; a
bidirectional one is both, their results put together along the dim of directions. Sequences of
several lengths are those of one whose steps behind the end do not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx

from layoutopt.frontend.onnx.contents import LENGTHS, PEEPHOLES
from layoutopt.frontend.onnx.ends import Ends, ends_of
from layoutopt.frontend.onnx.nodes import Builder, Known, Nodes, attributes, operand, result

_STATES = MappingProxyType({"RNN": 1, "GRU": 1, "LSTM": 2})
_ACTIVATIONS = MappingProxyType({"RNN": 1, "GRU": 2, "LSTM": 3})
"""Of each direction."""
_WEIGHTS, _FIRST_STATE = 1, 5
_CELLS = 2
"""The result of an LSTM."""
_OLDEST_OPSET = 11
"""Of those that have all that lengths are written with."""
_SATURATED = frozenset({b"sigmoid", b"hardsigmoid"})
"""Functions that are 0 or 1 of any number that is large enough."""
_TO_TIME_FIRST = (1, 0, 2)
_TO_BATCH_FIRST = (2, 0, 1, 3)
"""Of the sequence of results, ``[time, direction, batch, hidden]``."""


def decomposed(node: onnx.NodeProto, known: Known, builder: Builder) -> Nodes | None:
    """Forward nodes over sequences of one length in place of one; None where it is one of these.

    None as well where lengths are given and nothing is known to keep what is asked for: the state
    of cells whose gates do not close.
    """
    told: dict[str, Any] = attributes(node)
    direction = told.pop("direction", b"forward").decode()
    batch_first = told.pop("layout", 0) == 1
    if direction == "forward" and not batch_first and not operand(node, LENGTHS):
        return None
    sequence = operand(node, 0)
    shape = known.shape(sequence)
    steps = shape[1 if batch_first else 0] if shape else None
    if batch_first:
        sequence = builder.add("Transpose", [sequence], perm=_TO_TIME_FIRST)
    ends = None
    if _ends_early(node, known, steps):
        ends = ends_of(node, sequence, steps, known, builder)
        if ends is None or known.opset < _OLDEST_OPSET or not _keeps_cells(node, told):
            return None
    cell = _Cell(node, told, batch_first, builder, sequence, ends)
    backward = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[direction]
    parts = [cell.one(index, is_back) for index, is_back in enumerate(backward)]
    for position, name in enumerate(node.output):
        if name:
            cell.join([part[position] for part in parts], position, name)
    return builder.nodes


def _ends_early(node: onnx.NodeProto, known: Known, steps: int | None) -> bool:
    """Whether a sequence may end before the last step."""
    given = operand(node, LENGTHS)
    told = known.constants.get(given)
    return bool(given) and (told is None or steps is None or bool((told != steps).any()))


def _keeps_cells(node: onnx.NodeProto, told: Mapping[str, Any]) -> bool:
    """Whether gates that are open or closed can leave cells as they are, or none are read."""
    functions = told.get("activations", [b"Sigmoid"])[:: _ACTIVATIONS[node.op_type]]
    saturate = {name.lower() for name in functions} <= _SATURATED
    return not result(node, _CELLS) or (saturate and "clip" not in told)


@dataclass(frozen=True)
class _Cell:
    """The node that is decomposed."""

    node: onnx.NodeProto
    told: Mapping[str, Any]
    """Its attributes but those of direction and layout."""
    batch_first: bool
    builder: Builder
    sequence: str
    """``[time, batch, inputs]``."""
    ends: Ends | None
    """None where no sequence ends before its last step."""

    def one(self, index: int, is_back: bool) -> list[str]:
        """The results of one direction, time first; a name for each, read or not."""
        builder, ends = self.builder, self.ends
        sequence = self._reversed(self.sequence) if is_back else self.sequence
        operands = [
            self._of_direction(position, index)
            if operand(self.node, position) and position != LENGTHS
            else ""
            for position in range(len(self.node.input))
        ]
        keeps_cells = ends is not None and bool(result(self.node, _CELLS))
        if ends is not None and keeps_cells:
            sequence, operands[_WEIGHTS] = ends.kept(sequence, operands[_WEIGHTS])
        operands[0] = sequence
        names = [next(builder.names) for _ in range(1 + _STATES[self.node.op_type])]
        made = onnx.helper.make_node(self.node.op_type, operands, names, **self._attributes(index))
        builder.nodes.append(made)
        if ends is not None:
            names[1] = ends.last(names[0])
            names[0] = ends.ended(names[0])
            if keeps_cells:
                names[_CELLS] = ends.last_cells(names[_CELLS])
        if is_back and result(self.node, 0):
            names[0] = self._reversed(names[0], of_results=True)
        return names

    def join(self, parts: list[str], position: int, name: str) -> None:
        """The results of all directions as one, in the node's own layout."""
        builder = self.builder
        axis, back = (1, _TO_BATCH_FIRST) if position == 0 else (0, _TO_TIME_FIRST)
        if self.batch_first:
            joined = builder.add("Concat", parts, axis=axis)
            builder.add("Transpose", [joined], name, perm=back)
        else:
            builder.add("Concat", parts, name, axis=axis)

    def _of_direction(self, position: int, index: int) -> str:
        """One direction of an operand that has a dim for them, which stays."""
        builder = self.builder
        given = operand(self.node, position)
        if self.batch_first and _FIRST_STATE <= position < PEEPHOLES:
            given = builder.add("Transpose", [given], perm=_TO_TIME_FIRST)
        bounds = builder.sizes(index), builder.sizes(index + 1), builder.sizes(0)
        return builder.add("Slice", [given, *bounds])

    def _reversed(self, sequence: str, of_results: bool = False) -> str:
        builder = self.builder
        if self.ends is not None:
            return self.ends.reversed(sequence, of_results)
        last, past_first = builder.sizes(-1), builder.sizes(np.iinfo(np.int64).min + 1)
        bounds = last, past_first, builder.sizes(0), builder.sizes(-1)
        return builder.add("Slice", [sequence, *bounds])

    def _attributes(self, index: int) -> dict[str, Any]:
        """What holds for one direction: lists name the functions of all, one after the other."""
        told = dict(self.told)
        each = _ACTIVATIONS[self.node.op_type]
        if names := told.get("activations"):
            several = len(names) > each
            told["activations"] = names[index * each : (index + 1) * each] if several else names
            for name in ("activation_alpha", "activation_beta"):
                if several and name in told:
                    half = len(told[name]) // 2
                    told[name] = told[name][index * half : (index + 1) * half]
        return told
