"""``layoutopt rules``: what rewrites there are and why they are sound."""

from __future__ import annotations

import click
from rich.markup import escape
from rich.table import Table

from layoutopt.report.console import console
from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rule import Unproven


@click.command("rules")
def rules_command() -> None:
    """List the rewrite rules, what they do and why they are sound."""
    table = Table(box=None)
    for column in ("rule", "rewrite", "exactness", "proof"):
        table.add_column(column, overflow="fold")
    for rule in REWRITES:
        proof = f"unproven: {rule.proof.why}" if isinstance(rule.proof, Unproven) else rule.proof
        table.add_row(rule.name, escape(rule.summary), rule.exactness.value, escape(proof))
    console().print(table)
