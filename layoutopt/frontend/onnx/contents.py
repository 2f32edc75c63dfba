"""What an ONNX model holds: its kinds of op, and the files beside it that hold its tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

DOMAINS = frozenset({"", "ai.onnx"})
"""Both names of ONNX's own ops."""
LENGTHS = 4
"""The operand of RNN, GRU and LSTM that says how many steps each sequence has."""
PEEPHOLES = 7
"""The operand of an LSTM that holds them."""
_OPERANDS = MappingProxyType(
    {
        "RNN": {LENGTHS: "lengths"},
        "GRU": {LENGTHS: "lengths"},
        "LSTM": {LENGTHS: "lengths", PEEPHOLES: "peepholes"},
    }
)
_ATTRIBUTES = MappingProxyType({"RNN": frozenset({"clip"})})
"""What is said of a kind of op that has it."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What is to be known of a model before it is imported."""

    kinds: frozenset[str]
    """Of ONNX's own ops, those in branches, loops and functions too. Beside them what of their
    operands and attributes matters: ``LSTM with peepholes``."""
    files: tuple[str, ...]
    """Their paths relative to the model, sorted."""


def _parts(node: onnx.NodeProto) -> Iterator[str]:
    """The operands and attributes of a node that are told apart."""
    for position, name in _OPERANDS.get(node.op_type, {}).items():
        if any(node.input[position : position + 1]):
            yield name
    told = _ATTRIBUTES.get(node.op_type, frozenset())
    yield from (a.name for a in node.attribute if a.name in told)


def contents(model: Path) -> Contents:
    """Read a model that the importer reads, without what is in the files beside it."""
    import onnx  # noqa: PLC0415  (optional, and slow to import)
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data  # noqa: PLC0415

    kinds: set[str] = set()

    def tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
        yield from graph.initializer
        for node in graph.node:
            yield from attributes(node)

    def attributes(node: onnx.NodeProto) -> Iterator[onnx.TensorProto]:
        if node.domain in DOMAINS:
            kinds.add(node.op_type)
            kinds.update(f"{node.op_type} with {part}" for part in _parts(node))
        for attribute in node.attribute:
            yield attribute.t
            yield from attribute.tensors
            for graph in (attribute.g, *attribute.graphs):
                yield from tensors(graph)

    proto = onnx.load(str(model), load_external_data=False)
    found = [*tensors(proto.graph)]
    for function in proto.functions:
        for node in function.node:
            found += attributes(node)
    files = {ExternalDataInfo(t).location for t in found if uses_external_data(t)}
    return Contents(frozenset(kinds), tuple(sorted(files)))
