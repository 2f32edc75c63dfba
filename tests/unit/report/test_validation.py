from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import GraphBuilder, IteratorType, Reshape, Structured, Uninitialized
from layoutopt.ir.planned_sizes import planned_for
from layoutopt.ir.scalar import copy_body
from layoutopt.mlir.module import parse_module
from layoutopt.options import Options, PlannedSize
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.at_sizes import AtSizes
from layoutopt.pricing.prices import Work
from layoutopt.report.moves import compiled_moves
from layoutopt.report.validation import _Part, _without, validate
from layoutopt.verification.data_movement import MoveDispatch
from layoutopt.verification.dispatch_names import loops_of
from tests.planning import AS_WRITTEN, HOST, TWO_MATMULS, SizedPrices, setting


@pytest.mark.parametrize(
    ("name", "loops"),
    [
        ("main$async_dispatch_3_matmul_256x1024x64_f32", (256, 1024, 64)),
        ("main_dispatch_12_elementwise_802816_f32", (802816,)),
        ("f_dispatch_0_conv_940x1450x3x3x3x32_bf16xbf16xf32", (940, 1450, 3, 3, 3, 32)),
        ("_encoding_2_encode_256x1024xf32_to_256x1024xf32", ()),
        ("main_dispatch_0_slow_memcpy", ()),
    ],
)
def test_loops_in_the_name_of_a_dispatch(name: str, loops: tuple[int, ...]) -> None:
    assert loops_of(name) == loops


def test_of_several_sizes_the_first_one_is_compared(tmp_path: Path) -> None:
    """Dispatches are timed there; the whole module at all of them."""
    (tmp_path / "model.mlir").write_text(TWO_MATMULS)
    graph = planned_for(parse_module(tmp_path / "model.mlir").graphs[0], {"arg0.0": 1})

    def by_rows(piece: Work, size: int) -> int:
        return 1000 * size * len(piece.form.graph.ops)

    options = Options(sizes=(PlannedSize("arg0.0", (1, 300)),), rules=AS_WRITTEN)
    plan = plan_graph(graph, setting(HOST, AtSizes(SizedPrices(by_rows)), options))
    calls = [("main_dispatch_0_matmul_Dx64x64_f32", 500.0)] * 2
    found = validate([plan], calls, 0.1, (1,), plan.cost_ns)
    assert [row.predicted_ns for row in found.dispatches] == [
        plan.prices[c].at_ns(0) for c in plan.choice.candidates
    ]
    assert found.predicted_ms == plan.cost_ns / 1e6
    assert plan.cost_ns > 100 * sum(row.predicted_ns or 0 for row in found.dispatches)


def planned(folder: Path) -> GraphPlan:
    """Two matmuls at one size."""
    (folder / "model.mlir").write_text(TWO_MATMULS)
    graph = planned_for(parse_module(folder / "model.mlir").graphs[0], {"arg0.0": 8})
    prices = SizedPrices(lambda piece, _: 100 * len(piece.form.graph.ops))
    return plan_graph(graph, setting(HOST, AtSizes(prices), Options(rules=AS_WRITTEN)))


def test_dispatches_that_choices_have_alone_are_looked_for(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    pieces = [plan.piece(key) for key in plan.chosen]
    texts = {piece.text for piece in pieces if piece is not None}
    names = ("c0_dispatch_0_matmul_Dx64x64_f32", "c0_dispatch_1_reduction_Dx64_f32")
    alone = dict.fromkeys(texts, names)
    calls = [
        ("main_dispatch_0_matmul_Dx64x64_f32", 500.0),
        ("main_dispatch_1_elementwise_Dx64_f32", 40.0),
        ("main_dispatch_2_reduction_Dx64_f32", 30.0),
        ("main_dispatch_0_matmul_Dx64x64_f32", 600.0),
        ("main_dispatch_7_elementwise_9_f32", 7.0),
    ]
    found = validate([plan], calls, 0.1, (1,), plan.cost_ns, alone)
    assert [row.measured_ns for row in found.dispatches] == [530, 640, 7]  # equal names, then loops
    assert (found.unexpected, found.missing) == (1, 0)
    assert [row.names for row in found.dispatches] == [
        ("main_dispatch_0_matmul_Dx64x64_f32", "main_dispatch_2_reduction_Dx64_f32"),
        ("main_dispatch_1_elementwise_Dx64_f32", "main_dispatch_0_matmul_Dx64x64_f32"),
        ("main_dispatch_7_elementwise_9_f32",),
    ]
    fewer = validate([plan], calls[:1], 0.1, (1,), plan.cost_ns, alone)
    assert (fewer.unexpected, fewer.missing) == (0, 3)
    assert [row.absent for row in fewer.dispatches] == [1, 2]


def test_each_copy_of_a_concat_is_told_as_planned(tmp_path: Path) -> None:
    """IREE copies each part by a dispatch of its own, which are one choice of the plan."""
    plan = planned(tmp_path)
    pieces = [plan.piece(key) for key in plan.chosen]
    alone = {p.text: ("c0_dispatch_0_slow_memcpy",) * 2 for p in pieces if p is not None}
    copies = [f"main_dispatch_{i}_slow_memcpy" for i in range(5)]
    found = validate([plan], [(c, 9.0) for c in copies], None, alone=alone)
    moves = compiled_moves([MoveDispatch(c, "memcpy", 1, 9) for c in copies], found, {})
    first, second, _ = (row.op for row in found.dispatches)
    assert [move.place for move in moves] == [first, first, second, second, ""]
    assert [move.reason for move in moves] == ["the op itself only moves data"] * 4 + [
        "no conversion of the plan: IREE copies here by itself"
    ]


def test_what_has_no_dispatch_alone_is_not_expected(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    pieces = [plan.piece(key) for key in plan.chosen]
    alone: dict[str, tuple[str, ...]] = {p.text: () for p in pieces if p is not None}
    found = validate([plan], [], None, (1,), plan.cost_ns, alone)
    assert found.dispatches == ()
    assert (found.unexpected, found.missing) == (0, 0)


def test_what_another_choice_has_made_is_not_expected_twice() -> None:
    """Loops as they are or merged into one; of two equal ones, one for each op."""
    sums, products = _Part((64, 512), "elementwise_64x512_f32"), _Part((64, 16, 32, 512))
    builder = GraphBuilder()
    x, y = (builder.tensor((64, 512), "f32") for _ in range(2))
    identity = identity_map(2)
    parallel = (IteratorType.PARALLEL,) * 2
    body = copy_body("f32")
    op = builder.add(
        Structured((x,), (Uninitialized(),), (y,), (64, 512), parallel, (identity,) * 2, body)
    )
    assert _without((sums, products), [op]) == (products,)
    assert _without((_Part((32768,)), sums), [op]) == (sums,)
    assert _without((sums, products), []) == (sums, products)
    assert _without((products,), [Reshape(x, y)]) == (products,)
