#!/usr/bin/env python3
"""Backward-data convolutions: on this CPU against IREE's own passes, or planned for an MI355X.

`host`: scaled shapes, timed in turns in one run: the original with each of IREE's flag sets, the
original with `iree-preprocessing-backward-data-conv-pipeline`, and the plan. `mi355x`: the shapes
of iree-org/iree issue 23976, planned and compiled; nothing is run. From the repository's root:
`python -m examples.bench_backward host`.
"""

import argparse
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

import layoutopt
from examples.make_backward import ISSUE_SHAPES, backward_data, named_backward_data
from layoutopt.profiles.target import target_text
from layoutopt.report.report import Report

SCALED = {
    # as the issue writes them: filter first by output channel, a generic
    "1x1 stride 2": backward_data(1, "f32", 4, 256, 28, 28, 512, 1, stride=2),
    "3x3 stride 2": backward_data(3, "f32", 4, 128, 28, 28, 128, 1, stride=2),
    "3x3 stride 3": backward_data(3, "f32", 4, 128, 27, 27, 128, 1, stride=3),
    # as the named op that IREE is fastest on
    "1x1 stride 2, HWCF": named_backward_data(1, 4, 256, 28, 28, 512, stride=2),
    "3x3 stride 2, HWCF": named_backward_data(3, 4, 128, 28, 28, 128, stride=2),
    "3x3 stride 3, HWCF": named_backward_data(3, 4, 128, 27, 27, 128, stride=3),
}
PIPELINE = "IREE's pipeline"
FLAG = (
    "--iree-preprocessing-pass-pipeline="
    "builtin.module(util.func(iree-preprocessing-backward-data-conv-pipeline))"
)


def with_pipeline(profile: str) -> str:
    """A host's target that knows one more flag set."""
    heading = "[compile.flag_sets]\n"
    return target_text(profile).replace(heading, f'{heading}"{PIPELINE}" = ["{FLAG}"]\n', 1)


def bench_host(folder: Path, cache: Path | None) -> Table:
    """Milliseconds of each form, and how much faster the plan is."""
    profile = folder / "host.toml"
    profile.write_text(with_pipeline("host"), encoding="utf-8")
    options = layoutopt.Options(cache=cache, remember=False)
    table = Table(title="Milliseconds, one thread, in turns in one run", box=None)
    for name in ("shape", "default", "best flags", PIPELINE, "layoutopt", "default / layoutopt",
                 "pipeline / layoutopt", "largest relative error"):  # fmt: skip
        table.add_column(name, justify="left" if name == "shape" else "right")
    for name, text in SCALED.items():
        model = folder / "model.mlir"
        model.write_text(text, encoding="utf-8")
        report = layoutopt.optimize(model, str(profile), options).report
        table.add_row(name, *_host_cells(report))
    return table


def _host_cells(report: Report) -> list[str]:
    times = {f.name: f.measured_ms for f in report.flag_sets}
    mine, default, theirs = times["layoutopt"], times["default"], times[PIPELINE]
    own = [ms for name, ms in times.items() if name not in ("layoutopt", PIPELINE) and ms]
    assert mine is not None
    assert report.verification is not None
    return [
        *(_number(ms) for ms in (default, min(own, default=None), theirs, mine)),
        *("-" if ms is None else f"{ms / mine:.2f}x" for ms in (default, theirs)),
        f"{report.verification.max_rel_error:.1g}",
    ]


def plan_issue_shapes(folder: Path, cache: Path | None) -> Table:
    """Predicted milliseconds before and after, dispatches, and how long planning took."""
    table = Table(title="Planned for an MI355X: estimates, nothing was run", box=None)
    for name in ("shape", "before ms", "after ms", "speed-up", "dispatches", "after", "planned in"):
        table.add_column(name, justify="left" if name == "shape" else "right")
    options = layoutopt.Options(cache=cache, verify=False)
    for name, shape in ISSUE_SHAPES.items():
        model = folder / "model.mlir"
        model.write_text(backward_data(*shape, stride=2), encoding="utf-8")
        start = time.perf_counter()
        report = layoutopt.optimize(model, "mi355x", options).report
        seconds = time.perf_counter() - start
        before, after = report.before, report.after
        speedup = "-"
        if before.predicted_ms and after.predicted_ms:
            speedup = f"{before.predicted_ms / after.predicted_ms:.2f}x"
        if report.predicted_speedup_range is not None:
            speedup += " ({:.2f} to {:.2f})".format(*report.predicted_speedup_range)
        table.add_row(
            name, _number(before.predicted_ms), _number(after.predicted_ms), speedup,
            *("-" if n is None else str(n) for n in (before.dispatches, after.dispatches)),
            f"{seconds:.1f} s",
        )  # fmt: skip
    return table


def _number(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds:.2f}"


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=["host", "mi355x"])
    parser.add_argument("--cache", type=Path, help="folder of measured prices")
    options = parser.parse_args()
    run = bench_host if options.target == "host" else plan_issue_shapes
    with tempfile.TemporaryDirectory() as name:
        table = run(Path(name), options.cache)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
