"""What the README shows works: Python runs, commands and options exist, links lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest

from layoutopt.cli.catalogue import COMMANDS
from layoutopt.cli.main import cli
from layoutopt.options import Objective
from layoutopt.report.explanation import explanation
from layoutopt.report.facts import facts
from layoutopt.report.headline import headline
from layoutopt.report.report import ChoiceReport, ConversionReport, FlagSetReport, WeightsReport
from layoutopt.report.solver import SolverReport, SolverStatus, solver_text
from tests.reports import REPORT

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MODEL = """
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>)
    outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %m : tensor<8x8xf32>
}
"""


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [text for word, text in fenced if word == language]


def command_lines() -> list[str]:
    return [
        line
        for block in (*blocks("sh"), *blocks(""))
        for line in block.splitlines()
        if line.startswith(("layoutopt ", "                   ["))
    ]


def commands(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            yield from commands(command)


def test_the_python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.mlir").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    names: dict[str, object] = {}
    for example in blocks("python"):
        exec(compile(example, "README.md", "exec"), names)
    verification = getattr(names["result"], "verification", None)
    assert verification is not None
    assert verification.passed
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "cache",
        "model.mlir",
        "model.opt.mlir",
        "model.plan.json",
        "model.report.json",
    ]


def test_every_option_named_exists() -> None:
    known = {o for c in commands(cli) for p in c.params for o in (*p.opts, *p.secondary_opts)}
    lines = command_lines()
    named = {option for line in lines for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", line)}
    assert len(lines) > 12
    assert named - known == set()


def test_every_command_named_exists() -> None:
    named = {line.split()[1] for line in command_lines() if line.startswith("layoutopt ")}
    assert named == set(COMMANDS)


def test_links_lead_to_files_and_headings() -> None:
    headings = re.findall(r"^#+ (.*)$", README, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}
    for target in re.findall(r"\]\(([^)]+)\)", README):
        if target.startswith("#"):
            assert target[1:] in anchors
        elif not target.startswith("https://"):
            assert (ROOT / target).is_file()


def test_the_sample_is_in_the_words_of_the_report() -> None:
    solver = SolverReport(
        SolverStatus.OPTIMAL,
        6_456_000,
        6_456_000,
        0.0,
        0.05,
        535,
        0,
        "proved",
        308,
        bounded=227,
    )
    assert f"{solver_text(solver, Objective.LATENCY)}\n" in README


def test_the_other_lines_of_the_sample_are_too() -> None:
    report = replace(
        REPORT,
        model="squeezenet.onnx",
        before=replace(REPORT.before, measured_ms=120.8),
        after=replace(REPORT.after, measured_ms=10.1854),
        flag_sets=(
            FlagSetReport("default", 120.8, 0.0, ""),
            FlagSetReport("O3", 108.37, 0.0, ""),
            FlagSetReport("layoutopt", 10.1854, 0.0, ""),
        ),
        weights=WeightsReport(int(4.7 * 2**20), 305, int(11.0 * 2**20), None),
    )
    assert f"{headline(report)}\n" in README
    told = [fact.text for fact in facts(report)]
    assert "Weights: 4.7 MiB; 305 copies in other layouts take 11.0 MiB" in told
    assert "Dispatches: calls in one run, seen by IREE's profiler" in told
    assert all(f"\n{text}\n" in README for text in told if text.startswith(("Wei", "Disp")))


def test_the_explained_lines_are_in_the_words_of_the_report() -> None:
    nhwc = "perm[0,2,3,1]"
    tiled = "reduce-from-neutral-init + unit-filter-to-contraction + data-tiled"
    winograd = "reduce-from-neutral-init + convolution-to-winograd-f4"
    reads = (
        ("convolution.123", f"{winograd} + as matmul", {"t117": nhwc, "t124": nhwc}),
        ("convolution.116", tiled, {"t114": nhwc, "t117": "row-major"}),
        ("convolution.119", tiled, {"t117": "row-major", "t120": nhwc}),
    )
    costs = ((200_300, 209_200), (67_300, 69_100), (34_100, 34_500))
    others = (f"{winograd} + data-tiled", tiled, tiled)
    report = replace(
        REPORT,
        choices=tuple(
            ChoiceReport("main", op, form, layouts, own, other, runner_up, (list(layouts)[1],))
            for (op, form, layouts), (own, other), runner_up in zip(
                reads, costs, others, strict=True
            )
        ),
        conversions=(
            ConversionReport(
                "main",
                "t117: tensor<1x48x13x13xf32>",
                "transpose",
                "row-major",
                nhwc,
                64_896,
                2_000,
                f"from convolution.116 in row-major to convolution.123 in {nhwc}",
            ),
        ),
        refusals=(),
        barriers=(),
    )
    for line in explanation(report, "t117"):
        assert f"{line}\n" in README
