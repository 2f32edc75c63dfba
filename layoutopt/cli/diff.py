"""`layoutopt profile diff`: how well prices repeat between two runs."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from layoutopt.errors import InputError
from layoutopt.profiles.store import Store
from layoutopt.profiles.store_diff import Comparison, Pair, compare, quantile
from layoutopt.report.console import console

_PATH = click.Path(path_type=Path)
_BANDS = ((10_000.0, "< 10 us"), (100_000.0, "10-100 us"), (1e6, "0.1-1 ms"), (1e18, "> 1 ms"))
_WORST = 5
_FAILED = 1


@click.command("diff")
@click.argument("first", type=_PATH)
@click.argument("second", type=_PATH)
@click.option(
    "--tolerance", type=click.FloatRange(0), default=0.05, show_default=True,
    help="Largest median difference; 0.05 is 5 %.",
)  # fmt: skip
def diff_command(first: Path, second: Path, tolerance: float) -> None:
    """Compare the prices that two stores hold of the same candidates.

    FIRST and SECOND are files `prices.sqlite`, as of two cold runs. Exits with 1 where the median
    difference is above --tolerance.
    """
    for path in (first, second):
        if not path.is_file():
            raise InputError(str(path), "a price store", "no such file", "check the path")
    with Store(first) as a, Store(second) as b:
        comparison = compare(a.records(), b.records())
    if not comparison.pairs:
        raise InputError(
            f"{first} and {second}", "prices of the same candidates", "none in common",
            "measure the same models for the same target with the same version of IREE",
        )  # fmt: skip
    _show(comparison, console())
    median = quantile(comparison.pairs, 0.5)
    passed = median <= tolerance
    click.echo(
        f"{len(comparison.pairs)} prices in common; median difference {100 * median:.1f} %, "
        f"{'within' if passed else 'above'} the tolerance of {100 * tolerance:g} %"
    )
    if not passed:
        raise click.exceptions.Exit(_FAILED)


def _show(comparison: Comparison, console: Console) -> None:
    pairs = comparison.pairs
    table = Table(title="Difference of the second run to the first", title_justify="left", box=None)
    for column in ("candidates", "prices", "median", "9 of 10 within", "worst"):
        table.add_column(column, justify="left" if column == "candidates" else "right")
    groups = {"all": list(pairs)}
    for pair in sorted(pairs, key=lambda p: p.first_ns):
        band = next(name for limit, name in _BANDS if pair.first_ns < limit)
        groups.setdefault(band, []).append(pair)
    for pair in sorted(pairs, key=lambda p: p.kind):
        groups.setdefault(pair.kind, []).append(pair)
    for name, members in groups.items():
        table.add_row(
            name, str(len(members)), *(_percent(quantile(members, s)) for s in (0.5, 0.9, 1.0))
        )
    console.print(table)
    console.print(f"Drift of the second run: {100 * (comparison.drift - 1):+.1f} %. Only in the "
                  f"first: {comparison.only_first}, only in the second: {comparison.only_second}. "
                  f"Other outcome: {len(comparison.outcomes)}.",
                  highlight=False, soft_wrap=True)  # fmt: skip
    for key, one, other in comparison.outcomes[:_WORST]:
        console.print(f"  {key[:12]}: {one}, then {other}", highlight=False)
    for pair in sorted(pairs, key=lambda p: -p.difference)[:_WORST]:
        console.print(f"  {_line(pair)}", highlight=False, soft_wrap=True)


def _line(pair: Pair) -> str:
    return (f"{pair.key[:12]}: {pair.kind}, {pair.first_ns / 1e3:.1f} us, "
            f"then {pair.second_ns / 1e3:.1f} us")  # fmt: skip


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
