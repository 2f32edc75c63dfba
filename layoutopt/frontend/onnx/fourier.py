"""Fourier transforms as products with matrices: ``X[k] = sum_j x[j] exp(-2 pi i j k / n)``.

The parts of a complex number are the last dim of size 2, so that one real matrix does both.
"""

from __future__ import annotations

import numpy as np
import onnx

from layoutopt.frontend.onnx.nodes import Builder, Known, Nodes, attributes, operand
from layoutopt.ir.types import Array

_MOST_ELEMENTS = 1 << 24
"""Of a matrix that is written into the model; beyond it, a fast transform is another algorithm."""
_AXIS_IS_OPERAND = 20
"""From this version of the operator set on."""


def transform(node: onnx.NodeProto, known: Known, builder: Builder) -> Nodes | None:
    """DFT as a MatMul; None where its length is unknown or large, or half of it is inverted."""
    told = attributes(node)
    shape = known.shape(operand(node, 0))
    dtype = known.dtype(operand(node, 0))
    axis = _axis(node, known)
    if shape is None or dtype is None or axis is None:
        return None
    axis %= len(shape)
    given, parts = shape[axis], shape[-1]
    length = _number(operand(node, 1), known) if operand(node, 1) else given
    onesided, inverse = told.get("onesided", 0) == 1, told.get("inverse", 0) == 1
    if given is None or parts is None or length is None or axis == len(shape) - 1:
        return None
    if onesided and inverse:
        return None
    matrix = _matrix(given, length, length // 2 + 1 if onesided else length, inverse)[:, :parts]
    if matrix.size > _MOST_ELEMENTS:
        return None
    kept, computed = [0] * (len(shape) - 2), matrix.shape[2]
    weights = builder.constant(matrix.reshape(given * parts, -1).astype(dtype))
    order = [d for d in range(len(shape)) if d != axis]
    order.insert(len(shape) - 2, axis)
    rows = builder.add("Transpose", [operand(node, 0)], perm=order)
    rows = builder.add("Reshape", [rows, builder.sizes(*kept, given * parts)])
    product = builder.add("MatMul", [rows, weights])
    product = builder.add("Reshape", [product, builder.sizes(*kept, computed, 2)])
    builder.add("Transpose", [product], node.output[0], perm=list(np.argsort(order)))
    return builder.nodes


def short_time(node: onnx.NodeProto, known: Known, builder: Builder) -> Nodes | None:
    """STFT as a strided convolution; None where step, length or window are not constants."""
    signal, step, window, length = (operand(node, position) for position in range(4))
    shape, dtype = known.shape(signal), known.dtype(signal)
    stride = _number(step, known)
    values = known.constants.get(window)
    frame = _number(length, known) if length else None if values is None else len(values)
    if dtype is None or stride is None or frame is None or (window and values is None):
        return None
    if shape is None or len(shape) != 3 or shape[2] is None:
        return None
    parts = shape[2]
    onesided = attributes(node).get("onesided", 1) == 1
    matrix = _matrix(frame, frame, frame // 2 + 1 if onesided else frame, inverse=False)
    if matrix.size > _MOST_ELEMENTS:
        return None
    if values is not None:
        matrix = matrix * values.astype(np.float64)[:, None, None, None]
    computed = matrix.shape[2]
    filters = matrix[:, :parts].transpose(2, 3, 1, 0).reshape(computed * 2, parts, frame)
    weights = builder.constant(filters.astype(dtype))
    channels = builder.add("Transpose", [signal], perm=[0, 2, 1])
    found = builder.add("Conv", [channels, weights], strides=[stride])
    frames = builder.add("Transpose", [found], perm=[0, 2, 1])
    builder.add("Reshape", [frames, builder.sizes(0, 0, computed, 2)], node.output[0])
    return builder.nodes


def _matrix(given: int, length: int, computed: int, inverse: bool) -> Array:
    """``[given, part, computed, part]``: what is missing of the length is zero, what is over cut.

    Angles are taken of ``j k`` modulo the length, which is exact.
    """
    steps = np.outer(np.arange(given), np.arange(computed)) % length
    angles = steps * (2 * np.pi / length * (1 if inverse else -1))
    used = (np.arange(given) < length)[:, None]
    real, imaginary = np.cos(angles) * used, np.sin(angles) * used
    matrix = np.stack([np.stack([real, imaginary], -1), np.stack([-imaginary, real], -1)], 1)
    return matrix / length if inverse else matrix


def _axis(node: onnx.NodeProto, known: Known) -> int | None:
    if known.opset >= _AXIS_IS_OPERAND:
        return _number(operand(node, 2), known) if operand(node, 2) else -2
    given = attributes(node).get("axis", 1)
    return given if isinstance(given, int) else None


def _number(tensor: str, known: Known) -> int | None:
    """The only element of a constant."""
    found = known.constants.get(tensor)
    return None if found is None else int(found.item())
