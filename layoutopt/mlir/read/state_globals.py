"""Private mutable globals: state that functions of a module keep between calls.

    util.global private mutable @cache = dense<0.0> : T
    %a = util.global.load @cache : T     util.global.store %b, @cache : T

All loads and stores of one are one tensor, in whatever functions they stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from iree.compiler import ir

from layoutopt.mlir.read.boundary import is_private, symbols_of

_GLOBAL = "util.global"
_LOAD = "util.global.load"
_STORE = "util.global.store"
_INITIALIZER = "util.initializer"


@dataclass
class StateGlobal:
    """A global and the ops that name it."""

    op: Any
    symbol: str
    loads: list[Any] = field(default_factory=list)
    stores: list[Any] = field(default_factory=list)
    initial: list[Any] = field(default_factory=list)
    """Stores in initializers."""
    is_closed: bool = False
    """Whether something else names it, or an initializer reads it."""


def state_globals(module: Any) -> Iterator[StateGlobal]:
    """The private mutable globals that are read, and that loads and stores alone name."""
    found: dict[str, StateGlobal] = {}
    for op in module.regions[0].blocks[0].operations:
        attributes = op.operation.attributes
        if op.operation.name == _GLOBAL and "is_mutable" in attributes and is_private(op):
            symbol = ir.StringAttr(attributes["sym_name"]).value
            found[symbol] = StateGlobal(op.operation, symbol)

    def visit(op: Any) -> Any:
        for name in op.attributes:
            for symbol in symbols_of(op.attributes[name]):
                if symbol in found:
                    _add(found[symbol], op)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    yield from (state for state in found.values() if state.loads and not state.is_closed)


def _add(state: StateGlobal, op: Any) -> None:
    ahead = _is_ahead(op)
    if op.name == _LOAD and not ahead:
        state.loads.append(op)
    elif op.name == _STORE:
        (state.initial if ahead else state.stores).append(op)
    else:
        state.is_closed = True


def _is_ahead(op: Any) -> bool:
    """Whether an op stands in an initializer."""
    above = op
    while above is not None:
        if above.name == _INITIALIZER:
            return True
        above = None if above.parent is None else above.parent.operation
    return False
