"""How functions of a compiled module are called, as the compiler declares it.

The declaration stands in the module itself and is the last word: IREE makes f32 of f64, for one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.errors import InputError
from layoutopt.runtime.binding import read_declarations
from layoutopt.runtime.element import RankedTensorType, parse_tensor_type
from layoutopt.runtime.reason import runtime_reason

_TYPE = re.compile(r"%\w+: ([\w!.]+(?:<(?:[^<>]|<[^<>]*>)*>)?)")
_OPAQUE_TENSOR = "!hal.buffer_view"


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """A function that a module exports, with the MLIR types of its arguments and results."""

    name: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]

    @property
    def unknown(self) -> str:
        """The type of the first argument that cannot be made up here; empty where all can."""
        return next((a for a in self.arguments if argument_type(a) is None), "")

    @property
    def kinds(self) -> tuple[RankedTensorType | str, ...]:
        """The arguments, tensors or types of scalars; asks for one without unknown ones."""
        return tuple(kind for kind in map(argument_type, self.arguments) if kind is not None)

    def seen_through(self, tensors: Sequence[str]) -> FunctionSignature:
        """The same with the types of the tensors that buffer views are imported as."""
        types = tuple(
            tensor if text == _OPAQUE_TENSOR else text
            for text, tensor in zip(self.arguments, tensors, strict=True)
        )
        return replace(self, arguments=types)


def argument_type(text: str) -> RankedTensorType | str | None:
    """A tensor, or the type of a scalar; None for what no value can be made of."""
    if text in quirks().types.scalars:
        return text
    try:
        return parse_tensor_type(text)
    except InputError:
        return None


def list_functions(module: Path) -> tuple[FunctionSignature, ...]:
    """Return the functions of a compiled module that declare how they are called, in file order."""
    try:
        declarations = read_declarations(module)
    except (RuntimeError, ValueError, OSError) as error:
        raise InputError(
            str(module),
            "a module that iree-compile wrote",
            runtime_reason(error),
            "compile it again",
        ) from None
    return tuple(
        parse_declaration(name, declaration) for name, declaration in declarations if declaration
    )


def parse_declaration(name: str, declaration: str) -> FunctionSignature:
    """Parse `sync func @main(%input0: tensor<4xf32>) -> (%output0: tensor<4xf32>)`."""
    arguments, _, results = declaration.partition(" -> ")
    return FunctionSignature(name, tuple(_TYPE.findall(arguments)), tuple(_TYPE.findall(results)))
