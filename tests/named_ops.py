"""Named linalg ops over small tensors, side by side in one function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A named op over tensors of these types."""

    op: str
    lhs: str
    rhs: str
    result: str

    def text(self, number: int, scalars: Sequence[str]) -> str:
        """Lines that compute ``%y<number>`` from ``%a<number>``, ``%b<number>`` and i32 scalars."""
        element = self.result.rsplit("x", 1)[1]
        zero = "0.0" if element.startswith("f") else "0"
        a, b, y = (f"tensor<{t}>" for t in (self.lhs, self.rhs, self.result))
        names = ", ".join((f"%a{number}", f"%b{number}", *scalars))
        types = ", ".join((a, b, *("i32" for _ in scalars)))
        return f"""
  %z{number} = arith.constant {zero} : {element}
  %e{number} = tensor.empty() : {y}
  %f{number} = linalg.fill ins(%z{number} : {element}) outs(%e{number} : {y}) -> {y}
  %y{number} = linalg.{self.op} ins({names} : {types}) outs(%f{number} : {y}) -> {y}"""


def side_by_side(
    cases: Sequence[Case], scalars: Sequence[str] = (), argument: str = "", head: str = ""
) -> str:
    """A function ``main`` over all operands, and one more ``argument``, that returns all results.

    ``head``: lines that make the ``scalars``, which every op takes.
    """
    takes = [f"%a{i}: tensor<{c.lhs}>, %b{i}: tensor<{c.rhs}>" for i, c in enumerate(cases)]
    types = ", ".join(f"tensor<{c.result}>" for c in cases)
    values = ", ".join(f"%y{i}" for i in range(len(cases)))
    body = head + "".join(c.text(i, scalars) for i, c in enumerate(cases))
    arguments = ", ".join([*takes, *([argument] if argument else [])])
    return f"func.func @main({arguments}) -> ({types}) {{{body}\n  return {values} : {types}\n}}\n"
