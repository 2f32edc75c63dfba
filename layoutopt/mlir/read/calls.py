"""Private functions that calls alone name: callers and callee can change what they hand on.

%a = call @f(%x)          %x is the argument of @f, and %a what @f returns
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from iree.compiler import ir

from layoutopt.mlir.read.boundary import is_private, symbols_of
from layoutopt.mlir.read.lift_op import CALLS

_FUNCTIONS = ("func.func", "util.func")
_RETURNS = ("func.return", "util.return")
_CALLEE = "callee"
_BOUND = ("arg_attrs", "res_attrs", "tied_operands")
"""Attributes that say more of arguments and results than their types."""


@dataclass
class CalledFunction:
    """A function and the ops that call it."""

    op: Any
    symbol: str
    calls: list[Any] = field(default_factory=list)
    is_closed: bool = False
    """Whether something else names it."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What its first block takes."""
        return tuple(self.op.regions[0].blocks[0].arguments)

    @property
    def returns(self) -> tuple[Any, ...]:
        """The ops that end a call."""
        last = (list(block.operations)[-1].operation for block in self.op.regions[0].blocks)
        return tuple(op for op in last if op.name in _RETURNS)

    @property
    def is_bound(self) -> bool:
        """Whether a caller and it agree on more than the types of what they hand to each other."""
        ops = (self.op, *self.calls)
        return any(name in op.attributes for op in ops for name in _BOUND)

    def retype(self) -> None:
        """Let the type that the function states be that of its arguments and results."""
        taken = [argument.type for argument in self.arguments]
        given = [value.type for value in self.returns[0].operands]
        with self.op.context:
            kind = ir.FunctionType.get(taken, given)
            self.op.attributes["function_type"] = ir.TypeAttr.get(kind)


def called_functions(module: Any) -> Iterator[CalledFunction]:
    """The private functions with a body that are called, and that calls alone name."""
    found: dict[str, CalledFunction] = {}
    for op in module.regions[0].blocks[0].operations:
        operation = op.operation
        if operation.name in _FUNCTIONS and is_private(op) and list(operation.regions[0].blocks):
            symbol = ir.StringAttr(operation.attributes["sym_name"]).value
            found[symbol] = CalledFunction(operation, symbol)

    def visit(op: Any) -> Any:
        for name in op.attributes:
            for symbol in symbols_of(op.attributes[name]):
                if symbol not in found:
                    continue
                if op.name in CALLS and name == _CALLEE:
                    found[symbol].calls.append(op)
                else:
                    found[symbol].is_closed = True
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    yield from (called for called in found.values() if called.calls and not called.is_closed)
