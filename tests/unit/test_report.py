"""What the report says, as JSON, in the terminal and through `explain`."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from layoutopt.report.checks import VerificationReport
from layoutopt.report.explanation import explanation
from layoutopt.report.report import (
    CapturedReport,
    ContractionsReport,
    MoveReport,
    RefusalReport,
    Report,
    WeightsReport,
    read_report,
)
from layoutopt.report.terminal import show
from tests.reports import REPORT

VERIFIED = VerificationReport(1e-5, 1e-6, 1e-3, True, "IREE on the original", ("main",))


def printed(report: Report) -> str:
    stream = io.StringIO()
    show(report, Console(file=stream, width=160))
    return stream.getvalue()


def test_the_first_line_says_what_was_gained() -> None:
    assert (
        "model.onnx on host: 100 ms -> 20.0 ms: 5.00x faster than IREE's default, 3.00x "
        "than its best flags"
    ) in printed(REPORT)


def test_flag_sets_that_fail_say_why() -> None:
    assert "stack limit exceeded" in printed(REPORT)


def test_equal_refusals_are_counted_not_repeated() -> None:
    text = printed(REPORT)
    assert text.count("expected filter = stride") == 1
    assert "barrier scf.if" in text


def test_estimates_say_so() -> None:
    text = printed(
        replace(
            REPORT,
            cost_source="analytic",
            flag_sets=(),
            verification=None,
            after=replace(REPORT.after, measured_ms=None),
        )
    )
    assert "predicted 120 ms -> 19.0 ms" in text
    assert "Costs are estimates" in text


def test_contractions_over_tiles_are_counted() -> None:
    text = printed(replace(REPORT, contractions=ContractionsReport(5, 4, ("convolution.3",))))
    assert "Contractions and convolutions over tiles: 4 of 5; not: convolution.3" in text


def test_dispatches_that_move_data_say_what_they_were_planned_as() -> None:
    planned = MoveReport("main_dispatch_0_pack_f32", "pack", 1, 900, "t4: x", 2048, "because")
    alone = MoveReport(
        "main_dispatch_1_slow_memcpy", "memcpy", 2, 700, "", None, "IREE copies here by itself"
    )
    text = printed(replace(REPORT, compiled_moves=(planned, alone)))
    assert "t4: x" in text
    assert "IREE copies here by itself" in text


def test_an_original_that_wins_is_named() -> None:
    text = printed(replace(REPORT, winner="data-tiling"))
    assert "Nothing beat the original compiled with 'data-tiling'" in text


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
    verification = replace(VERIFIED, unverified=(("decode", "it takes !util.list<i32>"),))
    assert "Not run, so not verified: decode; it takes !util.list<i32>." in printed(
        replace(REPORT, verification=verification)
    )


def test_json_is_written_whole_and_reads_back(tmp_path: Path) -> None:
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
                "pad.2 is cheapest in row-major, convolution.3 in perm[0,2,3,1]",
                "convolution.3: refused patch-convolution-to-contraction: expected filter = stride",
            ],
        ),
        (
            "pad.2",
            [
                "pad.2: as it came, 0.9 us; t4 row-major; nothing else was possible",
                "t4: tensor<1x8x4x4xf32>: transpose from row-major to perm[0,2,3,1], 0.1 us, "
                "1024 bytes; "
                "pad.2 is cheapest in row-major, convolution.3 in perm[0,2,3,1]",
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
