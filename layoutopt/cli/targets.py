"""`layoutopt targets`: what targets there are, and what is known of one."""

from __future__ import annotations

import click
from rich.table import Table

from layoutopt.profiles.target import known_targets, load_target, target_text
from layoutopt.report.console import console


@click.command("targets")
@click.option("--show", metavar="NAME|FILE", help="Print one target, each number with its source.")
def targets_command(show: str | None) -> None:
    """List the targets that layoutopt knows.

    A target of your own is one TOML file: start from `layoutopt targets --show mi355x > my.toml`,
    change its numbers and pass `--profile my.toml`.
    """
    if show is not None:
        load_target(show)  # refuses what is not a target
        click.echo(target_text(show), nl=False)
        return
    table = Table(box=None)
    for column in ("target", "prices", "device", "description"):
        table.add_column(column)
    for name in known_targets():
        target = load_target(name)
        table.add_row(name, "measured" if target.measurable else "estimated", target.device,
                      target.description)  # fmt: skip
    console().print(table)
