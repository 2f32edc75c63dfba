"""Files beside an ONNX model that hold its tensors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def external_files(model: Path) -> list[str]:
    """Their paths relative to the model, sorted."""
    import onnx  # noqa: PLC0415  (optional, and slow to import)
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data  # noqa: PLC0415

    def tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
        yield from graph.initializer
        for node in graph.node:
            yield from attributes(node)

    def attributes(node: onnx.NodeProto) -> Iterator[onnx.TensorProto]:
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
    return sorted({ExternalDataInfo(t).location for t in found if uses_external_data(t)})
