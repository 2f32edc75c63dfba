"""What constants of a module are called: by one name wherever they are one value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from iree.compiler import ir

from layoutopt.ir.graph import Constant
from layoutopt.mlir.read.attribute import value_of
from layoutopt.mlir.read.lift import Lifted


def with_weight_names(blocks: Iterable[Lifted]) -> Iterator[Lifted]:
    """The blocks with names for their constants: that of a global, or a number for a literal."""
    literals: dict[Any, str] = {}

    def name_of(value: Any) -> str:
        attributes = value.owner.attributes
        if "global" in attributes:
            return f"@{ir.FlatSymbolRefAttr(attributes['global']).value}"
        literal = value_of(attributes, "value") if "value" in attributes else None
        key = value if literal is None else (literal, str(value.type))
        return literals.setdefault(key, f"literal {len(literals)}")

    for block in blocks:
        graph = block.graph
        leaves = [op.result for op in graph.ops if isinstance(op, Constant)]
        names = {t: name_of(block.values[t]) for t in leaves}
        yield replace(block, graph=replace(graph, weight_names=names))
