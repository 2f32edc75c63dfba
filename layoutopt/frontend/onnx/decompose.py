"""Ops that IREE does not import, decomposed: ``python -m ... MODEL OUTPUT FOLDER OP``.

What ONNX defines by other ops (Attention, RMSNormalization, RotaryEmbedding and forty more) becomes
these; the rest is written here. Sizes that follow from known shapes are computed in advance, as the
importer wants them. In a process of its own: shape inference and inliner are native code, and may
crash on what a user gives; the model's weights are in memory twice.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

import onnx
import onnx_ir
from onnx import defs, helper, inliner, shape_inference
from onnxscript import optimizer

from layoutopt.frontend.onnx import fourier, recurrent, sampling
from layoutopt.frontend.onnx.contents import DOMAINS
from layoutopt.frontend.onnx.nodes import Builder, Known, Nodes, known

_OWN: Mapping[str, Callable[[onnx.NodeProto, Known, Builder], Nodes | None]] = MappingProxyType(
    {
        "DFT": fourier.transform,
        "STFT": fourier.short_time,
        "GridSample": sampling.grid_sample,
        "RNN": recurrent.decomposed,
        "GRU": recurrent.decomposed,
        "LSTM": recurrent.decomposed,
    }
)
"""What ONNX itself does not define by other ops."""
_DOMAIN = "decomposed"
"""Of the functions that are put in place of ops."""


def decomposed(model: onnx.ModelProto, kind: str) -> tuple[onnx.ModelProto, tuple[str, ...]]:
    """The model without ops of a kind, as far as that is known, and the kinds that changed.

    With them go all that `_OWN` knows: of these, IREE's message does not always name the op.
    """
    if model.functions:
        model = inliner.inline_local_functions(model)
    inferred = shape_inference.infer_shapes(model, data_prop=True)
    work = _Work(kind, model)
    changed = set(work.replaced(model.graph, inferred.graph))
    if not model.functions:
        return model, tuple(sorted(changed))
    model.opset_import.append(helper.make_opsetid(_DOMAIN, 1))
    return inliner.inline_local_functions(model, convert_version=True), tuple(sorted(changed))


class _Work:
    """The decomposition of one model."""

    def __init__(self, kind: str, model: onnx.ModelProto) -> None:
        self._kind = kind
        self._model = model
        self._opset = next((o.version for o in model.opset_import if o.domain in DOMAINS), 1)
        self._names = _names(model.graph)

    def replaced(self, graph: onnx.GraphProto, inferred: onnx.GraphProto) -> Iterator[str]:
        """Write nodes in place of those that are decomposed; their kinds.

        ``inferred``: the same graph with what shape inference finds. That stays out of the model:
        of a few ops (STFT) it is wrong.
        """
        told = known(inferred, self._opset)
        nodes: Nodes = []
        for node, same in zip(graph.node, inferred.node, strict=True):
            for inner, told_inner in zip(_inner(node), _inner(same), strict=True):
                yield from self.replaced(inner, told_inner)
            made = self._made(node, told) if node.domain in DOMAINS else None
            if made is None:
                nodes.append(node)
            else:
                yield node.op_type
                nodes += made
        del graph.node[:]
        graph.node.extend(nodes)

    def _made(self, node: onnx.NodeProto, told: Known) -> Nodes | None:
        """What stands for a node; None where it stays."""
        if own := _OWN.get(node.op_type):
            return own(node, told, Builder(self._names))
        if node.op_type != self._kind:
            return None
        body = _body(node, self._opset, told)
        if body is None:
            return None
        body.domain, body.name = _DOMAIN, f"{node.op_type}_{len(self._model.functions)}"
        self._model.functions.append(body)
        call = onnx.NodeProto()
        call.CopyFrom(node)
        call.domain, call.op_type = body.domain, body.name
        return [call]


def _body(node: onnx.NodeProto, opset: int, told: Known) -> onnx.FunctionProto | None:
    """The ops that ONNX defines a node by; None where it does not, or where types are unknown."""
    if not defs.has(node.op_type, max_inclusive_version=opset):
        return None
    schema: Any = defs.get_schema(node.op_type, max_inclusive_version=opset)
    versions = [v for v in schema.all_function_opset_versions if v <= opset]
    if not versions:
        return None
    body = onnx.FunctionProto()
    if max(versions) not in schema.context_dependent_function_opset_versions:
        body.ParseFromString(schema.get_function_with_opset_version(max(versions)))
        return body
    types = [told.type_of(name) for name in node.input]
    if any(name and t is None for name, t in zip(node.input, types, strict=True)):
        return None
    given = [b"" if t is None else t.SerializeToString() for t in types]
    text = schema.get_context_dependent_function_with_opset_version(
        max(versions), node.SerializeToString(), given
    )
    body.ParseFromString(text)
    return body if body.node else None


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """All nodes, those of inner graphs too."""
    for node in graph.node:
        yield node
        for inner in _inner(node):
            yield from _nodes(inner)


def _inner(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _names(graph: onnx.GraphProto) -> Iterator[str]:
    """Names that no tensor of a graph has."""
    taken = {name for node in _nodes(graph) for name in (*node.input, *node.output)}
    taken |= {v.name for v in (*graph.input, *graph.output, *graph.initializer)}
    return (name for i in count() if (name := f"decomposed_{i}") not in taken)


def write(path: Path, output: Path, beside: Path, kind: str) -> tuple[str, ...]:
    """Write a model that is decomposed; the kinds of op that changed, none where nothing did.

    ``beside``: the folder of files that hold its tensors. They are referred to by the same names.
    """
    model, changed = decomposed(onnx.load(str(path), load_external_data=False), kind)
    if not changed:
        return ()
    made = onnx_ir.from_proto(model)
    onnx_ir.external_data.set_base_dir(made.graph, beside)
    # No more of the optimizer: its rewrites fuse Min of Max into a Clip without its bounds.
    optimizer.fold_constants(made, onnx_shape_inference=True)
    optimizer.remove_unused_nodes(made)
    onnx.save(onnx_ir.to_proto(made), str(output))
    return changed


if __name__ == "__main__":
    _path, _output, _beside, _kind = sys.argv[1:]
    print(json.dumps(write(Path(_path), Path(_output), Path(_beside), _kind)))
