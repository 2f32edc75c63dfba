"""RNN, GRU and LSTM of any direction and layout, as those that run forward, time first.

A reverse one is a forward one on the reversed sequence, its results reversed again; a
bidirectional one is both, their results put together along the dim of directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx

from layoutopt.frontend.onnx.contents import PEEPHOLES
from layoutopt.frontend.onnx.nodes import Builder, Known, Nodes, attributes, operand, result

_STATES = MappingProxyType({"RNN": 1, "GRU": 1, "LSTM": 2})
_ACTIVATIONS = MappingProxyType({"RNN": 1, "GRU": 2, "LSTM": 3})
"""Of each direction."""
_LENGTHS, _FIRST_STATE = 4, 5
_TO_TIME_FIRST = (1, 0, 2)
_TO_BATCH_FIRST = (2, 0, 1, 3)
"""Of the sequence of results, ``[time, direction, batch, hidden]``."""


def decomposed(node: onnx.NodeProto, known: Known, builder: Builder) -> Nodes | None:
    """Forward nodes in place of one; None where it is forward and time first, or has lengths.

    Sequences of several lengths are each reversed in place, which is not written here.
    """
    del known
    told: dict[str, Any] = attributes(node)
    direction = told.pop("direction", b"forward").decode()
    batch_first = told.pop("layout", 0) == 1
    if (direction == "forward" and not batch_first) or operand(node, _LENGTHS):
        return None
    cell = _Cell(node, told, batch_first, builder)
    backward = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[direction]
    parts = [cell.one(index, is_back) for index, is_back in enumerate(backward)]
    for position, name in enumerate(node.output):
        if name:
            cell.join([part[position] for part in parts], position, name)
    return builder.nodes


@dataclass(frozen=True)
class _Cell:
    """The node that is decomposed."""

    node: onnx.NodeProto
    told: Mapping[str, Any]
    """Its attributes but those of direction and layout."""
    batch_first: bool
    builder: Builder

    def one(self, index: int, is_back: bool) -> list[str]:
        """The results of one direction, time first; a name for each, read or not."""
        builder = self.builder
        sequence = operand(self.node, 0)
        if self.batch_first:
            sequence = builder.add("Transpose", [sequence], perm=_TO_TIME_FIRST)
        if is_back:
            sequence = self._reversed(sequence)
        rest = [
            self._of_direction(position, index) if operand(self.node, position) else ""
            for position in range(1, len(self.node.input))
        ]
        names = [next(builder.names) for _ in range(1 + _STATES[self.node.op_type])]
        made = onnx.helper.make_node(
            self.node.op_type, [sequence, *rest], names, **self._attributes(index)
        )
        builder.nodes.append(made)
        if is_back and result(self.node, 0):
            names[0] = self._reversed(names[0])
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

    def _reversed(self, sequence: str) -> str:
        builder = self.builder
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
