"""Parse MLIR files, and read what they say before they are lifted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from iree.compiler import ir

from layoutopt.errors import InputError
from layoutopt.files.given import read_input
from layoutopt.mlir.read.parameters import parameter_of

FLAGS_ATTRIBUTE = "layoutopt.compile_flags"
MATCHING = "correct the module, or convert it with a matching IREE version"
PLANNED = "give a module that `layoutopt optimize` wrote"
_HIGH_LEVEL = ("torch", "torch_c", "onnx", "stablehlo", "tosa", "chlo", "vhlo")


def parsed(path: Path, next_step: str, unregistered: bool = False) -> Any:
    """The module operation; ``unregistered``: of any dialect. Raises InputError with the place."""
    context = ir.Context()
    context.allow_unregistered_dialects = unregistered
    try:
        return ir.Module.parse(read_input(path), context).operation
    except ir.MLIRError as error:
        raise InputError(
            _place(path, error), "MLIR that parses", first_message(error), next_step
        ) from error


def check_names(operation: Any, path: Path) -> None:
    """Raises InputError where a symbol or parameter has a name that cannot be written as text."""
    for op in operation.regions[0].blocks[0].operations:
        attributes = op.operation.attributes
        try:
            if "sym_name" in attributes and not symbol_name(op):
                raise InputError(str(path), "a name for each symbol", "an empty one", "name it")
            if "initial_value" in attributes:
                parameter_of(attributes["initial_value"])
        except (RuntimeError, UnicodeDecodeError) as error:
            raise InputError(
                str(path), "names in UTF-8", f"another one of a {op.operation.name}", "rename it"
            ) from error


def input_dialect(path: Path) -> str | None:
    """A dialect in a module that IREE has to bring to linalg first, None where there is none.

    Raises InputError where it does not parse.
    """
    operation = parsed(path, MATCHING, unregistered=True)
    found: str | None = None

    def visit(op: Any) -> Any:
        nonlocal found
        dialect = op.name.split(".")[0]
        if dialect in _HIGH_LEVEL:
            found = dialect
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return found


def recorded_flags(path: Path, model: Path | None = None) -> tuple[str, ...]:
    """The compile flags that a planned module carries; ``model`` is as in `parse_module`.

    Raises InputError where it has none.
    """
    operation = parsed(path, PLANNED, unregistered=True)
    attribute = None
    if FLAGS_ATTRIBUTE in operation.attributes:
        attribute = operation.attributes[FLAGS_ATTRIBUTE]
    if not isinstance(attribute, ir.ArrayAttr) or not all(map(_is_flag, attribute)):
        got = "none" if attribute is None else "one that is not a list of flags"
        raise InputError(str(model or path), f"a module with '{FLAGS_ATTRIBUTE}'", got, PLANNED)
    return tuple(ir.StringAttr(flag).value for flag in attribute)


def _is_flag(attribute: Any) -> bool:
    """Whether it is a string that a command line can hold."""
    if not isinstance(attribute, ir.StringAttr):
        return False
    flag: bytes = ir.StringAttr(attribute).value_bytes
    return flag.startswith(b"-") and flag.isascii() and flag.decode().isprintable()


def symbol_name(op: Any) -> str:
    """The symbol that an op defines."""
    return str(ir.StringAttr(op.operation.attributes["sym_name"]).value)


def _place(path: Path, error: Any) -> str:
    for diagnostic in error.error_diagnostics:
        text = str(diagnostic.location)
        if ":" in text:
            line, column = text.strip("loc()").rsplit(":", 2)[-2:]
            return str(path) if line == "0" else f"{path}:{line}:{column}"
    return str(path)


def first_message(error: Any) -> str:
    """The first line of what MLIR says."""
    for diagnostic in error.error_diagnostics:
        return str(diagnostic.message).splitlines()[0].strip()
    return str(error).splitlines()[0]
