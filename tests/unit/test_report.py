"""What the report says, as JSON, in the terminal and through `explain`."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from layoutopt.report.explanation import explanation
from layoutopt.report.report import Report, VerificationReport, read_report
from layoutopt.report.terminal import show
from tests.reports import REPORT


def printed(report: Report) -> str:
    stream = io.StringIO()
    show(report, Console(file=stream, width=160))
    return stream.getvalue()


def test_the_first_line_says_what_was_gained() -> None:
    assert (
        "model.onnx on host: 100.0 ms -> 20.0 ms: 5.00x faster than IREE's default, 3.00x "
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
    assert "predicted 120.00 ms -> 19.00 ms" in text
    assert "Costs are estimates" in text


def test_an_original_that_wins_is_named() -> None:
    text = printed(replace(REPORT, winner="data-tiling"))
    assert "Nothing beat the original compiled with 'data-tiling'" in text


def test_functions_that_could_not_be_run_are_named() -> None:
    verification = VerificationReport(0.0, 0.0, 1e-3, True, ("decode",))
    assert "Not run, so not verified: decode" in printed(replace(REPORT, verification=verification))


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
