"""What a structured op computes for one point of its iteration domain."""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.types import is_complex, is_float

_WIDENING = ("arith.extf", "arith.extsi")
_UNSIGNED = "arith.extui"
COMMUTATIVE = (
    "arith.addf",
    "arith.addi",
    "arith.mulf",
    "arith.muli",
    "arith.andi",
    "arith.ori",
    "arith.xori",
    "arith.maximumf",
    "arith.minimumf",
    "arith.maxnumf",
    "arith.minnumf",
    "arith.maxsi",
    "arith.minsi",
    "arith.maxui",
    "arith.minui",
)
"""Associative and commutative, floats up to rounding."""


@dataclass(frozen=True, slots=True)
class ScalarOp:
    """One op of a body, with one result.

    ``operands`` number the body's values: its block arguments first, then the results of its
    ops. ``attributes`` are (name, MLIR text) pairs, sorted by name.
    """

    name: str
    operands: tuple[int, ...]
    type: str
    attributes: tuple[tuple[str, str], ...] = ()
    size: int | None = None
    """Of a constant index: the size that it is, in place of ``value``."""

    def attribute(self, name: str) -> str:
        """The text of one attribute."""
        if name == "value" and self.size is not None:
            return f"{self.size} : index"
        return dict(self.attributes)[name]


def scalar_constant(value: str, element: str) -> ScalarOp:
    """A number in a body, as MLIR text: ``1.0 : f32``, ``[1.0 : f32, 2.0 : f32]``."""
    name = "complex.constant" if is_complex(element) else "arith.constant"
    return ScalarOp(name, (), element, (("value", value),))


def lowest(element: str) -> str:
    """Minus infinity in a type of floats, as MLIR text."""
    bits = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000", "f64": "0xFFF0000000000000"}
    return f"{bits[element]} : {element}"


def size_constant(size: int) -> ScalarOp:
    """A size as an index in a body."""
    return ScalarOp("arith.constant", (), "index", size=size)


@dataclass(frozen=True, slots=True)
class Body:
    """The region of a structured op: arguments (inputs, then inits), ops, yielded values."""

    arguments: tuple[str, ...]
    ops: tuple[ScalarOp, ...]
    yields: tuple[int, ...]

    def used(self, value: int) -> bool:
        """Whether any op reads the value or it is yielded."""
        return value in self.yields or any(value in op.operands for op in self.ops)

    def op_of(self, value: int) -> ScalarOp | None:
        """The op that makes a value, None for a block argument."""
        return None if value < len(self.arguments) else self.ops[value - len(self.arguments)]

    def type_of(self, value: int) -> str:
        """The element type of a value."""
        op = self.op_of(value)
        return self.arguments[value] if op is None else op.type

    @property
    def reads_index(self) -> bool:
        """Whether the body looks at its position (``linalg.index``)."""
        return any(op.name == "linalg.index" for op in self.ops)

    def with_index_dims(self, new_dim: dict[int, int]) -> Body:
        """The same body where ``linalg.index`` dims are renumbered."""

        def renumber(op: ScalarOp) -> ScalarOp:
            if op.name != "linalg.index":
                return op
            return replace(op, attributes=(("dim", str(new_dim[int(op.attribute("dim"))])),))

        return replace(self, ops=tuple(map(renumber, self.ops)))


def pruned(body: Body) -> Body:
    """The body without ops whose values are not read."""
    count = len(body.arguments)
    needed = set(body.yields)
    for position in reversed(range(len(body.ops))):
        if count + position in needed:
            needed.update(body.ops[position].operands)
    kept = [i for i in range(len(body.ops)) if count + i in needed]
    number = {count + old: count + new for new, old in enumerate(kept)}

    def moved(value: int) -> int:
        return number.get(value, value)

    ops = tuple(
        replace(body.ops[i], operands=tuple(map(moved, body.ops[i].operands))) for i in kept
    )
    return Body(body.arguments, ops, tuple(map(moved, body.yields)))


def without_argument(body: Body, argument: int) -> Body:
    """The body without an argument that nothing reads."""

    def moved(value: int) -> int:
        return value if value < argument else value - 1

    return Body(
        (*body.arguments[:argument], *body.arguments[argument + 1 :]),
        tuple(replace(op, operands=tuple(map(moved, op.operands))) for op in body.ops),
        tuple(map(moved, body.yields)),
    )


def copy_body(element: str) -> Body:
    """Yields the one input."""
    return Body((element, element), (), (0,))


def fill_body(value: str, element: str) -> Body:
    """Yields a constant."""
    return Body((element,), (scalar_constant(value, element),), (1,))


def contraction_body(lhs: str, rhs: str, out: str) -> Body:
    """``out + widen(lhs) * widen(rhs)`` in the type of ``out``."""
    floating = is_float(out)
    ops: list[ScalarOp] = []
    factors = []
    for position, element in enumerate((lhs, rhs)):
        if element == out:
            factors.append(position)
        else:
            ops.append(ScalarOp("arith.extf" if floating else "arith.extsi", (position,), out))
            factors.append(2 + len(ops))
    suffix = "f" if floating else "i"
    ops.append(ScalarOp(f"arith.mul{suffix}", tuple(factors), out))
    ops.append(ScalarOp(f"arith.add{suffix}", (2, 2 + len(ops)), out))
    return Body((lhs, rhs, out), tuple(ops), (2 + len(ops),))


def fill_value(body: Body) -> str | None:
    """The constant that the body yields without looking at anything, as MLIR text."""
    if len(body.ops) != 1 or body.ops[0].name not in ("arith.constant", "complex.constant"):
        return None
    return body.ops[0].attribute("value") if body.yields == (len(body.arguments),) else None


def is_copy(body: Body) -> bool:
    """Whether the body yields its only input unchanged."""
    return len(body.arguments) == 2 and body.yields == (0,)


def is_widening(body: Body) -> bool:
    """Whether the body yields its only input in a longer type, and does nothing else."""
    if len(body.arguments) != 2 or len(body.ops) != 1:
        return False
    return body.ops[0].name in _WIDENING and body.ops[0].operands == (0,) and body.yields == (2,)


def is_contraction(body: Body) -> bool:
    """Whether the body is ``out + a * b``, with widening casts of a and b allowed."""
    if len(body.arguments) != 3 or len(body.yields) != 1:
        return False
    add = body.op_of(body.yields[0])
    if add is None or add.name not in ("arith.addf", "arith.addi") or 2 not in add.operands:
        return False
    other = add.operands[1] if add.operands[0] == 2 else add.operands[0]
    product = body.op_of(other)
    if product is None or product.name not in ("arith.mulf", "arith.muli"):
        return False
    return sorted(_uncast(body, value) for value in product.operands) == [0, 1]


def adds_up_products(body: Body) -> bool:
    """Whether the body is that of a contraction, some of whose factors may be unsigned."""
    signed = (replace(o, name="arith.extsi") if o.name == _UNSIGNED else o for o in body.ops)
    return is_contraction(replace(body, ops=tuple(signed)))


def is_exact_contraction(body: Body) -> bool:
    """Whether MLIR's named contraction ops mean exactly this body.

    A named op widens both factors to the result's type and multiplies there.
    """
    if not is_contraction(body):
        return False
    out = body.arguments[2]
    return all(op.type == out for op in body.ops) and all(
        not op.attributes
        or op.name in _WIDENING
        or dict(op.attributes).keys() <= {"fastmath", "overflowFlags"}
        for op in body.ops
    )


def is_reassociable(body: Body, results: int) -> bool:
    """Whether each accumulator is folded into by one commutative op and read nowhere else.

    Only then does a reduction not depend on the order in which it visits its points.
    """
    first = len(body.arguments) - results
    for position, value in enumerate(body.yields):
        accumulator = first + position
        op = body.op_of(value)
        reads = [v for o in body.ops for v in o.operands if v == accumulator]
        if op is None or op.name not in COMMUTATIVE or len(op.operands) != 2:
            return False
        if accumulator not in op.operands or len(reads) != 1:
            return False
        if sum(value in o.operands for o in body.ops) or body.yields.count(value) != 1:
            return False
        if accumulator in body.yields:
            return False
    return True


def _uncast(body: Body, value: int) -> int:
    op = body.op_of(value)
    return op.operands[0] if op is not None and op.name in _WIDENING else value
