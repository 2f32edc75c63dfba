"""Shapes that a model states and that its ops contradict: ``python -m ... MODEL OUTPUT``.

Exporters trace a model at one size, and leave that size in tensors that have it at that size only:
behind an LSTM over ``s`` steps, results of 64 steps. IREE takes what is stated for true, and does
not convert the module. In a process of its own: shape inference is native code, and may crash.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Iterator
from pathlib import Path

import onnx
from onnx import shape_inference

_Shape = onnx.TensorShapeProto
_Dim = onnx.TensorShapeProto.Dimension


def restated(model: onnx.ModelProto) -> tuple[str, ...]:
    """Put what shape inference finds in place of what contradicts it; the tensors' names."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.graph.value_info[:]
    for output in bare.graph.output:
        output.type.tensor_type.ClearField("shape")
    inferred = shape_inference.infer_shapes(bare, data_prop=True).graph
    found = {v.name: v.type.tensor_type for v in (*inferred.value_info, *inferred.output)}
    names = {d.dim_param for v in model.graph.input for d in v.type.tensor_type.shape.dim} - {""}
    changed = []
    for stated in (*model.graph.value_info, *model.graph.output):
        kind = found.get(stated.name)
        if kind is None or not kind.HasField("shape") or not _has_shape(stated):
            continue
        if any(_contradictions(stated.type.tensor_type.shape, kind.shape, names)):
            merged = _merged(stated.type.tensor_type.shape, kind.shape, names)
            stated.type.tensor_type.shape.CopyFrom(merged)
            changed.append(stated.name)
    return tuple(changed)


def _has_shape(value: onnx.ValueInfoProto) -> bool:
    kind = value.type
    return bool(kind.HasField("tensor_type") and kind.tensor_type.HasField("shape"))


def _contradictions(stated: _Shape, found: _Shape, names: Container[str]) -> Iterator[bool]:
    """Of each dim, whether what is stated cannot be; True alone where the ranks differ."""
    if len(stated.dim) != len(found.dim):
        yield True
        return
    for one, other in zip(stated.dim, found.dim, strict=True):
        is_number = one.HasField("dim_value")
        yield is_number and (
            other.dim_param in names
            or (other.HasField("dim_value") and other.dim_value != one.dim_value)
        )


def _merged(stated: _Shape, found: _Shape, names: Container[str]) -> _Shape:
    """What is found where that contradicts what is stated, and that elsewhere."""
    if len(stated.dim) != len(found.dim):
        return found
    wrong = _contradictions(stated, found, names)
    dims: list[_Dim] = [
        other if is_wrong else one
        for is_wrong, one, other in zip(wrong, stated.dim, found.dim, strict=True)
    ]
    return _Shape(dim=dims)


def write(path: Path, output: Path) -> tuple[str, ...]:
    """Write a model whose shapes do not contradict each other; none where they did not before."""
    model = onnx.load(str(path), load_external_data=False)
    changed = restated(model)
    if changed:
        onnx.save(model, str(output))
    return changed


if __name__ == "__main__":
    _path, _output = sys.argv[1:]
    print(json.dumps(write(Path(_path), Path(_output))))
