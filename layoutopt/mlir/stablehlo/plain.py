"""Ops that state more than IREE 3.13 converts, as ops that compute the same.

    %y = dot_general %x, %w, algorithm = <bf16 x bf16 into f32> : (f32, bf16) -> bf16
      ->
    %a = convert %x : f32 -> bf16
    %b = dot_general %a, %w : (bf16, bf16) -> f32
    %y = convert %b : f32 -> bf16

Operands become what the algorithm multiplies, and sums what it adds up in. An algorithm that takes
operands in several parts (``num_primitive_operations`` above 1) stands for the operands' own type,
and ``tf32``, which IREE does not have, for f32: both are at least as precise as what is stated.

A call of ``Sharding`` says on which devices a tensor lies: its result is its operand.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from iree.compiler import ir

from layoutopt.mlir.stablehlo.building import ahead, made

_STATED = re.compile(r"(\w+) = ([^,<>]+)")
_PARTS = "num_primitive_operations"
_UNSTATED = "none_v1"
_CONTRACTION, _CALL = "dot_general", "custom_call"


def states_more(op: Any) -> bool:
    """Whether an op, of StableHLO or of a portable artifact, is one of these."""
    dialect, _, name = op.name.partition(".")
    if name.startswith(_CALL):
        return '"Sharding"' in str(op.attributes["call_target_name"])
    if dialect == "vhlo" and name.startswith(_CONTRACTION):
        stated = "accumulation_type"
        return stated in op.attributes and _UNSTATED not in str(op.attributes[stated])
    return name == _CONTRACTION and "algorithm" in op.attributes


def write_plain(path: Path, output: Path) -> None:
    """Write the StableHLO of ``path`` without what these ops state."""
    module = ir.Module.parse(path.read_bytes(), ir.Context()).operation
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if states_more(op):
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    for op in found:
        value = _spelled_out(op) if op.name.endswith(_CONTRACTION) else op.operands[0]
        op.results[0].replace_all_uses_with(value)
        op.erase()
    with output.open("wb") as file:
        module.write_bytecode(file)


def _spelled_out(op: Any) -> Any:
    stated = dict(_STATED.findall(str(op.attributes["algorithm"])))
    with ahead(op):
        operands = [
            _rounded(value, stated, stated[f"{side}_precision_type"])
            for side, value in zip(("lhs", "rhs"), op.operands, strict=True)
        ]
        wanted = op.results[0].type
        sums = _with_elements(wanted, ir.Type.parse(stated["accumulation_type"]))
        kept = {name: op.attributes[name] for name in op.attributes if name != "algorithm"}
        value = made(op.name, operands, sums, **kept)
        return value if sums == wanted else made("stablehlo.convert", [value], wanted)


def _rounded(value: Any, stated: dict[str, str], precision: str) -> Any:
    """An operand in the precision that it is multiplied in, where that is less than its own."""
    element = value.type.element_type
    if precision == "tf32" or int(stated[_PARTS]) > 1 or not isinstance(element, ir.FloatType):
        return value
    kind = ir.Type.parse(precision)
    if kind.width >= element.width:
        return value
    return made("stablehlo.convert", [value], _with_elements(value.type, kind))


def _with_elements(kind: Any, element: Any) -> Any:
    return ir.RankedTensorType.get(kind.shape, element, kind.encoding)
