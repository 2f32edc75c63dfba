"""What the report says, as JSON, in the terminal and through `explain`."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from layoutopt.commands.explain import explanation, read_report
from layoutopt.report.report import (
    ChoiceReport,
    ConversionReport,
    FlagSetReport,
    RefusalReport,
    Report,
    Side,
    SolverReport,
    VerificationReport,
)
from layoutopt.report.terminal import show

REPORT = Report(
    model="model.onnx",
    profile="host",
    cost_source="measured",
    winner="layoutopt",
    before=Side(0, 0, 1, 58, 120.0, 100.0),
    after=Side(0, 0, 2, 70, 19.0, 20.0),
    solver=SolverReport("OPTIMAL", 19_000_000, 19_000_000, 0.0, 0.1, 700, 90, "proved"),
    choices=(
        ChoiceReport(
            "main",
            "convolution.3",
            "convolution-to-im2col",
            {"t4": "perm[0,2,3,1]", "t9": "row-major"},
            5000,
            7000,
            "as it came",
        ),
        ChoiceReport("main", "pad.2", "as it came", {"t4": "perm[0,2,3,1]"}, 900, None, None),
    ),
    conversions=(
        ConversionReport(
            "main",
            "t4: tensor<1x8x4x4xf32>",
            "transpose",
            "row-major",
            "perm[0,2,3,1]",
            1024,
            50,
            "pad.2 is cheapest in row-major, convolution.3 in perm[0,2,3,1]",
        ),
    ),
    refusals=(
        RefusalReport(
            "main", "convolution.3", "patch-convolution-to-contraction", "expected filter = stride"
        ),
    )
    * 3,
    barriers=(RefusalReport("main", "scf.if", "barrier", "expected an op of linalg"),),
    flag_sets=(
        FlagSetReport("default", 100.0, 0.01, ""),
        FlagSetReport("O3+data-tiling", None, 0.0, "stack limit exceeded"),
        FlagSetReport("data-tiling", 60.0, 0.01, ""),
        FlagSetReport("layoutopt", 20.0, 0.01, ""),
    ),
    verification=VerificationReport(1e-5, 1e-6, 1e-3, True, ()),
    compile_flags=("--flag",),
    seconds={"read": 1.0},
    measured_on="2026-01-01T00:00:00+00:00",
)


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
    assert read_report(path) == json.loads(REPORT.to_json())
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
                "pad.2: as it came, 0.9 us; t4 perm[0,2,3,1]; nothing else was possible",
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
    found = list(dict.fromkeys(explanation(json.loads(REPORT.to_json()), name)))
    assert found == lines
