"""``layoutopt rules``: what rewrites there are and why they are sound."""

from __future__ import annotations

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rule import Unproven


@click.command("rules")
def rules_command() -> None:
    """List the rewrite rules, what they do and why they are sound."""
    table = Table(box=None)
    for column in ("rule", "rewrite", "proof"):
        table.add_column(column, overflow="fold")
    for rule in REWRITES:
        proof = f"unproven: {rule.proof.why}" if isinstance(rule.proof, Unproven) else rule.proof
        table.add_row(rule.name, escape(rule.summary), escape(proof))
    Console().print(table)
