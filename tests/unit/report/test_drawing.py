"""Where the drawing of a plan puts things, and what it joins."""

from __future__ import annotations

import time
from dataclasses import replace

from layoutopt.report.drawing import HEIGHT, WIDTH, Drawing, drawings, layout_counts
from layoutopt.report.report import ChoiceReport, ConversionReport, Report
from tests.reports import REPORT

NHWC = "perm[0,2,3,1]"


def choice(name: str, reads: dict[str, str], makes: dict[str, str]) -> ChoiceReport:
    return ChoiceReport(
        "main", name, "as it came", reads | makes, 1000, None, None, tuple(makes)
    )  # fmt: skip


def conversion(tensor: str, source: str, target: str) -> ConversionReport:
    return ConversionReport(
        "main", f"{tensor}: tensor<1xf32>", "transpose", source, target, 8, 9, "why"
    )  # fmt: skip


def drawn(*choices: ChoiceReport, conversions: tuple[ConversionReport, ...] = ()) -> Drawing:
    (found,) = drawings(replace(REPORT, choices=choices, conversions=conversions))
    return found


def test_a_residual_goes_around_the_branch() -> None:
    found = drawn(
        choice("add", {"t1": NHWC, "t3": NHWC}, {"t4": NHWC}),  # reports list by cost, not by order
        choice("first", {"t0": NHWC}, {"t1": NHWC}),
        choice("second", {"t1": NHWC}, {"t2": NHWC}),
        choice("third", {"t2": NHWC}, {"t3": NHWC}),
    )
    rows = sorted((node.y, node.name) for node in found.nodes)
    assert [name for _, name in rows] == ["input t0", "first", "second", "third", "add"]
    assert len({y for y, _ in rows}) == 5
    lanes = [edge for edge in found.edges if edge.tensor == "t1"]
    assert len(lanes) == 4, "one to the branch; three, by way of two layers, around it"
    boxes = [(n.x, n.y) for n in found.nodes]
    for edge in lanes:
        for x, y in edge.points[1:-1]:
            assert all(not (bx < x < bx + WIDTH and by < y < by + HEIGHT) for bx, by in boxes)


def test_nodes_do_not_overlap() -> None:
    branches = [choice(f"b{i}", {"t0": NHWC}, {f"t{i + 1}": NHWC}) for i in range(5)]
    found = drawn(choice("stem", {}, {"t0": NHWC}), *branches)
    corners = [(n.x, n.y) for n in found.nodes]
    assert len(set(corners)) == 6
    for x, y in corners:
        assert 0 <= x <= found.width - WIDTH
        assert 0 <= y <= found.height - HEIGHT
        assert not any(o != x and abs(o - x) < WIDTH and oy == y for o, oy in corners)


def test_conversions_stand_between_maker_and_reader() -> None:
    change = conversion("t1", "row-major", NHWC)
    found = drawn(
        choice("maker", {"t0": "row-major"}, {"t1": "row-major"}),
        choice("reader", {"t1": NHWC}, {"t2": NHWC}),
        choice("other", {"t1": "row-major"}, {"t3": "row-major"}),
        conversions=(change,),
    )
    converting = [edge for edge in found.edges if edge.conversion is not None]
    assert [edge.conversion for edge in converting] == [change]
    place = {n.name: n for n in found.nodes}
    assert converting[0].points[0] == (place["maker"].x + WIDTH // 2, place["maker"].y + HEIGHT)
    assert converting[0].points[-1] == (place["reader"].x + WIDTH // 2, place["reader"].y)


def test_inputs_and_outputs_that_convert_are_drawn() -> None:
    changes = (conversion("t0", "row-major", NHWC), conversion("t1", NHWC, "row-major"))
    found = drawn(choice("only", {"t0": NHWC}, {"t1": NHWC}), conversions=changes)
    assert [n.name for n in found.nodes] == ["only", "input t0", "output t1"]
    assert [edge.conversion for edge in found.edges] == list(changes)


def test_the_maker_in_the_right_layout_is_joined() -> None:
    found = drawn(
        choice("rows", {}, {"t1": "row-major"}),
        choice("images", {}, {"t1": NHWC}),
        choice("reader", {"t1": NHWC}, {"t2": NHWC}),
    )
    place = {n.name: n for n in found.nodes}
    (edge,) = found.edges
    assert edge.points[0] == (place["images"].x + WIDTH // 2, place["images"].y + HEIGHT)


def test_reports_of_before_have_no_edges_but_all_nodes() -> None:
    old = replace(choice("old", {}, {"t1": NHWC}), makes=())
    assert [n.name for n in drawn(old).nodes] == ["old", "input t1"]
    assert layout_counts(replace(REPORT, choices=(old,))) == [("row-major", 1)]


def test_functions_are_drawn_apart() -> None:
    two = (choice("a", {}, {"t1": NHWC}), replace(choice("b", {}, {"t1": NHWC}), function="g"))
    found = tuple(drawings(replace(REPORT, choices=two, conversions=())))
    assert [(d.function, [n.name for n in d.nodes], d.edges) for d in found] == [
        ("main", ["a"], ()),
        ("g", ["b"], ()),
    ]
    assert [n.index for d in found for n in d.nodes] == [0, 1]


def test_large_graphs_are_drawn_in_seconds() -> None:
    count = 2000
    chain = [
        choice(f"op.{i}", {f"t{i}": NHWC, "t0": NHWC}, {f"t{i + 1}": NHWC}) for i in range(count)
    ]
    report: Report = replace(REPORT, choices=tuple(chain), conversions=())
    start = time.monotonic()
    (found,) = drawings(report)
    assert time.monotonic() - start < 20
    assert len(found.edges) < 3 * count, "readers of one tensor share its lane"
