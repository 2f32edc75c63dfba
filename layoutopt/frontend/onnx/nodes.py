"""Nodes of ONNX graphs, and what is known of their tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from layoutopt.ir.types import Array

Nodes = list[onnx.NodeProto]


@dataclass(frozen=True)
class Known:
    """What shape inference and the constants of a graph tell.

    ``constants``: those that are in the model file itself.
    """

    opset: int
    types: Mapping[str, onnx.TypeProto.Tensor]
    constants: Mapping[str, Array]

    def type_of(self, tensor: str) -> onnx.TypeProto | None:
        """A tensor's type; None where it is unknown."""
        found = self.types.get(tensor)
        return None if found is None else onnx.TypeProto(tensor_type=found)

    def shape(self, tensor: str) -> list[int | None] | None:
        """Sizes, None for one that is known at run time only; None where not even the rank is."""
        found = self.types.get(tensor)
        if found is None or not found.HasField("shape"):
            return None
        return [d.dim_value if d.HasField("dim_value") else None for d in found.shape.dim]

    def dtype(self, tensor: str) -> np.dtype[np.generic] | None:
        """The element type; None where that is unknown."""
        found = self.types.get(tensor)
        return None if found is None else helper.tensor_dtype_to_np_dtype(found.elem_type)


def known(graph: onnx.GraphProto, opset: int) -> Known:
    """What is known of a graph behind ``onnx.shape_inference``."""
    values = (*graph.value_info, *graph.input, *graph.output)
    types = {v.name: v.type.tensor_type for v in values if v.type.HasField("tensor_type")}
    constants: dict[str, Array] = {}
    for tensor in graph.initializer:
        types.setdefault(tensor.name, _type_of(tensor))
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            constants[tensor.name] = numpy_helper.to_array(tensor)
    for node in graph.node:
        value = attributes(node).get("value") if node.op_type == "Constant" else None
        if isinstance(value, onnx.TensorProto):
            constants[node.output[0]] = numpy_helper.to_array(value)
    return Known(opset, types, constants)


def _type_of(tensor: onnx.TensorProto) -> onnx.TypeProto.Tensor:
    made = helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
    return made.tensor_type


def attributes(node: onnx.NodeProto) -> dict[str, object]:
    """The attributes of a node as Python values."""
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def operand(node: onnx.NodeProto, position: int) -> str:
    """An operand's name; empty where it is left out."""
    return node.input[position] if position < len(node.input) else ""


def result(node: onnx.NodeProto, position: int) -> str:
    """A result's name; empty where nothing reads it."""
    return node.output[position] if position < len(node.output) else ""


@dataclass
class Builder:
    """Writes nodes; what they compute gets names that the graph does not have."""

    names: Iterator[str]
    nodes: Nodes = field(default_factory=list)

    def add(self, kind: str, operands: Sequence[str], result: str = "", **attributes: Any) -> str:
        """One node with one result; the name of that."""
        name = result or next(self.names)
        self.nodes.append(helper.make_node(kind, operands, [name], **attributes))
        return name

    def constant(self, value: Array) -> str:
        """A tensor that is written into the graph."""
        return self.add("Constant", [], value=numpy_helper.from_array(np.ascontiguousarray(value)))

    def sizes(self, *values: int) -> str:
        """A 1-D tensor of sizes, as Reshape and Slice take them."""
        return self.constant(np.array(values, np.int64))
