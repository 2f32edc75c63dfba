"""Bodies of odd ops: contractions, folds, copies, several results, and ops in a row."""

from __future__ import annotations

from random import Random

from layoutopt.ir.scalar import Body, ScalarOp, contraction_body
from layoutopt.ir.types import is_float


def any_body(random: Random, factor: str, out: str) -> tuple[Body, int, int]:
    floating = is_float(out)
    kind = random.choice(
        ("contract",) * 9 + ("fold", "fold", "copy", "copy", "several", "point", "point")
    )
    if kind == "contract":
        return contraction_body(factor, factor, out), 2, 1
    if kind == "copy":
        return Body((out, out), (), (0,)), 1, 1
    suffix = "f" if floating else "i"
    if kind == "fold":
        most = "arith.maximumf" if floating else "arith.maxsi"
        least = "arith.minimumf" if floating else "arith.minsi"
        names = ["add", "add", "mul", "sub"] + ([] if floating else ["or", "and"])
        name = random.choice((most, least, *(f"arith.{n}{suffix}" for n in names)))
        order = random.choice(((0, 1), (1, 0)))
        return Body((out, out), (ScalarOp(name, order, out),), (2,)), 1, 1
    if kind == "several":
        add, mul = f"arith.add{suffix}", f"arith.mul{suffix}"
        ops = (
            ScalarOp(add, (1, 0), out),
            ScalarOp(mul, (0, 0), out),
            ScalarOp(add, (2, 4), out),
        )
        return Body((out, out, out), ops, (3, 5)), 1, 2
    return _pointwise(random, out, suffix)


def _pointwise(random: Random, out: str, suffix: str) -> tuple[Body, int, int]:
    """Some ops in a row, on the inputs, on constants and on each other."""
    number = "{}.0" if suffix == "f" else "{}"
    names = ["add", "sub", "mul", "mul"]
    names += ["maximum", "minimum", "div"] if suffix == "f" else ["maxs", "mins", "and", "or"]
    ops: list[ScalarOp] = []
    values = [0, 1]

    def add(op: ScalarOp) -> int:
        ops.append(op)
        return 2 + len(ops)

    for _ in range(random.randint(1, 4)):
        if random.random() < 0.4:
            text = f"{number.format(random.choice((0, 1, 1, 3, -1)))} : {out}"
            values.append(add(ScalarOp("arith.constant", (), out, (("value", text),))))
        operands = (random.choice(values), random.choice(values))
        if random.random() < 0.15:
            kind = "cmpf" if suffix == "f" else "cmpi"
            least = (("predicate", "2 : i64"),)
            test = add(ScalarOp(f"arith.{kind}", operands, "i1", least))
            chosen = (test, random.choice(values), random.choice(values))
            values.append(add(ScalarOp("arith.select", chosen, out)))
        else:
            name = f"arith.{random.choice(names)}{suffix}"
            values.append(add(ScalarOp(name, operands, out)))
    return Body((out, out, out), tuple(ops), (values[-1],)), 2, 1


def with_dead_argument(body: Body, at: int, element: str) -> Body:
    """The body with one more argument that it does not look at."""

    def moved(value: int) -> int:
        return value if value < at else value + 1

    ops = tuple(
        ScalarOp(o.name, tuple(map(moved, o.operands)), o.type, o.attributes) for o in body.ops
    )
    arguments = (*body.arguments[:at], element, *body.arguments[at:])
    return Body(arguments, ops, tuple(map(moved, body.yields)))
