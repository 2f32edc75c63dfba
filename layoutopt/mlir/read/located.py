"""Find ops of a written module by the lines that the compiler's errors point at."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from iree.compiler import ir

_LINE = re.compile(r":(\d+):\d+\)$")

Operands = tuple[str, ...]
"""The types of an op's operands, sorted."""


def operands_at(path: Path, lines: Collection[int]) -> frozenset[Operands]:
    """The operand types of the linalg ops that stand at some lines of the text they came from."""
    found: set[Operands] = set()

    def visit(op: Any) -> Any:
        place = _LINE.search(str(op.location))
        if place and int(place[1]) in lines and op.name.startswith("linalg."):
            found.add(tuple(sorted(str(value.type) for value in op.operands)))
        return ir.WalkResult.ADVANCE

    if lines:
        ir.Module.parse(path.read_bytes(), ir.Context()).operation.walk(visit)
    return frozenset(found)
