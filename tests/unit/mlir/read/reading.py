"""A function around ops, read."""

from __future__ import annotations

from layoutopt.ir.graph import Graph
from tests.parsing import lifted

X = "tensor<4x6xf32>"
MAP = "affine_map<(i, j) -> (i, j)>"
PAR = '["parallel", "parallel"]'


def graph_of(
    body: str, result: str = X, arguments: str = f"%x: {X}, %y: {X}, %s: f32, %k: index"
) -> Graph:
    return lifted(f"func.func @f({arguments}) -> {result} {{\n{body}\nreturn %r : {result}\n}}")
