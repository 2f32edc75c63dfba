"""``layoutopt explain``: why this layout, from a JSON report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any  # what json.loads gives; checked by use

import click

from layoutopt.commands.options import PATH
from layoutopt.errors import InputError
from layoutopt.report.report import VERSION


@click.command("explain")
@click.argument("report", type=PATH)
@click.argument("name", required=False)
def explain_command(report: Path, name: str | None) -> None:
    """Say what REPORT chose and refused; NAME picks one op (convolution.3) or tensor (t17)."""
    table = read_report(report)
    lines = list(explanation(table, name))
    if not lines:
        known = ", ".join(sorted({c["op"] for c in table["choices"]})[:8])
        raise InputError(
            str(report), "an op or tensor of the report", f"'{name}'", f"choose one such as {known}"
        )
    for line in lines:
        click.echo(line)


def read_report(path: Path) -> Mapping[str, Any]:
    """The report as JSON gives it. Raises InputError for a file that is none."""
    if not path.is_file():
        raise InputError(str(path), "a report file", "no such file", "check the path")
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        version = table["version"]
        known = {"choices", "conversions", "refusals", "barriers"} <= table.keys()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            str(path), "a report that `--report` wrote", f"{error!r}", "make the report again"
        ) from error
    if version != VERSION or not known:
        raise InputError(
            str(path),
            f"a report of version {VERSION}",
            f"version {version}",
            "make the report again",
        )
    return table  # type: ignore[no-any-return]


def explanation(table: Mapping[str, Any], name: str | None) -> Iterator[str]:
    """One line per choice, conversion and refusal that concerns ``name`` (all where None)."""
    for c in table["choices"]:
        if name in (None, c["op"], *c["layouts"]):
            layouts = ", ".join(f"{t} {layout}" for t, layout in c["layouts"].items())
            yield f"{c['op']}: {c['form']}, {c['cost_ns'] / 1e3:.1f} us; {layouts}{_second(c)}"
    for c in table["conversions"]:
        if name in (None, c["tensor"].partition(":")[0]) or f"{name} " in c["reason"]:
            yield (
                f"{c['tensor']}: {c['kind']} from {c['source']} to {c['target']}, "
                f"{c['cost_ns'] / 1e3:.1f} us, {c['size_bytes']} bytes; {c['reason']}"
            )
    for r in (*table["refusals"], *table["barriers"]):
        if name in (None, r["op"]):
            yield f"{r['op']}: refused {r['rule']}: {r['reason']}"


def _second(choice: Mapping[str, Any]) -> str:
    if choice["runner_up_ns"] is None:
        return "; nothing else was possible"
    more = choice["runner_up_ns"] - choice["cost_ns"]
    side = (
        f"{more / 1e3:.1f} us more"
        if more >= 0
        else (f"{-more / 1e3:.1f} us less, lost to its conversions")
    )
    return f"; runner-up: {choice['runner_up']}, {side}"
