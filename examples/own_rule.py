"""Plan with a rewrite rule of one's own beside those of layoutopt.

    x * 2   ->   x + x

    python examples/own_rule.py

An installed package can hand its rules to the command line: it names a tuple of them under
``[project.entry-points."layoutopt.rules"]``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import layoutopt
from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import Graph, GraphBuilder, IteratorType, Structured, Uninitialized
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

TWO = "2.000000e+00 : f32"
MODEL = """
func.func @main(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %empty = tensor.empty() : tensor<256x256xf32>
  %y = linalg.map ins(%x : tensor<256x256xf32>) outs(%empty : tensor<256x256xf32>)
    (%a: f32, %out: f32) {
      %two = arith.constant 2.0 : f32
      %b = arith.mulf %a, %two : f32
      linalg.yield %b : f32
    }
  return %y : tensor<256x256xf32>
}
"""


def scaled(factor: str) -> Graph:
    """``x * factor``, for the examples that every rule has."""
    builder = GraphBuilder()
    x, y = builder.tensor((4, 6), "f32"), builder.tensor((4, 6), "f32")
    constant = ScalarOp("arith.constant", (), "f32", (("value", factor),))
    body = Body(("f32", "f32"), (constant, ScalarOp("arith.mulf", (0, 2), "f32")), (3,))
    maps = (identity_map(2), identity_map(2))
    kinds = (IteratorType.PARALLEL, IteratorType.PARALLEL)
    builder.add(Structured((x,), (Uninitialized(),), (y,), (4, 6), kinds, maps, body))
    return builder.build((x,), (y,))


@dataclass(frozen=True)
class Product:
    """A product of two values of a body, one of them a constant."""

    op: Structured
    place: int
    """Of the product among the ops of the body."""
    factor: int
    """The other value."""
    constant: str


class DoublingToAddition:
    """Adding is never dearer than multiplying."""

    name = "doubling-to-addition"
    summary = "x * 2 -> x + x"
    argument = "both round the same real number once"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(scaled(TWO), 0),
        Example(scaled("3.000000e+00 : f32"), 0, refusal="expected a factor of 2, but got 3"),
    )

    def match(self, graph: Graph, op: int) -> Product | None:
        """The first product with a constant in the body of an op."""
        found = graph.ops[op]
        if not isinstance(found, Structured):
            return None
        for place, scalar in enumerate(found.body.ops):
            if scalar.name != "arith.mulf":
                continue
            for factor, other in (scalar.operands, scalar.operands[::-1]):
                made = found.body.op_of(other)
                if made is not None and made.name == "arith.constant":
                    return Product(found, place, factor, made.attribute("value"))
        return None

    def guard(self, match: Product) -> Refusal | None:
        """Only two is a sum of two."""
        factor = float(match.constant.split(" ")[0])
        return None if factor == 2 else Refusal(f"expected a factor of 2, but got {factor:g}")

    def rewrite(self, graph: Graph, match: Product) -> Expression:
        """The sum in place of the product."""
        ops = list(match.op.body.ops)
        operands = (match.factor, match.factor)
        ops[match.place] = replace(ops[match.place], name="arith.addf", operands=operands)
        body = replace(match.op.body, ops=tuple(ops))
        return Expression((), (replace(match.op, body=body),))


def main(cache: Path | None = None) -> layoutopt.Plan:
    """Plan with the rule; the report names it wherever it is chosen."""
    rules = (*layoutopt.REWRITES, DoublingToAddition())
    plan = layoutopt.optimize(MODEL, options=layoutopt.Options(rules=rules, cache=cache))
    for choice in plan.report.choices:
        print(f"{choice.op}: {choice.form}; runner-up: {choice.runner_up}")
    return plan


if __name__ == "__main__":
    main()
