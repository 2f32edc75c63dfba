"""The names that a model gives to sizes which are known at run time only.

ONNX has ``dim_param``, `jax.export` an attribute of the size.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from layoutopt.ir.graph import Graph
from layoutopt.ir.planned_sizes import open_sizes

_NAME = re.compile(r"[A-Za-z_]\w*")
"""Exporters also write what they compute, such as ``s0 + 1``."""


def size_names(
    model: Path, graphs: Sequence[Graph], told: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """By name of an open size (``arg0.1``), what the model file calls it, if anything.

    ``told``: what the model's conversion found.

    Inputs are counted as IREE's import counts them: those that are no initializers. Sizes of one
    name are one size.
    """
    if model.suffix != ".onnx" or not any(map(open_sizes, graphs)):
        return dict(told)
    onnx = importlib.import_module("onnx")
    graph = onnx.load(str(model), load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    found: dict[str, str] = {}
    for position, given in enumerate(v for v in graph.input if v.name not in weights):
        for axis, dim in enumerate(given.type.tensor_type.shape.dim):
            if _NAME.fullmatch(dim.dim_param):
                found[f"arg{position}.{axis}"] = str(dim.dim_param)
    return found
