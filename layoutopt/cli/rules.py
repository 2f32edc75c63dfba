"""``layoutopt rules``: what rules there are, and how it is known that they are sound."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from layoutopt.cli.options import PATH
from layoutopt.normalize import NORMALIZATIONS
from layoutopt.pipeline.stages import enumerate as candidates
from layoutopt.pipeline.stages import lift, read
from layoutopt.report.console import console
from layoutopt.rules.rewrites import every_rule
from layoutopt.rules.rule import NormalizationRule, RewriteRule, Unproven

_Rules = Sequence[NormalizationRule[Any] | RewriteRule[Any]]
_Counts = dict[str, tuple[set[str], set[str]]]
"""Of each rule the ops of a model that it fired at, and those where it was refused."""


@click.command("rules")
@click.argument("models", metavar="[MODEL]...", type=PATH, nargs=-1)
@click.option("--profile", metavar="NAME|FILE", default="host", show_default=True,
              help="Target: which rules apply follows from it.")  # fmt: skip
def rules_command(models: tuple[Path, ...], profile: str) -> None:
    """List the rules, what they do, why they are sound and how that is known.

    With models: at how many ops of each a rule fires, and at how many it is refused. Nothing is
    compiled or priced for that.
    """
    out = console()
    if models:
        every: _Rules = [*NORMALIZATIONS, *every_rule()]
        found = [_counted(path, profile) for path in models]
        met = [rule for rule in every if any(rule.name in counts for counts in found)]
        out.print(_fired([path.name for path in models], met, found))
        others = ", ".join(rule.name for rule in every if rule not in met)
        out.print(f"Rules that match nothing there: {others or 'none'}")
        return
    out.print("normalization: applied before anything is priced, beside the model as it came")
    out.print(_listed(NORMALIZATIONS))
    out.print("\nrewrites: alternatives among which prices decide")
    out.print(_listed(every_rule()))


def _counted(path: Path, profile: str) -> _Counts:
    """At which ops of a model each rule fired, and at which it was refused."""
    counts: _Counts = defaultdict(lambda: (set(), set()))
    with read(path, profile) as model:
        for function in lift(model):
            space = candidates(function.graph, profile).space
            for index, rules in enumerate(space.egraph.rule):
                for rule in rules:
                    name = space.egraph.graph.name_of(index)
                    counts[rule][0].add(f"{function.name}/{name}")
            for refused in space.refusals:
                counts[refused.rule][1].add(f"{function.name}/{refused.op}")
    return counts


def _fired(names: Sequence[str], rules: _Rules, counts: Sequence[_Counts]) -> Table:
    table = Table(box=None)
    table.add_column("rule", overflow="fold")
    for name in names:
        table.add_column(f"{name}\nfired / refused", justify="right", overflow="fold")
    for rule in rules:
        pairs = [count.get(rule.name, ((), ())) for count in counts]
        table.add_row(rule.name, *(f"{len(fired)} / {len(refused)}" for fired, refused in pairs))
    return table


def _listed(rules: _Rules) -> Table:
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
