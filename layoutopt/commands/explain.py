"""``layoutopt explain``: why this layout, from a JSON report."""

from __future__ import annotations

from pathlib import Path

import click

from layoutopt.commands.options import PATH, html_option
from layoutopt.errors import InputError
from layoutopt.output import check_writable
from layoutopt.report.explanation import explanation
from layoutopt.report.html import write_html
from layoutopt.report.report import read_report


@click.command("explain")
@click.argument("report", type=PATH)
@click.argument("name", required=False, metavar="[OP|TENSOR]")
@html_option
def explain_command(report: Path, name: str | None, html: Path | None) -> None:
    """Say what REPORT chose and refused; OP (convolution.3) or TENSOR (t17) picks one.

    With --html, all of it is written as one page for a browser.
    """
    found = read_report(report)
    if html is not None:
        check_writable(html)
        write_html(found, html)
        click.echo(f"Wrote {html}")
        if name is None:
            return
    lines = list(explanation(found, name))
    if not lines and name is not None:
        known = ", ".join(sorted({c.op for c in found.choices})[:8])
        step = f"choose one such as {known}" if known else "leave it out: the plan chose nothing"
        raise InputError(str(report), "an op or tensor of the report", f"'{name}'", step)
    for line in lines:
        click.echo(line)
