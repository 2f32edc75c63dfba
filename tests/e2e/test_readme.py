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
from layoutopt.options import Effort, Objective
from layoutopt.report.explanation import explanation
from layoutopt.report.facts import facts
from layoutopt.report.headline import headline
from layoutopt.report.report import ChoiceReport, FlagSetReport, WeightsReport
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
        6_123_884,
        6_123_884,
        0.0,
        0.028,
        687,
        0,
        "proved",
        456,
        refused=8,
        bounded=223,
        effort=Effort.NORMAL,
    )
    assert f"{solver_text(solver, Objective.LATENCY)}\n" in README


def test_the_other_lines_of_the_sample_are_too() -> None:
    report = replace(
        REPORT,
        model="squeezenet.onnx",
        before=replace(REPORT.before, measured_ms=119.856),
        after=replace(REPORT.after, measured_ms=6.66525),
        flag_sets=(
            FlagSetReport("default", 119.856, 0.0, ""),
            FlagSetReport("data-tiling", 108.738, 0.0, ""),
            FlagSetReport("layoutopt", 6.66525, 0.0, ""),
        ),
        weights=WeightsReport(int(4.7 * 2**20), 226, 7_465_728, None),
    )
    assert f"{headline(report)}\n" in README
    told = [fact.text for fact in facts(report)]
    assert "Weights: 4.7 MiB; 226 copies in other layouts take 7.1 MiB" in told
    assert "Dispatches: calls in one run, seen by IREE's profiler" in told
    assert all(f"\n{text}\n" in README for text in told if text.startswith(("Wei", "Disp")))


def test_the_explained_lines_are_in_the_words_of_the_report() -> None:
    nhwc = "perm[0,2,3,1]"
    base = "reduce-from-neutral-init + "
    unit = f"{base}unit-filter-to-contraction + "
    winograd = f"{base}convolution-to-winograd-f2 + "
    reads = (
        ("convolution.123", f"{winograd}weights in panels 7x2x16", {"t117": nhwc, "t124": nhwc}),
        ("convolution.116", f"{unit}data-tiled", {"t114": nhwc, "t117": nhwc}),
        ("convolution.119", f"{unit}as matmul, scheduled 13x32", {"t117": nhwc, "t120": nhwc}),
    )
    costs = ((172_658, 173_064), (69_148, 67_331), (32_242, 32_571))
    others = (
        f"{winograd}as matmul, scheduled 7x32",
        f"{unit}data-tiled",
        f"{unit}weights in panels 13x2x16",
    )
    report = replace(
        REPORT,
        choices=tuple(
            ChoiceReport("main", op, form, layouts, own, other, runner_up, (list(layouts)[1],))
            for (op, form, layouts), (own, other), runner_up in zip(
                reads, costs, others, strict=True
            )
        ),
        conversions=(),
        refusals=(),
        barriers=(),
    )
    for line in explanation(report, "t117"):
        assert f"{line}\n" in README
