#!/usr/bin/env python3
"""Quantize the convolutions and matmuls of an f32 ONNX model, calibrated on one input.

Every Conv, MatMul and Gemm reads its operands through QuantizeLinear and DequantizeLinear (QDQ),
and so is its result written, behind the Relu or Clip that follows it. Activations are uint8 with a
zero point of their own, weights int8 per output channel around zero, biases int32.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

Array = npt.NDArray[np.float32]

_CLAMPS = ("Relu", "Clip")


def quantized(model: onnx.ModelProto, seed: int = 0) -> onnx.ModelProto:
    """The model with quantized operands; ranges are those of one run on normal numbers."""
    return _Quantizer(model, _ranges(model, seed)).model()


def _ranges(model: onnx.ModelProto, seed: int) -> dict[str, tuple[float, float]]:
    """Least and largest value of every f32 tensor, zero among them."""
    rng = np.random.default_rng(seed)
    fed = {
        value.name: rng.standard_normal(
            [d.dim_value for d in value.type.tensor_type.shape.dim], dtype=np.float32
        )
        for value in model.graph.input
    }
    found = ReferenceEvaluator(model).run(None, fed, intermediate=True)
    assert isinstance(found, dict), "intermediate results come by name"
    return {
        name: (min(0.0, float(array.min())), max(0.0, float(array.max())))
        for name, array in {**fed, **found}.items()
        if isinstance(array, np.ndarray) and array.dtype == np.float32 and array.size
    }


class _Quantizer:
    def __init__(self, model: onnx.ModelProto, ranges: dict[str, tuple[float, float]]) -> None:
        self.source = model
        self.ranges = ranges
        self.weights = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
        self.readers: dict[str, list[onnx.NodeProto]] = {}
        for node in model.graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}
        self.read_as: dict[str, str] = {}
        """The dequantized tensor that stands for an f32 one."""

    def model(self) -> onnx.ModelProto:
        """The quantized model."""
        graph = self.source.graph
        held: set[str] = set()
        for node in graph.node:
            made = onnx.NodeProto()
            made.CopyFrom(node)
            inputs = [self.read_as.get(name, name) for name in node.input]
            if node.op_type in ("Conv", "MatMul", "Gemm") and node.input[1] in self.weights:
                inputs = self._operands(node)
            made.input[:] = inputs
            self.nodes.append(made)
            clamped = self._clamped(node.output[0])
            if node.op_type in ("Conv", "MatMul", "Gemm", "Add") and clamped is None:
                held.add(node.output[0])
            if node.op_type in _CLAMPS and node.output[0] == self._clamped(node.input[0]):
                held.add(node.output[0])
            if node.output[0] in held and node.output[0] in self.readers:
                self._activation(node.output[0])
        read = {name for node in self.nodes for name in node.input}
        kept = [i for i in graph.initializer if i.name in read]
        quantized_graph = helper.make_graph(
            self.nodes,
            f"{graph.name}_int8",
            list(graph.input),
            list(graph.output),
            [*kept, *self.initializers.values()],
        )
        return helper.make_model(
            quantized_graph,
            opset_imports=list(self.source.opset_import),
            ir_version=self.source.ir_version,
        )

    def _clamped(self, name: str) -> str | None:
        """The result of the clamp that alone reads a tensor."""
        readers = self.readers.get(name, [])
        if len(readers) == 1 and readers[0].op_type in _CLAMPS:
            return str(readers[0].output[0])
        return None

    def _operands(self, node: onnx.NodeProto) -> list[str]:
        image = self._activation(node.input[0])
        weight = self.weights[node.input[1]]
        transposed = any(a.name == "transB" and a.i for a in node.attribute)
        axis = 0 if node.op_type == "Conv" or transposed else weight.ndim - 1
        others = tuple(d for d in range(weight.ndim) if d != axis)
        scales = np.maximum(np.abs(weight).max(axis=others), 1e-8).astype(np.float32) / np.float32(
            127
        )
        shape = [-1 if d == axis else 1 for d in range(weight.ndim)]
        integers = np.rint(weight / scales.reshape(shape)).astype(np.int8)
        zeros = np.zeros(scales.shape, np.int8)
        made = [image, self._dequantized(node.input[1], integers, scales, zeros, axis)]
        if len(node.input) > 2:
            bias_scales = scales * self._parameters(node.input[0])[0]
            bias = np.rint(self.weights[node.input[2]] / bias_scales).astype(np.int32)
            zeros = np.zeros(scales.shape, np.int32)
            made.append(self._dequantized(node.input[2], bias, bias_scales, zeros, 0))
        return made

    def _parameters(self, name: str) -> tuple[np.float32, np.uint8]:
        """Scale and zero point of an activation."""
        low, high = self.ranges[name]
        scale = np.float32(max(high - low, 1e-8) / 255)
        return scale, np.uint8(np.rint(-low / scale))

    def _activation(self, name: str) -> str:
        """The tensor as 8 bits and back."""
        if name in self.read_as:
            return self.read_as[name]
        scale, zero = self._parameters(name)
        parameters = [self._constant(f"{name}_scale", scale), self._constant(f"{name}_zero", zero)]
        for kind, source, result in (
            ("QuantizeLinear", name, f"{name}_quantized"),
            ("DequantizeLinear", f"{name}_quantized", f"{name}_dequantized"),
        ):
            self.nodes.append(helper.make_node(kind, [source, *parameters], [result], result))
        self.read_as[name] = f"{name}_dequantized"
        return self.read_as[name]

    def _dequantized(
        self,
        name: str,
        integers: npt.NDArray[np.int8 | np.int32],
        scales: Array,
        zeros: npt.NDArray[np.int8 | np.int32],
        axis: int,
    ) -> str:
        parts = (("quantized", integers), ("scale", scales), ("zero", zeros))
        operands = [self._constant(f"{name}_{part}", array) for part, array in parts]
        result = f"{name}_dequantized"
        node = helper.make_node("DequantizeLinear", operands, [result], result, axis=axis)
        if result not in self.read_as.values():
            self.nodes.append(node)
            self.read_as[name] = result
        return result

    def _constant(self, name: str, values: npt.ArrayLike) -> str:
        self.initializers[name] = numpy_helper.from_array(np.asarray(values), name)
        return name


def main(arguments: Sequence[str] | None = None) -> None:
    """Quantize the model named on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, metavar="MODEL.onnx")
    parser.add_argument("out", type=Path, metavar="OUT.onnx")
    options = parser.parse_args(arguments)
    onnx.save(quantized(onnx.load(options.model)), options.out)
    print(options.out, flush=True)


if __name__ == "__main__":
    main()
