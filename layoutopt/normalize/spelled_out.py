"""Bodies with several ops in place of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.scalar import Body, ScalarOp

Spelling = Callable[[int, int, str], list[ScalarOp]]
"""The ops for one: of the value that it reads, the first of them with that number, in its type; the
last one makes its result."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """An op whose body computes some function of one number, and the types that it does so in."""

    op: Structured
    elements: tuple[str, ...]

    def other_than(self, *elements: str) -> str | None:
        """The first of the types that is not among these."""
        return next((each for each in self.elements if each not in elements), None)


def op_that_computes(name: str, graph: Graph, op: int) -> Spelled | None:
    """An op whose body has the scalar op ``name``."""
    found = graph.ops[op]
    if not isinstance(found, Structured):
        return None
    elements = tuple(step.type for step in found.body.ops if step.name == name)
    return Spelled(found, elements) if elements else None


def spelled_out(body: Body, name: str, spelling: Spelling) -> Body:
    """The body with several ops in place of each of one name."""
    number = list(range(len(body.arguments)))
    ops: list[ScalarOp] = []
    for step in body.ops:
        operands = tuple(number[o] for o in step.operands)
        if step.name == name:
            ops += spelling(operands[0], len(body.arguments) + len(ops), step.type)
        else:
            ops.append(replace(step, operands=operands))
        number.append(len(body.arguments) + len(ops) - 1)
    return Body(body.arguments, tuple(ops), tuple(number[y] for y in body.yields))
