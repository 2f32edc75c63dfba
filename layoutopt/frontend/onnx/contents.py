"""What an ONNX model holds: its kinds of op, and the files beside it that hold its tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOMAINS = frozenset({"", "ai.onnx"})
"""Both names of ONNX's own ops."""
PEEPHOLES = 7
"""The operand of an LSTM that holds them."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What is to be known of a model before it is imported."""

    kinds: frozenset[str]
    """Of ONNX's own ops, those in branches, loops and functions too. ``LSTM with peepholes`` stands
    beside them."""
    files: tuple[str, ...]
    """Their paths relative to the model, sorted."""


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
            if node.op_type == "LSTM" and any(node.input[PEEPHOLES:]):
                kinds.add("LSTM with peepholes")
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
