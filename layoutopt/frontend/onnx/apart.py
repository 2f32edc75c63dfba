"""Weights apart: ``python -m ... strip MODEL OUTPUT`` and ``... restore MODEL LINALG OUTPUT``.

IREE's importer holds the weights of a model several times over and writes them as text. So a large
model goes through it and through the compiler without them: as parameters that nothing is stored
for, which become the model's constants again behind that. In processes of their own: what is read
is large, and what reads it is native code.
"""

from __future__ import annotations

import json
import math
import mmap
import sys
from pathlib import Path

import onnx
from onnx import numpy_helper
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

from layoutopt.frontend.onnx.importer import SCOPE
from layoutopt.mlir.write.weight_values import Buffer, put_values

LARGE_ELEMENTS = 1 << 14
"""What has no more may be a shape or a table, and stays."""
WORTHWHILE_BYTES = 64 << 20
"""Of weights, at two bytes an element, from which on a model goes that way."""
NOWHERE = "apart"
"""The file that stripped weights are said to be in; nothing opens it."""

_KINDS = frozenset(
    onnx.TensorProto.DataType.Value(name)
    for name in (
        *("BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"),
        *("FLOAT16", "BFLOAT16", "FLOAT"),
        *("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"),
    )
)
"""Element types of whole bytes, which MLIR has under the same bits. IREE makes f32 of f64."""


def strip(path: Path, output: Path) -> int:
    """Write a model without what its weights hold, where they are large.

    Returns how many elements a tensor has that is left out, at least; 0 where nothing is written.
    """
    model = onnx.load(str(path), load_external_data=False)
    weights = [t for t in model.graph.initializer if _may_be_apart(t)]
    stay = [t for t in model.graph.initializer if not _may_be_apart(t)]
    stay += [a.t for node in model.graph.node for a in node.attribute if a.HasField("t")]
    fewest: int = 1 + max([LARGE_ELEMENTS, *(math.prod(t.dims) for t in stay)])
    large = [t for t in weights if math.prod(t.dims) >= fewest]
    if 2 * sum(math.prod(t.dims) for t in large) < WORTHWHILE_BYTES:
        return 0
    for tensor in large:
        kept = onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        kept.data_location = onnx.TensorProto.EXTERNAL
        kept.external_data.add(key="location", value=NOWHERE)
        tensor.CopyFrom(kept)
    onnx.save(model, str(output))
    return fewest


def _may_be_apart(tensor: onnx.TensorProto) -> bool:
    """Whether the importer keeps its name, and MLIR its bits."""
    return tensor.data_type in _KINDS and tensor.name != "" and ":" not in tensor.name


def restore(path: Path, folder: Path, linalg: Path, output: Path) -> None:
    """Write linalg that was made of a stripped model with the weights of the model at ``path``.

    ``folder`` holds the files that the model refers to.
    """
    model = onnx.load(str(path), load_external_data=False)
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    put_values(linalg, output, SCOPE, lambda name: _elements(tensors[name], folder))


def _elements(tensor: onnx.TensorProto, folder: Path) -> Buffer:
    if not uses_external_data(tensor):
        raw: bytes = tensor.raw_data
        return raw or numpy_helper.to_array(tensor).tobytes()
    place = ExternalDataInfo(tensor)
    start = place.offset or 0
    with (folder / place.location).open("rb") as file:
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return mapped[start : start + place.length] if place.length else mapped[start:]


if __name__ == "__main__":
    _command, *_paths = sys.argv[1:]
    if _command == "strip":
        print(json.dumps(strip(*map(Path, _paths))))
    else:
        restore(*map(Path, _paths))
