"""``layoutopt rules``: what rewrites there are, and how it is known that they are sound."""

from __future__ import annotations

import click
from rich.markup import escape
from rich.table import Table

from layoutopt.report.console import console
from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rule import Unproven


@click.command("rules")
def rules_command() -> None:
    """List the rewrite rules, what they do, why they are sound and how that is known."""
    table = Table(box=None)
    for column in ("rule", "rewrite", "exactness", "argument", "evidence"):
        table.add_column(column, overflow="fold")
    for rule in REWRITES:
        argument, evidence = rule.argument, rule.evidence.value
        if isinstance(argument, Unproven):
            argument, evidence = f"unproven: {argument.why}", "property tests"
        table.add_row(
            rule.name, escape(rule.summary), rule.exactness.value, escape(argument), evidence
        )
    console().print(table)
