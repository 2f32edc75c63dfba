"""What moves data in a graph, counted on the module that it is written as."""

from __future__ import annotations

import iree.compiler.ir as ir

from layoutopt.ir.lowered import Lowered
from layoutopt.mlir.read.census import census
from layoutopt.mlir.write.emit import function_text
from tests.parsing import CONTEXT


def counted(lowered: Lowered) -> tuple[int, int, int]:
    """Packs, unpacks and transposes that run on each call."""
    outside = (*lowered.inputs.values(), *(weight.planned_tensor for weight in lowered.hoisted))
    text = function_text(lowered.graph, outside, lowered.outputs.values(), "f")
    with CONTEXT:
        found = census(ir.Module.parse(text).operation)
    return found.count("pack"), found.count("unpack"), found.count("transpose")
