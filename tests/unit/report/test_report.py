"""What the report says, as JSON, in the terminal and through `explain`."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from layoutopt.pricing.source import PriceSource
from layoutopt.report.checks import UncheckedReport, VerificationReport
from layoutopt.report.explanation import explanation
from layoutopt.report.report import (
    AtSizesReport,
    BlockReport,
    CapturedReport,
    ContractionsReport,
    ConversionReport,
    MoveReport,
    OpsReport,
    RefusalReport,
    Report,
    SizeReport,
    SpecializationReport,
    WeightsReport,
    read_report,
)
from layoutopt.report.resources import MemoryReport, TradeOffReport
from layoutopt.report.terminal import show
from tests.reports import REPORT

VERIFIED = VerificationReport(1e-5, 1e-6, 1e-3, True, "IREE on the original", ("main",))


def printed(report: Report) -> str:
    stream = io.StringIO()
    show(report, Console(file=stream, width=160))
    return stream.getvalue()


def test_flag_sets_that_fail_say_why() -> None:
    assert "stack limit exceeded" in printed(REPORT)


def test_how_often_blocks_are_taken_to_run_is_said() -> None:
    blocks = (
        BlockReport("main/for.0", "main", 6),
        BlockReport("main/while.0.body/for.0", "main", 3, ("main/while.0.body",)),
    )
    text = printed(replace(REPORT, blocks=blocks))
    assert (
        "In predicted times, main/for.0 6 times, main/while.0.body/for.0 3 times a call.\n"
    ) in text
    assert (
        "Not known is how often main/while.0.body runs: predicted times count one run; "
        "--trip-count says how many.\n"
    ) in text
    assert "Not known is how often" not in printed(REPORT)


def test_what_became_of_loops_is_said() -> None:
    blocks = (
        BlockReport("main/for.0", "main", 64, ahead=4, steps_a_trip=64),
        BlockReport("main/for.1", "main", 100, steps_a_trip=10),
    )
    text = " ".join(printed(replace(REPORT, blocks=blocks, written_out={"main/for.2": 12})).split())
    assert (
        "Contractions computed ahead of their loop, once for all its steps (in the time "
        "predicted for the model as it came, too): 4 of main/for.0."
    ) in text
    assert "Unrolled: 64 steps of main/for.0, 10 steps of main/for.1 are one trip." in text
    assert (
        "Loops that were written out before they were planned, for each of their steps reads "
        "weights of its own: main/for.2 (12 steps)."
    ) in text
    assert "Unrolled" not in printed(REPORT)


def test_what_iree_does_not_import_is_said() -> None:
    text = printed(replace(REPORT, decomposed=("Attention", "GRU")))
    assert "IREE does not import Attention, GRU as ONNX defines them" in text
    assert "IREE does not import" not in printed(REPORT)


def test_shapes_that_a_model_states_wrongly_are_said() -> None:
    text = printed(replace(REPORT, restated=("hidden", "y")))
    assert "The model states shapes of hidden, y that its ops contradict" in text
    assert "that its ops contradict" not in printed(REPORT)


def test_equal_refusals_are_counted_not_repeated() -> None:
    text = printed(REPORT)
    assert text.count("expected filter = stride") == 1
    assert "barrier scf.if" in text


def test_estimates_say_so() -> None:
    text = printed(
        replace(REPORT, cost_source=PriceSource.ANALYTIC, flag_sets=(), verification=None)
    )
    assert (
        "Prices are estimates from the target's data sheet, corrected by what was measured "
        "elsewhere: no candidate was compiled or measured here.\n"
    ) in text
    assert "Prices are estimates" not in printed(REPORT)


def test_predicted_times_of_estimates_have_their_range() -> None:
    side = replace(REPORT.after, predicted_range_ms=(15.0, 24.5))
    assert "19.0 (15.0 to 24.5)" in printed(replace(REPORT, after=side))


def test_contractions_over_tiles_are_counted() -> None:
    text = printed(replace(REPORT, contractions=ContractionsReport(5, 4, ("convolution.3",))))
    assert "Contractions and convolutions planned over tiles: 4 of 5; not: convolution.3" in text


def test_dispatches_that_move_data_say_what_they_were_planned_as() -> None:
    planned = MoveReport("main_dispatch_0_pack_f32", "pack", 1, 900, "t4: x", 2048, "because")
    alone = MoveReport(
        "main_dispatch_1_slow_memcpy", "memcpy", 2, 700, "", None, "IREE copies here by itself"
    )
    text = printed(replace(REPORT, compiled_moves=(planned, alone)))
    assert "t4: x" in text
    assert "IREE copies here by itself" in text


def test_tables_of_a_plan_that_was_not_written_say_so() -> None:
    text = printed(replace(REPORT, winner="data-tiling"))
    assert "Costliest choices of the plan, which was not written" in text
    assert "which was not written" not in printed(REPORT)


@pytest.mark.parametrize(("winner", "row"), [("unchanged", "layoutopt"), ("data-tiling",) * 2])
def test_the_row_of_what_was_written_is_marked(winner: str, row: str) -> None:
    text = printed(replace(REPORT, winner=winner))
    marked = [line.split()[0] for line in text.splitlines() if line.rstrip().endswith(" kept")]
    assert marked == [row]


def test_copies_of_weights_and_their_budget() -> None:
    copies = WeightsReport(8 << 20, 3, 2 << 20, None)
    line = "Weights: 8.0 MiB; 3 copies in other layouts take 2.0 MiB"
    assert f"{line}\n" in printed(replace(REPORT, weights=copies))
    bounded = replace(copies, budget_bytes=4 << 20)
    assert f"{line}, of 4.0 MiB allowed\n" in printed(replace(REPORT, weights=bounded))
    assert "Weights" not in printed(replace(REPORT, weights=WeightsReport(8 << 20, 0, 0, None)))


def test_captured_constants_are_counted_with_their_copies() -> None:
    captured = CapturedReport(3, 0, 3, 0, 100 << 20, 0)
    assert (
        "Constants captured read-write: 3 before, 0 after; copies of constants in one run: "
        "3 (100.0 MiB) before, 0 (0.0 MiB) after\n"
    ) in printed(replace(REPORT, captured=captured))
    assert "captured" not in printed(REPORT)


def test_functions_that_could_not_be_run_are_named() -> None:
    reason = "an argument is not a tensor of static shape"
    verification = replace(VERIFIED, unverified=(("decode", reason), ("prefill", reason)))
    assert (
        "Not run, so not verified: decode, prefill; an argument is not a tensor of static shape.\n"
    ) in printed(replace(REPORT, verification=verification))


def test_the_reference_and_the_inputs_are_named() -> None:
    verification = replace(
        VERIFIED,
        reference="the NumPy oracle on the original",
        reference_reason="iree-compile: no such op",
        place="on this machine",
        inputs=("normal", "zeros"),
        skipped=(("token ids", "the table is too small"),),
    )
    text = printed(replace(REPORT, verification=verification))
    assert (
        "Verification passed against the NumPy oracle on the original, on this machine: largest "
        "relative error 1e-06 (allowed 0.001); inputs: normal, zeros\n"
    ) in text
    assert "Not against IREE on the original: iree-compile: no such op\n" in text
    assert "Not compared on inputs of the kind token ids: the table is too small\n" in text


def test_what_was_priced_without_a_check_is_named() -> None:
    reason = "as it came: priced without its check: the oracle has no fpowi"
    rows = tuple(UncheckedReport("main", f"op.{i}", reason) for i in range(2))
    report = replace(REPORT, unchecked=rows)
    assert f"Of prices: op.0, op.1: {reason}\n" in printed(report)
    assert f"op.1: {reason}" in list(explanation(report, "op.1"))


def test_transposes_that_copy_windows_are_told_apart() -> None:
    line = "Of the transposes, 0 before and 2 after are im2col copies.\n"
    assert line in printed(replace(REPORT, after=replace(REPORT.after, im2col=2)))
    assert line not in printed(REPORT)


def test_dispatches_that_were_not_counted_say_why() -> None:
    side = replace(REPORT.before, dispatches=None)
    report = replace(REPORT, before=side, dispatches_by="iree-compile does not take the original")
    assert (
        "Dispatches were not counted: iree-compile does not take the original\n"
    ) in printed(report)  # fmt: skip
    assert "Dispatches: calls in one run, seen by IREE's profiler\n" in printed(REPORT)


def test_predicted_times_leave_barriers_out_and_say_so() -> None:
    line = "Predicted times are those of 70 of 71 ops; barriers have no price.\n"
    assert line in printed(REPORT)
    assert line not in printed(replace(REPORT, ops=OpsReport(70, 0)))


def test_what_came_with_the_model_is_listed_without_a_price() -> None:
    row = ConversionReport(
        "main", "tensor<?x8xf32>", "pack", "tensor<?x8xf32>", "tensor<?x1x8x8xf32>", None, None,
        "in the input, inside a barrier (scf.for)", ("pack",),
    )  # fmt: skip
    report = replace(REPORT, conversions=(row,))
    (line,) = [line for line in printed(report).splitlines() if "inside a barrier" in line]
    assert line.split() == [
        "tensor<?x8xf32>", "pack", "in", "the", "input,", "inside", "a", "barrier", "(scf.for)",
        "-", "-",
    ]  # fmt: skip
    assert (
        "tensor<?x8xf32>: pack from tensor<?x8xf32> to tensor<?x1x8x8xf32>, no price, bytes "
        "unknown; in the input, inside a barrier (scf.for)"
    ) in list(explanation(report, None))


def test_no_conversion_stays_only_where_the_module_agrees() -> None:
    none = replace(REPORT, conversions=())
    line = "No conversion stays in the module that was written."
    assert line in printed(none)
    text = "function 'main': the report lists 0 pack ops, but the module has 2; the counts hold"
    disagreeing = printed(replace(none, discrepancies=(text,)))
    assert line not in disagreeing
    assert f"Discrepancy: {text}\n" in disagreeing


def test_json_is_written_atomically_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    REPORT.write(path)
    assert read_report(path) == REPORT
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "convolution.3",
            [
                "convolution.3: convolution-to-im2col, 5.0 us; t4 perm[0,2,3,1], t9 row-major; "
                "runner-up: as it came, 2.0 us more",
                "t4: tensor<1x8x4x4xf32>: transpose from row-major to perm[0,2,3,1], 0.1 us, "
                "1024 bytes; "
                "from pad.2 in row-major to convolution.3 in perm[0,2,3,1]",
                "convolution.3: refused patch-convolution-to-contraction: expected filter = stride",
            ],
        ),
        (
            "pad.2",
            [
                "pad.2: as it came, 0.9 us; t4 row-major; nothing else has a price",
                "t4: tensor<1x8x4x4xf32>: transpose from row-major to perm[0,2,3,1], 0.1 us, "
                "1024 bytes; "
                "from pad.2 in row-major to convolution.3 in perm[0,2,3,1]",
            ],
        ),
        ("scf.if", ["scf.if: refused barrier: expected an op of linalg"]),
        ("nothing", []),
    ],
)
def test_explain_picks_what_concerns_an_op(name: str, lines: list[str]) -> None:
    found = list(dict.fromkeys(explanation(REPORT, name)))
    assert found == lines


def test_the_whole_explanation_says_each_reason_once() -> None:
    lines = list(explanation(REPORT, None))
    assert [line for line in lines if "refused" in line] == [
        "convolution.3: refused patch-convolution-to-contraction: expected filter = stride",
        "scf.if: refused barrier: expected an op of linalg",
    ]
    many = tuple(RefusalReport("main", f"op.{i}", "rule", "reason") for i in range(20))
    assert list(explanation(replace(REPORT, refusals=many, barriers=()), None))[-1] == (
        "op.0, op.1, op.2, op.3, op.4, op.5, op.6, op.7 and 12 more: refused rule: reason"
    )


def test_results_that_no_input_changes_are_said_to_prove_little() -> None:
    verification = replace(VERIFIED, weak=(("classify", "its results were always the same"),))
    line = "That says little of classify: its results were always the same."
    assert line in printed(replace(REPORT, verification=verification))


SPECIALIZED = replace(
    REPORT,
    choices=tuple(replace(c, function="main at s <= 17") for c in REPORT.choices),
    conversions=tuple(replace(c, function="main at s > 17") for c in REPORT.conversions),
    specializations=(
        SpecializationReport("main", "s <= 17", "main at s <= 17", 0.75, 0.25),
        SpecializationReport("main", "s > 17", "main at s > 17", 0.25, 9.5),
    ),
    at_sizes=(
        AtSizesReport("main", {"s": 1, "b": 4}, 3.0, "s <= 17", 0.25, 0.5, 1.5, 0.75, 1.25),
        AtSizesReport("main", {"s": 300, "b": 4}, 1.0, "s > 17", 9.5, None, None, None),
    ),
)


def test_plans_for_ranges_of_sizes_are_told(tmp_path: Path) -> None:
    text = printed(SPECIALIZED)
    assert "main has 2 plans, chosen at run time: for s <= 17; for s > 17.\n" in text
    rows = [" ".join(row.split()) for row in text.splitlines() if " s = " in row]
    assert rows == [
        "main s = 1, b = 4 s <= 17 3 0.500 0.250 1.50 1.25 0.750",
        "main s = 300, b = 4 s > 17 1 - 9.50 - - -",
    ]
    SPECIALIZED.write(tmp_path / "report.json")
    assert read_report(tmp_path / "report.json") == SPECIALIZED


def test_each_size_is_told_where_one_plan_serves_all() -> None:
    row = AtSizesReport("main", {"s": 1}, 1.0, "", 0.25, None, 1.5, 0.75)
    text = printed(replace(REPORT, at_sizes=(row,)))
    assert "At each size that is planned for" in text
    assert "main   s = 1   all " in text
    assert "plans, chosen at run time" not in text
    assert "At each size" not in printed(REPORT)


def test_memory_and_what_less_of_it_costs(tmp_path: Path) -> None:
    memory = MemoryReport(3 << 20, 5 << 20, 4 << 20, 6 << 20, "by the device's allocator")
    rows = (
        TradeOffReport("main", "memory", None, 4 << 20, 1.5, 0.0),
        TradeOffReport("main", "memory", 3 << 20, 2 << 20, 2.25, 0.01),
        TradeOffReport("main", "weights", 0, None, None, None),
    )
    report = replace(REPORT, memory=memory, trade_offs=rows)
    text = " ".join(printed(report).split())
    assert (
        "Memory of a call, weights and arguments aside: 3.0 MiB before, 5.0 MiB after, of 6.0 MiB "
        "allowed, counted by the device's allocator; 4.0 MiB planned"
    ) in text
    assert "main memory - 4 1.50 0.00 %" in text
    assert "main memory 3 2 2.25 1.00 %" in text
    assert "main weights 0 - - no plan in time" in text
    uncounted = replace(memory, before_bytes=None, after_bytes=None, counted_by="not counted: why")
    said = " ".join(printed(replace(REPORT, memory=uncounted)).split())
    assert "Memory of a call: 4.0 MiB planned; not counted: why" in said
    report.write(tmp_path / "report.json")
    assert read_report(tmp_path / "report.json") == report


def test_an_explanation_says_which_plan_a_choice_is_of() -> None:
    lines = list(explanation(SPECIALIZED, None))
    assert any(line.startswith("pad.2 at s <= 17: as it came") for line in lines)
    assert any(line.startswith("t4: tensor<1x8x4x4xf32> at s > 17: transpose") for line in lines)


def test_sizes_are_named_with_the_dims_that_they_are() -> None:
    sizes = (
        SizeReport("main", "batch", 1, None, (4,), ("arg0.0", "arg1.0")),
        SizeReport("main", "arg0.1", 8, 512, (8, 128)),
    )
    assert (
        "Priced and timed at batch (arg0.0, arg1.0) = 4 (1 or more), arg0.1 = 8 and 128 (8 to 512)"
    ) in " ".join(printed(replace(REPORT, sizes=sizes)).split())
