"""E-classes: what is there is not made again, and what is equal becomes one."""

from layoutopt.candidates.classes import Classes
from layoutopt.ir.graph import Concat, Constant, Graph, Op, Opaque, Reshape
from layoutopt.ir.types import TensorType
from layoutopt.rules.rule import Expression

KIND = TensorType((4,), "f32")
X, A, B, FRESH = 0, 1, 2, 3


def own(*ops: Op) -> Graph:
    """A model of the tensors x, a and b."""
    return Graph((KIND,) * 3, ops, (X,), (A, B))


def added(classes: Classes, *ops: Op, fresh: int = 0, atomic: bool = False) -> bool:
    """Add an expression; whether any of it was new."""
    addition = classes.lacking(Expression((KIND,) * fresh, ops, atomic=atomic))
    if not addition.is_empty:
        classes.add(addition, ["op"] * len(addition.expression.ops))
    return not addition.is_empty


def test_an_op_that_is_there_is_not_made_again() -> None:
    classes = Classes(own(Reshape(X, A), Concat((X, X), B, 0)))
    assert added(classes, Reshape(X, FRESH), Concat((FRESH, X), B, 0), fresh=1)
    assert classes.graph.ops[2:] == (Concat((A, X), B, 0),)
    assert not added(classes, Reshape(X, FRESH), Concat((FRESH, X), B, 0), fresh=1)


def test_new_tensors_are_numbered_without_gaps() -> None:
    classes = Classes(own(Reshape(X, A), Concat((X, X), B, 0)))
    ops = (Reshape(X, FRESH), Concat((FRESH, X), FRESH + 1, 0), Reshape(FRESH + 1, B))
    assert added(classes, *ops, fresh=2)
    assert classes.graph.ops[2:] == (Concat((A, X), FRESH, 0), Reshape(FRESH, B))
    assert len(classes.graph.types) == 4


def test_classes_that_are_shown_to_be_equal_become_one() -> None:
    """With them the classes of all ops over them."""
    classes = Classes(own(Reshape(X, A), Concat((X, X), B, 0)))
    ops = (Concat((X, X), FRESH, 1), Concat((FRESH, X), FRESH + 1, 2), Reshape(FRESH + 1, B))
    assert added(classes, *ops, fresh=2)
    assert added(classes, Concat((A, X), FRESH + 2, 2), Concat((FRESH + 2, X), B, 3), fresh=1)
    assert len({t for op in classes.graph.ops for t in op.outputs}) == 5
    assert added(classes, Reshape(X, FRESH))
    graph, place = classes.compacted()
    assert graph.ops == (
        Reshape(X, A),
        Concat((X, X), B, 0),
        Concat((X, X), A, 1),
        Concat((A, X), FRESH, 2),
        Reshape(FRESH, B),
        Concat((FRESH, X), B, 3),
    )
    assert len(graph.types) == 4
    assert place == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 3, 6: 5}


def test_the_own_tensors_of_a_model_keep_their_classes() -> None:
    """It computes both: the same op is a way to compute the one and the other."""
    classes = Classes(own(Reshape(X, A), Concat((X, X), B, 0)))
    assert added(classes, Reshape(X, B))
    assert not added(classes, Reshape(X, B))
    assert classes.compacted()[0].ops[2:] == (Reshape(X, B),)


def test_the_own_ops_of_a_model_are_all_kept() -> None:
    """Two without results may be the same."""
    check = Opaque("cf.assert", (X,), (), "control flow")
    classes = Classes(own(Reshape(X, A), check, check, Concat((X, X), B, 0)))
    assert added(classes, Reshape(X, FRESH), Concat((FRESH, X), B, 1), fresh=1)
    graph, place = classes.compacted()
    assert graph.ops[:4] == (Reshape(X, A), check, check, Concat((X, X), B, 0))
    assert place == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4}


def test_what_has_one_price_as_a_whole_shares_nothing_and_is_there_once() -> None:
    classes = Classes(own(Reshape(X, A), Concat((X, X), B, 0)))
    for new in (True, False):
        first = len(classes.graph.types)
        ops = (Reshape(X, first), Concat((first, X), B, 0))
        assert added(classes, *ops, fresh=1, atomic=True) is new
    assert len(classes.graph.ops) == 4
    assert added(classes, Reshape(A, FRESH + 1), Concat((FRESH + 1, X), B, 1), fresh=1)
    assert classes.atomic == {2, 3}


def test_an_op_that_reads_its_own_class_is_no_way_to_compute_it() -> None:
    classes = Classes(own(Reshape(X, A), Concat((X, X), B, 0)))
    assert not added(classes, Reshape(B, B))
    assert added(classes, Concat((X, X), FRESH, 1), Concat((FRESH, X), B, 2), fresh=1)
    assert added(classes, Reshape(FRESH, B))
    assert added(classes, Concat((X, X), FRESH, 0))
    assert classes.compacted()[0].ops == (
        Reshape(X, A),
        Concat((X, X), B, 0),
        Concat((X, X), B, 1),
    )


def test_constants_are_one_where_one_value_fills_them() -> None:
    graph = Graph((KIND,) * 3, (Constant(X), Constant(A, "1.0"), Reshape(X, B)), (), (B,))
    classes = Classes(graph)
    assert added(classes, Constant(FRESH, "1.0"), Concat((FRESH, X), B, 0), fresh=1)
    assert classes.graph.ops[3:] == (Concat((A, X), B, 0),)
    assert added(classes, Constant(FRESH), Concat((FRESH, X), B, 0), fresh=1)
    assert classes.graph.ops[4:] == (Constant(FRESH), Concat((FRESH, X), B, 0))
