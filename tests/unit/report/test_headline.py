"""The first line of a report says what is known, and what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from layoutopt.pricing.source import PriceSource
from layoutopt.report.checks import VerificationReport
from layoutopt.report.headline import headline
from layoutopt.report.report import FlagSetReport, OpsReport, RefusalReport, Report
from layoutopt.verification.verified import ON_CPU
from tests.reports import REPORT

DYNAMIC = "expected tensors of static shape, but got tensor<?x8xf32>"
BARRIERS = tuple(RefusalReport("main", f"op.{i}", "barrier", DYNAMIC) for i in range(3))
OTHER = RefusalReport("main", "scf.if", "barrier", "expected straight-line code")
ESTIMATED = replace(
    REPORT,
    profile="mi355x",
    cost_source=PriceSource.ANALYTIC,
    flag_sets=(),
    verification=None,
    not_verified="mi355x is not here",
    not_timed="mi355x is not here",
    before=replace(REPORT.before, measured_ms=None, predicted_range_ms=(90.0, 150.0)),
    after=replace(REPORT.after, measured_ms=None, predicted_range_ms=(15.0, 24.5)),
    predicted_speedup_range=(3.9, 8.25),
)
NOTHING = replace(
    REPORT,
    winner="unchanged",
    before=replace(REPORT.before, predicted_ms=None, measured_ms=None),
    after=replace(REPORT.after, predicted_ms=None, measured_ms=None),
    choices=(),
    flag_sets=(),
    verification=None,
    not_verified="nothing was planned",
    not_timed="nothing was planned",
    barriers=BARRIERS,
    ops=OpsReport(0, 3),
)


def took(ms: float, winner: str = "layoutopt", plan_ms: float | None = None) -> Report:
    rows = [row for row in REPORT.flag_sets if row.name != "layoutopt"]
    mine = FlagSetReport("layoutopt", plan_ms or ms, 0.01, "")
    return replace(
        REPORT,
        winner=winner,
        after=replace(REPORT.after, measured_ms=ms),
        flag_sets=(*rows, mine),
    )


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (
            REPORT,
            "model.onnx on host: 100 ms -> 20.0 ms: 5.00x faster than IREE's default, "
            "3.00x faster than its best flags",
        ),
        (
            replace(
                REPORT,
                flag_sets=tuple(f for f in REPORT.flag_sets if f.name in ("default", "layoutopt")),
            ),
            "model.onnx on host: 100 ms -> 20.0 ms: 5.00x faster than IREE's default",
        ),
        (
            took(200.0),
            "model.onnx on host: 100 ms -> 200 ms: 2.00x slower than IREE's default, "
            "3.33x slower than its best flags",
        ),
        (
            took(60.0, "data-tiling", 61.0),
            "model.onnx on host: 100 ms -> 60.0 ms: the original is kept, compiled with "
            "'data-tiling', for the plan took 61.0 ms",
        ),
        (
            replace(
                REPORT,
                winner="data-tiling",
                flag_sets=(FlagSetReport("layoutopt", None, 0.0, "it crashed"),),
            ),
            "model.onnx on host: 100 ms -> 20.0 ms: the original is kept, compiled with "
            "'data-tiling', for the plan was not timed (it crashed)",
        ),
        (
            replace(
                REPORT,
                before=replace(REPORT.before, measured_ms=None),
                flag_sets=(FlagSetReport("layoutopt", 20.0, 0.01, ""),),
            ),
            "model.onnx on host: 20.0 ms, where IREE runs the original with none of its flag sets",
        ),
        (
            replace(
                REPORT,
                before=replace(REPORT.before, measured_ms=None),
                flag_sets=(FlagSetReport("layoutopt", 20.0, 0.01, ""),),
                verification=VerificationReport(0.0, 0.0, 1e-3, True, ON_CPU, ("main",)),
            ),
            "model.onnx on host: 20.0 ms, where IREE runs the original rightly with none of its "
            "flag sets",
        ),
        (
            ESTIMATED,
            "model.onnx on mi355x: predicted 120 ms (90.0 to 150 ms) -> 19.0 ms (15.0 to 24.5 ms): "
            "6.32x (3.90 to 8.25x), estimated and not measured; NOT VERIFIED, not timed: mi355x is "
            "not here",
        ),
        (
            replace(
                ESTIMATED, cost_source=PriceSource.COMPILED, predicted_speedup_range=(0.95, 8.25)
            ),
            "model.onnx on mi355x: predicted 120 ms (90.0 to 150 ms) -> 19.0 ms (15.0 to 24.5 ms): "
            "6.32x (0.95 to 8.25x), within the noise of the estimate, estimated and not measured; "
            "NOT VERIFIED, not timed: mi355x is not here",
        ),
        (
            replace(
                ESTIMATED,
                before=replace(ESTIMATED.before, predicted_ms=None, predicted_range_ms=None),
                predicted_speedup_range=None,
                original_refused="compile-error: no",
            ),
            "model.onnx on mi355x: IREE does not compile it as it came (compile-error: no); the "
            "plan is predicted to take 19.0 ms (15.0 to 24.5 ms), estimated and not measured; "
            "NOT VERIFIED, not timed: mi355x is not here",
        ),
        (
            replace(
                ESTIMATED, profile="host", cost_source=PriceSource.MEASURED, not_timed="no inputs"
            ),
            "model.onnx on host: planned 70 of 71 ops; NOT VERIFIED: mi355x is not here; "
            "not timed: no inputs",
        ),
        (
            NOTHING,
            f"model.onnx on host: nothing planned: 3 of 3 ops are barriers ({DYNAMIC})",
        ),
        (
            replace(NOTHING, barriers=(OTHER, *BARRIERS), ops=OpsReport(0, 4)),
            f"model.onnx on host: nothing planned: 4 of 4 ops are barriers (most often: {DYNAMIC})",
        ),
        (
            replace(NOTHING, barriers=(), ops=OpsReport(0, 0)),
            "model.onnx on host: nothing to plan",
        ),
        (
            replace(NOTHING, choices=REPORT.choices, ops=OpsReport(2, 3)),
            "model.onnx on host: unchanged: the 2 ops that a plan could change stay as they came; "
            f"3 of 5 ops are barriers ({DYNAMIC}); NOT VERIFIED, not timed: nothing was planned",
        ),
        (
            replace(REPORT, winner="unchanged", barriers=(), ops=OpsReport(1, 0)),
            "model.onnx on host: unchanged: the one op that a plan could change stays as it came; "
            "measured 20.0 ms",
        ),
    ],
    ids=[
        "faster",
        "one flag set",
        "slower",
        "original kept",
        "plan fails",
        "original fails",
        "original wrong",
        "estimated",
        "within the noise",
        "original refused",
        "not run",
        "nothing planned",
        "several reasons",
        "nothing to plan",
        "partly dynamic",
        "unchanged",
    ],
)
def test_the_first_line(report: Report, line: str) -> None:
    assert headline(report) == line


def test_functions_that_were_not_compared_are_in_the_first_line() -> None:
    assert REPORT.verification is not None
    verification = replace(REPORT.verification, unverified=(("decode", "it takes a string"),))
    text = headline(replace(REPORT, verification=verification))
    assert text.endswith("its best flags; NOT VERIFIED: decode (it takes a string)")
    nothing = replace(verification, compared=())
    text = headline(replace(REPORT, verification=nothing))
    assert text.endswith("its best flags; NOT VERIFIED: it takes a string")
    kept = replace(REPORT, verification=nothing, winner="O3")
    assert "NOT VERIFIED" not in headline(kept), "what is written is the original"
    failed = replace(REPORT, verification=replace(REPORT.verification, passed=False))
    assert headline(failed).endswith("its best flags; VERIFICATION FAILED")
