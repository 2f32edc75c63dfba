"""`layoutopt profile export|import|merge|show|prune`: what is kept, by hand.

That is the store of prices, and the converted models beside it.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import click
from rich.table import Table

from layoutopt.cli.options import PATH, Number, cache_option
from layoutopt.files.written import check_output
from layoutopt.frontend.converted import ConvertedModels, converted_folder
from layoutopt.profiles.store import Store, store_path
from layoutopt.report.console import console


@click.command("export")
@click.argument("file", type=PATH)
@cache_option
def export_command(file: Path, cache: Path | None) -> None:
    """Write all prices to FILE as lines of JSON, for another machine."""
    check_output(file, store_path(cache))
    with Store(store_path(cache)) as store:
        count = store.export(file)
    click.echo(f"Wrote {count} prices to {file}")


@click.command("import")
@click.argument("file", type=PATH)
@cache_option
def import_command(file: Path, cache: Path | None) -> None:
    """Take in the prices of FILE, written by `export`; newer ones win."""
    with Store(store_path(cache)) as store:
        count = store.import_(file)
    click.echo(f"Read {count} prices from {file}")


@click.command("merge")
@click.argument("stores", type=PATH, nargs=-1, required=True)
@cache_option
def merge_command(stores: tuple[Path, ...], cache: Path | None) -> None:
    """Take in the prices of other STORES (files `prices.sqlite`); newer ones win."""
    with Store(store_path(cache)) as store:
        for path in stores:
            click.echo(f"Read {store.merge(path)} prices from {path}")


@click.command("show")
@cache_option
def show_command(cache: Path | None) -> None:
    """List what the store holds, by target, IREE version and outcome; and the converted models."""
    path = store_path(cache)
    table = Table(title=str(path), title_justify="left", box=None)
    for column in ("target", "IREE", "outcome", "prices", "oldest", "newest"):
        table.add_column(column, justify="right" if column == "prices" else "left")
    with Store(path) as store:
        for row in store.summary():
            table.add_row(row.target_fingerprint, row.iree_version, row.outcome, str(row.count),
                          row.oldest_utc, row.newest_utc)  # fmt: skip
    console().print(table)
    count, size_bytes = ConvertedModels(converted_folder(cache)).summary()
    click.echo(f"Converted models: {_models(count, size_bytes)}")


@click.command("prune")
@click.option(
    "--older-than",
    type=Number(0),
    metavar="DAYS",
    help="Measured before; of converted models, not used since.",
)
@click.option("--iree", metavar="VERSION", help="Measured or converted with this version of IREE.")
@click.option("--target", metavar="FINGERPRINT", help="Of this target, as `show` spells it.")
@click.option("--refusals", is_flag=True, help="Candidates that were refused.")
@click.option("--models", is_flag=True, help="Converted models only; no price is removed.")
@cache_option
def prune_command(
    older_than: float | None, iree: str | None, target: str | None, refusals: bool, models: bool,
    cache: Path | None,
) -> None:  # fmt: skip
    """Remove the prices and the converted models that meet every condition given.

    Converted models belong to no target and were never refused: with --target or --refusals they
    stay. With --models alone, all of them go.
    """
    age = None if older_than is None else timedelta(days=older_than)
    prices_only = target is not None or refusals
    if models and prices_only:
        raise click.UsageError("--models does not go with --target or --refusals")
    if not models:
        with Store(store_path(cache)) as store:
            count = store.prune(age, iree, target, refusals)
        click.echo(f"Removed {count} prices")
    if not prices_only:
        removed = ConvertedModels(converted_folder(cache)).prune(age, iree)
        click.echo(f"Removed {_models(*removed)}")


def _models(count: int, size_bytes: int) -> str:
    return f"{count} converted model{'' if count == 1 else 's'}, {size_bytes / 1e6:.1f} MB"
