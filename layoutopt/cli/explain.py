"""``layoutopt explain``: why this layout, from a JSON report; which layout, from a plan."""

from __future__ import annotations

from pathlib import Path

import click

from layoutopt.cli.options import PATH, html_option
from layoutopt.errors import InputError
from layoutopt.files.given import check_file
from layoutopt.files.written import check_output
from layoutopt.planning.plan_file import is_plan, read_plan
from layoutopt.report.explanation import explanation, plan_explanation
from layoutopt.report.html import write_html
from layoutopt.report.report import read_report


@click.command("explain")
@click.argument("report", type=PATH, metavar="REPORT|PLAN")
@click.argument("name", required=False, metavar="[OP|TENSOR]")
@html_option
def explain_command(report: Path, name: str | None, html: Path | None) -> None:
    """Say what REPORT chose and refused; OP (convolution.3) or TENSOR (t17) picks one.

    Of a PLAN, what it chose: alternatives and refusals are in the report only.
    With --html, all of it is written as one page for a browser.
    """
    check_file(report, "a report or plan file")
    if is_plan(report):
        if html is not None:
            raise InputError(str(report), "a report", "a plan", "give the report for --html")
        plans = read_plan(report).functions
        lines = [line for plan in plans for line in plan_explanation(plan, name)]
        _print(report, lines, name, sorted({c.op for plan in plans for c in plan.candidates}))
        return
    found = read_report(report)
    if html is not None:
        check_output(html, report)
        write_html(found, html)
        click.echo(f"Wrote {html}")
        if name is None:
            return
    _print(report, list(explanation(found, name)), name, sorted({c.op for c in found.choices}))


def _print(path: Path, lines: list[str], name: str | None, ops: list[str]) -> None:
    if not lines and name is not None:
        known = ", ".join(ops[:8])
        step = f"choose one such as {known}" if known else "leave it out: the plan chose nothing"
        raise InputError(str(path), "an op or tensor of the report", f"'{name}'", step)
    for line in lines:
        click.echo(line)
