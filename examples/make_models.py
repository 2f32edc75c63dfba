#!/usr/bin/env python3
"""Write real model graphs with random weights as ONNX files.

resnet50, squeezenet, densenet121, inception_v1 and others: the graphs that the `onnx` package
ships. Their weights are placeholders there and become random numbers of the same shapes here.
mobilenetv2, bert, attention, mlp: built node by node, in the form that exporters give them.

Weights are drawn so that activations keep their range and class scores stay soft: a wrong layout
then shows in the outputs (less so in shufflenet, whose trained scales make one class certain).
The same name and options give the same bytes.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference, version_converter

Array = npt.NDArray[np.float32]

OPSET = 17  # the first with LayerNormalization
IR_VERSION = 8
SHIPPED = Path(onnx.__file__).parent / "backend/test/data/light"


def normal(rng: np.random.Generator, shape: Sequence[int], std: float) -> Array:
    """Draw normally distributed weights around zero."""
    return rng.standard_normal(tuple(shape), dtype=np.float32) * np.float32(std)


def near_one(rng: np.random.Generator, shape: Sequence[int]) -> Array:
    """Draw positive factors, as a trained normalization has for scale and variance."""
    return rng.uniform(0.9, 1.1, tuple(shape)).astype(np.float32)


# Graphs that the onnx package ships


def shipped_names() -> list[str]:
    """The graphs that the onnx package ships."""
    return sorted(p.stem.removeprefix("light_") for p in SHIPPED.glob("light_*.onnx"))


def shipped(name: str) -> onnx.ModelProto:
    """Load a graph of the onnx package and put random weights where it has placeholders."""
    model = onnx.load(SHIPPED / f"light_{name}.onnx")
    graph = model.graph
    stored = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    nodes: list[onnx.NodeProto] = []
    placeholders: list[onnx.NodeProto] = []
    for node in graph.node:
        is_placeholder = node.op_type == "ConstantOfShape" and node.input[0] in stored
        (placeholders if is_placeholder else nodes).append(node)
    summed = {operand for node in nodes if node.op_type == "Sum" for operand in node.input}
    uses = {
        operand: (node.op_type, position, node.output[0] in summed)
        for node in nodes
        for position, operand in enumerate(node.input)
    }
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(
            shipped_weight(rng, stored[p.input[0]].tolist(), *uses[p.output[0]]), p.output[0]
        )
        for p in placeholders
    ]
    replaced = {p.input[0] for p in placeholders}
    kept = [i for i in graph.initializer if i.name not in replaced]
    fed = [i for i in graph.input if i.name not in stored]
    stripped = helper.make_graph(nodes, name, fed, list(graph.output), kept + weights)
    old = helper.make_model(stripped, opset_imports=model.opset_import, ir_version=IR_VERSION)
    return shape_inference.infer_shapes(version_converter.convert_version(old, OPSET))


def shipped_weight(
    rng: np.random.Generator, shape: Sequence[int], op_type: str, position: int, summed: bool
) -> Array:
    """Draw the weights for operand `position` of an `op_type` node, whose result may be summed."""
    if op_type == "BatchNormalization" and position == 1:  # scale
        # Sixteen sums of full-size branches would blow the class scores up to one certain class.
        return near_one(rng, shape) * np.float32(0.4 if summed else 1.0)
    if op_type == "BatchNormalization" and position == 4:  # variance
        return near_one(rng, shape)
    if len(shape) == 1:  # biases and means
        return normal(rng, shape, std=0.1)
    gain = 1 if op_type == "Gemm" else 2  # He initialisation where a relu follows
    return normal(rng, shape, std=math.sqrt(gain / math.prod(shape[1:])))


# Graphs built here


class GraphBuilder:
    """An ONNX graph under construction. Each call appends nodes and names their result."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def constant(self, values: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> str:
        """Store `values` as an initializer."""
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def weight(self, shape: Sequence[int], std: float) -> str:
        """Store random weights."""
        return self.constant(normal(self.rng, shape, std))

    def apply(self, op_type: str, *operands: str, **attributes: int | float | list[int]) -> str:
        """Append one node with one result."""
        result = f"{op_type.lower()}_{len(self.nodes)}"
        node = helper.make_node(op_type, operands, [result], result)
        node.attribute.extend(helper.make_attribute(k, v) for k, v in attributes.items())
        self.nodes.append(node)
        return result

    def linear(self, x: str, inputs: int, outputs: int, std: float) -> str:
        """Multiply by a matrix stored as inputs x outputs, then add a bias."""
        product = self.apply("MatMul", x, self.weight([inputs, outputs], std))
        return self.apply("Add", product, self.weight([outputs], std=0.1))

    def model(
        self, name: str, input_shape: Sequence[int], result: str, output_shape: Sequence[int]
    ) -> onnx.ModelProto:
        """Close the graph over the f32 input `x` and the value `result`."""
        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, input_shape)],
            [helper.make_tensor_value_info(result, TensorProto.FLOAT, output_shape)],
            self.initializers,
        )
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        return shape_inference.infer_shapes(model, check_type=True, strict_mode=True)


def mlp(rows: int = 256, width: int = 1024, layers: int = 3) -> onnx.ModelProto:
    """Build a perceptron: `layers` times matmul, bias, relu."""
    graph, x = GraphBuilder(), "x"
    for _ in range(layers):
        x = graph.apply("Relu", graph.linear(x, width, width, std=math.sqrt(2 / width)))
    return graph.model("mlp", [rows, width], x, [rows, width])


def convolution(
    graph: GraphBuilder,
    x: str,
    channels: tuple[int, int],
    *,
    kernel: int = 1,
    stride: int = 1,
    group: int = 1,
    gain: float = 2.0,
) -> str:
    """Append a convolution with its batch norm folded into filter and bias."""
    inputs, outputs = channels
    shape = [outputs, inputs // group, kernel, kernel]
    weight = graph.weight(shape, std=math.sqrt(gain / math.prod(shape[1:])))
    bias = graph.weight([outputs], std=0.1)
    return graph.apply(
        "Conv",
        x,
        weight,
        bias,
        kernel_shape=[kernel, kernel],
        strides=[stride, stride],
        pads=[kernel // 2] * 4,
        dilations=[1, 1],
        group=group,
    )


def mobilenetv2() -> onnx.ModelProto:
    """Build MobileNetV2 1.0 for 224 x 224 images, batch norms folded as exporters do.

    Source: Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018, table 2.
    """
    graph = GraphBuilder()
    zero, six = graph.constant(0.0), graph.constant(6.0)

    def relu6(x: str) -> str:
        return graph.apply("Clip", x, zero, six)

    x = relu6(convolution(graph, "x", (3, 32), kernel=3, stride=2))
    inputs = 32
    table = [  # expansion factor, output channels, repeats, stride of the first
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]
    for expansion, outputs, repeats, first_stride in table:
        for repeat in range(repeats):
            stride = first_stride if repeat == 0 else 1
            hidden = inputs * expansion
            y = relu6(convolution(graph, x, (inputs, hidden))) if expansion > 1 else x
            y = convolution(graph, y, (hidden, hidden), kernel=3, stride=stride, group=hidden)
            y = convolution(graph, relu6(y), (hidden, outputs), gain=1.0)
            x = graph.apply("Add", x, y) if stride == 1 and inputs == outputs else y
            inputs = outputs
    x = relu6(convolution(graph, x, (inputs, 1280)))
    x = graph.apply("Flatten", graph.apply("GlobalAveragePool", x), axis=1)
    weight, bias = graph.weight([1000, 1280], std=1280**-0.5), graph.weight([1000], std=0.1)
    x = graph.apply("Gemm", x, weight, bias, transB=1)
    return graph.model("mobilenetv2", [1, 3, 224, 224], x, [1, 1000])


def bert(layers: int = 4, tokens: int = 128) -> onnx.ModelProto:
    """Build the encoder of BERT-base: width 768, 12 heads, hidden width 3072.

    Source: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2019.
    """
    graph, x = GraphBuilder(), "x"
    width, hidden = 768, 3072
    for _ in range(layers):
        attended = graph.linear(attention(graph, x, tokens, width), width, width, std=0.02)
        x = layer_norm(graph, graph.apply("Add", attended, x), width)
        expanded = gelu(graph, graph.linear(x, width, hidden, std=0.02))
        contracted = graph.linear(expanded, hidden, width, std=0.02)
        x = layer_norm(graph, graph.apply("Add", contracted, x), width)
    return graph.model("bert", [1, tokens, width], x, [1, tokens, width])


def attention_block(tokens: int = 128, width: int = 768) -> onnx.ModelProto:
    """Build one self-attention of 12 heads with its output projection."""
    graph = GraphBuilder()
    context = attention(graph, "x", tokens, width)
    x = graph.linear(context, width, width, std=0.02)
    return graph.model("attention", [1, tokens, width], x, [1, tokens, width])


def attention(graph: GraphBuilder, x: str, tokens: int, width: int, heads: int = 12) -> str:
    """Append self-attention without its output projection."""
    split = graph.constant([1, tokens, heads, width // heads], np.int64)
    joined = graph.constant([1, tokens, width], np.int64)
    scale = graph.constant((width // heads) ** -0.5)

    def projected(perm: list[int]) -> str:
        # Twice BERT's 0.02: untrained queries and keys would give an almost uniform softmax.
        projection = graph.linear(x, width, width, std=0.04)
        return graph.apply("Transpose", graph.apply("Reshape", projection, split), perm=perm)

    query = projected([0, 2, 1, 3])
    key = projected([0, 2, 3, 1])
    value = projected([0, 2, 1, 3])
    scores = graph.apply("Mul", graph.apply("MatMul", query, key), scale)
    context = graph.apply("MatMul", graph.apply("Softmax", scores, axis=-1), value)
    context = graph.apply("Transpose", context, perm=[0, 2, 1, 3])
    return graph.apply("Reshape", context, joined)


def layer_norm(graph: GraphBuilder, x: str, width: int) -> str:
    """Append a layer normalization over the last dim."""
    scale, bias = graph.constant(near_one(graph.rng, [width])), graph.weight([width], std=0.1)
    return graph.apply("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-12)


def gelu(graph: GraphBuilder, x: str) -> str:
    """Append x * (1 + erf(x / sqrt 2)) / 2."""
    erf = graph.apply("Erf", graph.apply("Div", x, graph.constant(math.sqrt(2))))
    scaled = graph.apply("Mul", x, graph.apply("Add", erf, graph.constant(1.0)))
    return graph.apply("Mul", scaled, graph.constant(0.5))


MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    **{name: partial(shipped, name) for name in shipped_names()},
    "mobilenetv2": mobilenetv2,
    "bert": bert,
    "attention": attention_block,
    "mlp": mlp,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the models named on the command line and print their paths."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out_dir", type=Path, metavar="OUT_DIR")
    parser.add_argument("names", nargs="+", choices=MODELS, metavar="NAME", help=", ".join(MODELS))
    parser.add_argument("--layers", type=int, default=4, help="encoder layers of bert (default 4)")
    options = parser.parse_args(arguments)
    options.out_dir.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        model = bert(options.layers) if name == "bert" else MODELS[name]()
        path = options.out_dir / f"{name}.onnx"
        onnx.save(model, path)
        print(path, flush=True)


if __name__ == "__main__":
    main()
