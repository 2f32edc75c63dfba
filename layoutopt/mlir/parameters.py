"""Parameters that live outside a module: where it names them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from layoutopt.mlir.state import tensor_type
from layoutopt.types import TensorType

_STRING = r'"((?:[^"\\]|\\.)*)"'
_NAMED = re.compile(rf"^#(?:stream|flow)\.parameter\.named<{_STRING}(?:::{_STRING})?")


@dataclass(frozen=True, slots=True)
class Parameter:
    """``#stream.parameter.named<"scope"::"key">``; the scope is empty where it has none."""

    scope: str
    key: str

    def __str__(self) -> str:
        return f'"{self.scope}"::"{self.key}"' if self.scope else f'"{self.key}"'


def parameter_of(attribute: Any) -> Parameter | None:
    """The parameter that an attribute names, None for any other attribute."""
    found = _NAMED.match(str(attribute))
    if found is None:
        return None
    first, second = (None if text is None else _unescaped(text) for text in found.groups())
    return Parameter("", first or "") if second is None else Parameter(first or "", second)


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
                attribute = op.attributes[name]
                parameter = parameter_of(attribute)
                if parameter is not None:
                    found.setdefault(parameter, tensor_type(attribute.type))
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return found


def _unescaped(text: str) -> str:
    """The string that MLIR spells so: two hex digits behind a backslash are one byte."""
    encoded = re.sub(
        rb"\\([0-9A-Fa-f]{2}|.)",
        lambda m: bytes([int(m[1], 16)]) if len(m[1]) == 2 else m[1],
        text.encode(),
    )
    return encoded.decode()


def _escaped(text: str) -> str:
    plain = range(0x20, 0x7F)
    return "".join(
        chr(b) if b in plain and b not in b'"\\' else f"\\{b:02X}" for b in text.encode()
    )
