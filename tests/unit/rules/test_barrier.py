from layoutopt.ir.graph import Opaque
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.types import TensorType
from layoutopt.rules.propagation import propagate, relayout

TYPES = (TensorType((2, 3), "f32"), TensorType((4,), "f32"))
OP = Opaque("custom.op", (0,), (1,), "unknown")


def test_row_major_passes_and_nothing_else() -> None:
    assert propagate(OP, TYPES, 0, row_major(2)) == {0: row_major(2), 1: row_major(1)}
    assert propagate(OP, TYPES, 0, Layout((1, 0))) == Refusal(
        "expected row-major at an op that the graph cannot see through, but got perm[1,0]"
    )


def test_an_opaque_op_is_never_moved() -> None:
    assert relayout(OP, {0: row_major(2), 1: row_major(1)}, Physical(TYPES)) == Refusal(
        "expected an op that the graph can see through, but it is opaque"
    )
