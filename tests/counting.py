"""What moves data in a graph, counted on the module that it is written as."""

from __future__ import annotations

import iree.compiler.ir as ir

from layoutopt.ir.lowered import Lowered
from layoutopt.mlir.read.census import census
from layoutopt.mlir.write.emit import function_text
from tests.parsing import CONTEXT


def counted(lowered: Lowered) -> tuple[int, int, int]:
    """Packs, unpacks and transposes that run on each call."""
    outside = (*lowered.given.values(), *(weight.planned for weight in lowered.prepared))
    text = function_text(lowered.graph, outside, lowered.made.values(), "f")
    with CONTEXT:
        found = census(ir.Module.parse(text).operation)
    return found.count("pack"), found.count("unpack"), found.count("transpose")
