"""What becomes of padding in one op: proved, masked or refused."""

from __future__ import annotations

import pytest

from layoutopt.ir.affine import affine, identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Pad,
    Reshape,
    Structured,
    Uninitialized,
)
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body
from layoutopt.rules.propagation import propagate, relayout

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION
ONE = ScalarOp("arith.constant", (), "f32", (("value", "1.0 : f32"),))
RELU = Body(
    ("f32", "f32"),
    (
        ScalarOp("arith.constant", (), "f32", (("value", "0.0 : f32"),)),
        ScalarOp("arith.maximumf", (0, 2), "f32"),
    ),
    (3,),
)
SHIFT = Body(("f32", "f32"), (ONE, ScalarOp("arith.addf", (0, 2), "f32")), (3,))
TILED = Layout((0, 1), (1,), (4,))


def elementwise(body: Body) -> Graph:
    g = GraphBuilder()
    x, y = g.tensor((2, 6), body.arguments[0]), g.tensor((2, 6), body.arguments[0])
    maps = (identity_map(2),) * 2
    g.add(Structured((x,), (Uninitialized(),), (y,), (2, 6), (P, P), maps, body))
    return g.build((x,), (y,))


def reduction(fold: str, start: str) -> Graph:
    g = GraphBuilder()
    x, y = g.tensor((2, 6), "f32"), g.tensor((2,), "f32")
    body = Body(("f32", "f32"), (ScalarOp(fold, (1, 0), "f32"),), (2,))
    maps = (identity_map(2), plain_map([0]))
    g.add(Structured((x,), (Fill(start),), (y,), (2, 6), (P, R), maps, body))
    return g.build((x,), (y,))


def matmul() -> Graph:
    g = GraphBuilder()
    x, w, y = (g.tensor(shape, "f32") for shape in ((2, 6), (6, 2), (2, 2)))
    maps = (plain_map([0, 2]), plain_map([2, 1]), plain_map([0, 1]))
    body = contraction_body("f32", "f32", "f32")
    g.add(Structured((x, w), (Fill("0.0 : f32"),), (y,), (2, 2, 6), (P, P, R), maps, body))
    return g.build((x, w), (y,))


def written(graph: Graph, *layouts: Layout) -> list[str] | Refusal:
    """The names of the ops in the body over these layouts, one a tensor."""
    physical = Physical(graph.types)
    refusal = relayout(graph.ops[0], dict(enumerate(layouts)), physical)
    if refusal is not None:
        return refusal
    (op,) = [op for op in physical.builder.ops if isinstance(op, Structured)]
    return [o.name for o in op.body.ops]


def test_zeros_that_stay_zeros_need_no_mask() -> None:
    assert written(elementwise(RELU), TILED, TILED) == ["arith.constant", "arith.maximumf"]


def test_zeros_that_become_ones_are_masked_where_zeros_are_required() -> None:
    names = written(elementwise(SHIFT), TILED, TILED)
    assert not isinstance(names, Refusal)
    assert names[-1] == "arith.select"


@pytest.mark.parametrize("required", [Padding.ONE, Padding.ANY])
def test_zeros_may_become_ones_where_ones_or_anything_are_required(required: Padding) -> None:
    names = written(elementwise(SHIFT), TILED, TILED.padded_with(required))
    assert names == ["arith.constant", "arith.addf"]


def test_the_contract_of_a_result_is_what_it_holds() -> None:
    graph = elementwise(SHIFT)
    found = propagate(graph.ops[0], graph.types, 0, TILED)
    assert found == {0: TILED, 1: TILED.padded_with(Padding.ONE)}


@pytest.mark.parametrize(
    ("fold", "start", "held"),
    [
        ("arith.addf", "0.0 : f32", Padding.ZERO),
        ("arith.mulf", "1.0 : f32", Padding.ONE),
        ("arith.maximumf", "0xFF800000 : f32", Padding.LOWEST),
        ("arith.minimumf", "0x7F800000 : f32", Padding.HIGHEST),
    ],
)
def test_reductions_read_their_own_neutral_element_only(
    fold: str, start: str, held: Padding
) -> None:
    for padding in Padding:
        names = written(reduction(fold, start), TILED.padded_with(padding), Layout((0,)))
        assert not isinstance(names, Refusal)
        assert ("arith.select" in names) == (padding is not held), padding


def test_a_contraction_is_not_masked_but_refused() -> None:
    rhs = Layout((0, 1), (0,), (4,))
    plain = Layout((0, 1))
    assert written(matmul(), TILED, rhs, plain) == ["arith.mulf", "arith.addf"]
    assert written(matmul(), TILED.padded_with(Padding.ANY), rhs, plain) == Refusal(
        "expected zeros in the padding of a contraction, but got any and zero"
    )


def test_a_padded_loop_is_tiled_wherever_it_is_read() -> None:
    assert written(matmul(), TILED, Layout((0, 1)), Layout((0, 1))) == Refusal(
        "expected tiles of 4 wherever the padded loop d2 is read, but dim 0 is 'd2' in row-major"
    )


def test_padding_is_never_divided_by_where_processors_stop() -> None:
    body = Body(("i32", "i32"), (ScalarOp("arith.divsi", (0, 0), "i32"),), (2,))
    assert written(elementwise(body), TILED, TILED) == Refusal(
        "expected no integer division over a padded loop, but got arith.divsi"
    )


def test_padding_that_a_reduction_cannot_leave_is_refused() -> None:
    graph = reduction("arith.addf", "2.0 : f32")
    layout = Layout((0, 1), (0,), (4,))
    assert written(graph, layout, Layout((0,), (0,), (4,))) == Refusal(
        "expected a reduction that leaves zero in the padding of its result, but the init of "
        "arith.addf is another value"
    )


def scaled(element: str) -> Graph:
    """``y = x * s`` with one s for the whole tensor."""
    g = GraphBuilder()
    x, s, y = (g.tensor(shape, element) for shape in ((2, 6), (), (2, 6)))
    name = "arith.mulf" if element == "f32" else "arith.muli"
    body = Body((element,) * 3, (ScalarOp(name, (0, 1), element),), (3,))
    maps = (identity_map(2), (), identity_map(2))
    g.add(Structured((x, s), (Uninitialized(),), (y,), (2, 6), (P, P), maps, body))
    return g.build((x, s), (y,))


@pytest.mark.parametrize(("element", "masked"), [("f32", True), ("i32", False)])
def test_zeros_stay_zeros_beside_integers_but_not_beside_floats(element: str, masked: bool) -> None:
    """The scale may be Inf or NaN."""
    names = written(scaled(element), TILED, Layout(()), TILED)
    assert not isinstance(names, Refusal)
    assert ("arith.select" in names) == masked


def test_a_contraction_of_floats_leaves_anything_past_the_end_of_its_result() -> None:
    rows = Layout((0, 1), (0,), (4,))
    plain = Layout((0, 1))
    assert written(matmul(), rows, plain, rows) == Refusal(
        "expected zeros in the padding of a contraction, but got zero and zero"
    )
    assert written(matmul(), rows, plain, rows.padded_with(Padding.ANY)) == [
        "arith.mulf",
        "arith.addf",
    ]
    graph = matmul()
    assert propagate(graph.ops[0], graph.types, 0, rows) == {
        0: rows,
        1: plain,
        2: rows.padded_with(Padding.ANY),
    }


@pytest.mark.parametrize(
    "name", ["arith.divui", "arith.remsi", "arith.floordivsi", "arith.ceildivsi", "math.ipowi"]
)
def test_what_processors_stop_at_is_refused(name: str) -> None:
    body = Body(("i32", "i32"), (ScalarOp(name, (0, 0), "i32"),), (2,))
    loose = TILED.padded_with(Padding.ANY)
    assert written(elementwise(body), TILED, loose) == Refusal(
        f"expected no integer division over a padded loop, but got {name}"
    )


@pytest.mark.parametrize(
    ("scalar", "held"),
    [
        (ScalarOp("math.log", (0,), "f32"), Padding.ZERO),
        (ScalarOp("math.rsqrt", (0,), "f32"), Padding.ZERO),
        (ScalarOp("arith.divf", (0, 0), "f32"), Padding.ZERO),
        (ScalarOp("arith.subf", (0, 0), "f32"), Padding.HIGHEST),
        (ScalarOp("math.exp", (0,), "f32"), Padding.HIGHEST),
        (ScalarOp("math.copysign", (0, 0), "f32"), Padding.ZERO),
    ],
    ids=lambda value: value.name if isinstance(value, ScalarOp) else value.value,
)
def test_padding_that_leaves_the_finite_numbers_is_masked(scalar: ScalarOp, held: Padding) -> None:
    graph = elementwise(Body(("f32", "f32"), (scalar,), (2,)))
    names = written(graph, TILED.padded_with(held), TILED)
    assert not isinstance(names, Refusal)
    assert names[-1] == "arith.select"


def at_one_row(start: str) -> Graph:
    """Row 1 of a result of three rows is written; the others keep the init."""
    g = GraphBuilder()
    x, y = g.tensor((6,), "f32"), g.tensor((3, 6), "f32")
    body = Body(("f32", "f32"), (ScalarOp("arith.addf", (0, 1), "f32"),), (2,))
    maps = (identity_map(1), (affine([], 1), affine([(0, 1)])))
    g.add(Structured((x,), (Fill(start),), (y,), (6,), (P,), maps, body))
    return g.build((x,), (y,))


def test_what_is_not_written_holds_the_init_in_the_padding_too() -> None:
    source, result = Layout((0,), (0,), (4,)), Layout((0, 1), (1,), (4,))
    assert not isinstance(written(at_one_row("0.0 : f32"), source, result), Refusal)
    assert written(at_one_row("2.0 : f32"), source, result) == Refusal(
        "expected zero in the padding where nothing is written, but the init of the result is "
        "another value"
    )
    loose = result.padded_with(Padding.ANY)
    assert not isinstance(written(at_one_row("2.0 : f32"), source, loose), Refusal)


def test_no_padding_is_required_of_numbers_that_are_not_known() -> None:
    body = Body(("f8X",) * 2, (ScalarOp("arith.negf", (0,), "f8X"),), (2,))
    graph = elementwise(body)
    assert written(graph, TILED, TILED) == Refusal(
        "expected an element type with a neutral element, but got f8X"
    )
    assert written(graph, TILED, TILED.padded_with(Padding.ANY)) == ["arith.negf"]


@pytest.mark.parametrize(("element", "kept"), [("f32", True), ("f8X", False)])
def test_a_pad_meets_a_contract_of_known_numbers_only(element: str, kept: bool) -> None:
    g = GraphBuilder()
    x, y = g.tensor((6, 4), element), g.tensor((6, 7), element)
    g.add(Pad(x, y, (0, 0), (0, 3), f"0.0 : {element}"))
    graph = g.build((x,), (y,))
    layout = Layout((0, 1), (0,), (4,))
    refusal = relayout(graph.ops[0], {0: layout, 1: layout}, Physical(graph.types))
    wanted = Refusal("expected zero in the padding of a pad's source and as its value")
    assert refusal == (None if kept else wanted)


def test_a_diagonal_has_one_tile() -> None:
    g = GraphBuilder()
    x, y = g.tensor((6, 6), "f32"), g.tensor((6,), "f32")
    maps = (plain_map([0, 0]), plain_map([0]))
    g.add(Structured((x,), (Uninitialized(),), (y,), (6,), (P,), maps, RELU))
    graph = g.build((x,), (y,))
    assert propagate(graph.ops[0], graph.types, 0, Layout((0, 1), (0, 1), (2, 3))) == Refusal(
        "expected one tile for loop d0, but got 2 and 3"
    )
    tiles = Layout((0, 1), (0, 1), (2, 2))
    assert propagate(graph.ops[0], graph.types, 0, tiles) == {0: tiles, 1: Layout((0,), (0,), (2,))}
    assert propagate(graph.ops[0], graph.types, 1, Layout((0,), (0,), (2,))) == {
        0: tiles,
        1: Layout((0,), (0,), (2,)),
    }


def test_an_empty_tensor_is_reshaped_in_row_major() -> None:
    g = GraphBuilder()
    x, y = g.tensor((0, 4), "f32"), g.tensor((4, 0), "f32")
    g.add(Reshape(x, y))
    graph = g.build((x,), (y,))
    rows = Layout((0, 1))
    assert propagate(graph.ops[0], graph.types, 0, rows) == {0: rows, 1: rows}
    assert isinstance(propagate(graph.ops[0], graph.types, 0, Layout((1, 0))), Refusal)


def test_elementwise_results_that_a_padded_loop_does_not_write_are_refused() -> None:
    """The last point that is visited counts, and it would be one past the end."""
    g = GraphBuilder()
    x, y, last = (g.tensor(shape, "f32") for shape in ((2, 6), (2, 6), (2,)))
    body = Body(("f32",) * 3, (), (0, 0))
    maps = (identity_map(2), identity_map(2), plain_map([0]))
    g.add(Structured((x,), (Uninitialized(),) * 2, (y, last), (2, 6), (P, P), maps, body))
    graph = g.build((x,), (y, last))
    loose = TILED.padded_with(Padding.ANY)
    assert written(graph, TILED, loose, Layout((0,))) == Refusal(
        "expected padded loops in every result, but d1 is not"
    )


@pytest.mark.parametrize(
    ("element", "scalar"),
    [("f32", "arith.maxnumf"), ("f32", "arith.minnumf"), ("i32", "arith.minsi")],
)
def test_undefined_contents_have_no_value(element: str, scalar: str) -> None:
    zero = ScalarOp("arith.constant", (), element, (("value", _zero(element)),))
    body = Body((element,) * 2, (zero, ScalarOp(scalar, (0, 2), element)), (3,))
    graph = elementwise(body)
    assert written(graph, TILED, TILED) == ["arith.constant", scalar]
    names = written(graph, TILED.padded_with(Padding.ANY), TILED)
    assert not isinstance(names, Refusal)
    assert names[-1] == "arith.select"


def _zero(element: str) -> str:
    return f"0.0 : {element}" if element.startswith("f") else f"0 : {element}"


def test_padding_of_an_unknown_element_type_has_no_value() -> None:
    g = GraphBuilder()
    x, y = g.tensor((2, 6), "f8X"), g.tensor((2, 6), "f32")
    body = Body(("f8X", "f32"), (ScalarOp("arith.extf", (0,), "f32"),), (2,))
    g.add(Structured((x,), (Uninitialized(),), (y,), (2, 6), (P, P), (identity_map(2),) * 2, body))
    names = written(g.build((x,), (y,)), TILED, TILED)
    assert not isinstance(names, Refusal)
    assert names[-1] == "arith.select"


def test_what_is_masked_inside_is_not_masked_again() -> None:
    """``y[p] = max over r of x[p] * w[r]``: r is masked in the fold, and p needs no mask."""
    g = GraphBuilder()
    x, w, y = (g.tensor((6,), "i32") for _ in range(3))
    body = Body(
        ("i32",) * 3,
        (ScalarOp("arith.muli", (0, 1), "i32"), ScalarOp("arith.maxsi", (2, 3), "i32")),
        (4,),
    )
    maps = (plain_map([0]), plain_map([1]), plain_map([0]))
    g.add(Structured((x, w), (Fill("0 : i32"),), (y,), (6, 6), (P, R), maps, body))
    tiles = Layout((0,), (0,), (4,))
    names = written(g.build((x, w), (y,)), tiles, tiles.padded_with(Padding.ANY), tiles)
    assert not isinstance(names, Refusal)
    assert names.count("arith.select") == names.count("arith.cmpi") == 1
    assert names[-2:] == ["arith.select", "arith.maxsi"]


@pytest.mark.parametrize(
    ("body", "required", "read"),
    [
        (RELU, Padding.ZERO, Padding.ZERO),
        (SHIFT, Padding.ONE, Padding.ZERO),
        (SHIFT, Padding.ZERO, Padding.ANY),
        (SHIFT, Padding.ANY, Padding.ZERO),
    ],
)
def test_the_contract_of_an_input_saves_the_mask_of_the_result(
    body: Body, required: Padding, read: Padding
) -> None:
    """Where no padding does, anything may stand there: the result is masked all the same."""
    graph, result = elementwise(body), TILED.padded_with(required)
    wanted = {0: TILED.padded_with(read), 1: result}
    assert propagate(graph.ops[0], graph.types, 1, result) == wanted
