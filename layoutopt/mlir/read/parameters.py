"""Parameters that live outside a module: where it names them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from layoutopt.ir.types import TensorType
from layoutopt.mlir.read.attribute import value_of
from layoutopt.mlir.read.state import tensor_type

_NAMED = re.compile(r'^#(?:stream|flow)\.parameter\.named<"(?:(.*?)"::")?(.*?)"[>,]')
"""IREE prints the names as they are, quotes and backslashes too."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """``#stream.parameter.named<"scope"::"key">``; the scope is empty where it has none."""

    scope: str
    key: str

    def __str__(self) -> str:
        return f'"{self.scope}"::"{self.key}"' if self.scope else f'"{self.key}"'


def parameter_of(attribute: Any) -> Parameter | None:
    """The parameter that an attribute names, None for any other attribute."""
    if isinstance(attribute, ir.DenseElementsAttr | ir.DenseResourceElementsAttr):
        return None  # its text would be all of its values
    found = _NAMED.match(str(attribute))
    return None if found is None else Parameter(found[1] or "", found[2])


def parameter_attribute(parameter: Parameter, kind: TensorType) -> Any:
    """``#stream.parameter.named`` of a tensor type, in the current context."""
    names = [f'"{_escaped(parameter.key)}"']
    if parameter.scope:
        names.insert(0, f'"{_escaped(parameter.scope)}"')
    return ir.Attribute.parse(f"#stream.parameter.named<{'::'.join(names)}> : {kind}")


def module_parameters(operation: Any) -> dict[Parameter, TensorType | None]:
    """The parameters that a module names, in order, with their types (None: not static)."""
    found: dict[Parameter, TensorType | None] = {}

    def visit(op: Any) -> Any:
        for name in ("initial_value", "value"):
            if name in op.attributes:
                attribute = value_of(op.attributes, name)
                parameter = parameter_of(attribute)
                if attribute is not None and parameter is not None:
                    found.setdefault(parameter, tensor_type(attribute.type))
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return found


def _escaped(text: str) -> str:
    return text.replace("\\", "\\5C").replace('"', "\\22")
