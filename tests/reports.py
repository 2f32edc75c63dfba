"""A report of a small model, as the tests of reports use it."""

from __future__ import annotations

from layoutopt.pricing.source import PriceSource
from layoutopt.report.checks import VerificationReport
from layoutopt.report.report import (
    ChoiceReport,
    ConversionReport,
    FlagSetReport,
    OpsReport,
    RefusalReport,
    Report,
    Side,
)
from layoutopt.report.solver import SolverReport, SolverStatus

REPORT = Report(
    model="model.onnx",
    profile="host",
    cost_source=PriceSource.MEASURED,
    winner="layoutopt",
    before=Side(0, 0, 1, 58, 120.0, 100.0),
    after=Side(0, 0, 2, 70, 19.0, 20.0),
    solver=SolverReport(
        SolverStatus.OPTIMAL,
        19_000_000,
        19_000_000,
        0.0,
        0.1,
        700,
        90,
        "proved",
        640,
        refused=23,
        bounded=37,
        tensors=160,
        cut=3,
    ),
    choices=(
        ChoiceReport(
            "main",
            "convolution.3",
            "convolution-to-im2col",
            {"t4": "perm[0,2,3,1]", "t9": "row-major"},
            5000,
            7000,
            "as it came",
            ("t9",),
        ),
        ChoiceReport("main", "pad.2", "as it came", {"t4": "row-major"}, 900, None, None, ("t4",)),
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
            "from pad.2 in row-major to convolution.3 in perm[0,2,3,1]",
            ("transpose",),
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
    verification=VerificationReport(1e-5, 1e-6, 1e-3, True, "IREE on the original", ("main",)),
    compile_flags=("--flag",),
    seconds={"read": 1.0},
    measured_on="2026-01-01T00:00:00+00:00",
    ops=OpsReport(70, 1),
    dispatches_by="calls in one run, seen by IREE's profiler",
)
