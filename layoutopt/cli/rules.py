"""``layoutopt rules``: what rules there are, and how it is known that they are sound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from layoutopt.normalize import NORMALIZATIONS
from layoutopt.report.console import console
from layoutopt.rules.rewrites import every_rule
from layoutopt.rules.rule import NormalizationRule, RewriteRule, Unproven


@click.command("rules")
def rules_command() -> None:
    """List the rules, what they do, why they are sound and how that is known."""
    out = console()
    out.print("normalization: applied before anything is priced, beside the model as it came")
    out.print(_listed(NORMALIZATIONS))
    out.print("\nrewrites: alternatives among which prices decide")
    out.print(_listed(every_rule()))


def _listed(rules: Sequence[NormalizationRule[Any] | RewriteRule[Any]]) -> Table:
    table = Table(box=None)
    for column in ("rule", "rewrite", "exactness", "argument", "evidence"):
        table.add_column(column, overflow="fold")
    for rule in rules:
        argument, evidence = rule.argument, rule.evidence.value
        if isinstance(argument, Unproven):
            argument, evidence = f"unproven: {argument.why}", "property tests"
        table.add_row(
            rule.name, escape(rule.summary), rule.exactness.value, escape(argument), evidence
        )
    return table
