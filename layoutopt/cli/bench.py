"""``layoutopt bench``: models beside IREE's own flag sets in one run, then other runtimes."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from layoutopt.cli.options import PATH, OneOf, cache_option, parameters_option, threads_option
from layoutopt.errors import InputError
from layoutopt.files.written import check_output, write_text
from layoutopt.options import Options, ParameterFile
from layoutopt.pipeline.job import optimize
from layoutopt.pipeline.searches import SearchResult, compare_searches
from layoutopt.report.console import console
from layoutopt.report.headline import headline
from layoutopt.report.progress import TerminalSteps
from layoutopt.report.units import milliseconds
from layoutopt.runtime.peer import check_peers, peer_names, time_peer
from layoutopt.solver import Search
from layoutopt.verification.evaluated import OPTIMIZED


@dataclass(frozen=True, slots=True)
class Row:
    """One model: milliseconds by name; None where that did not run."""

    model: str
    milliseconds: dict[str, float | None]
    predicted_ms: float | None = None
    """Of the plan: the sum of its prices."""

    @property
    def speedup(self) -> float | None:
        """IREE's default over the plan."""
        mine, default = self.milliseconds.get(OPTIMIZED), self.milliseconds.get("default")
        return default / mine if mine and default else None


class Searches(StrEnum):
    """Which searches to compare."""

    ALL = "all"


@click.command("bench")
@click.argument("models", nargs=-1, required=True, type=PATH)
@click.option(
    "--peers",
    default="",
    metavar="NAMES",
    help=f"Other runtimes to time as well: {','.join(peer_names())} (ONNX models).",
)
@click.option(
    "--search",
    type=OneOf(Searches),
    help="Compare all searches over the same candidates; nothing is compiled as a whole.",
)
@threads_option
@parameters_option
@cache_option
@click.option("--json", "json_path", type=PATH, help="Write the figures here as JSON.")
@click.option("--table", "table_path", type=PATH, help="Write the README's table here.")
def bench_command(
    models: tuple[Path, ...],
    peers: str,
    search: Searches | None,
    threads: int,
    parameters: tuple[str, ...],
    cache: Path | None,
    json_path: Path | None,
    table_path: Path | None,
) -> None:
    """Plan each of MODELS; time plan and IREE's own flag sets in turns, in one run, then peers.

    With --search all, select each plan with every search instead: what it predicts, and how long
    selecting takes.
    """
    names = tuple(n for n in peers.split(",") if n)
    check_peers(names)
    if names and not any(model.suffix == ".onnx" for model in models):
        raise InputError("--peers", "an ONNX model to give them", "none", "leave it out")
    for path in (json_path, table_path):
        if path is not None:
            check_output(path, *models)
    files = tuple(map(ParameterFile.parse, parameters))
    options = Options(threads=threads, parameters=files, cache=cache, remember=False)
    if search is not None:
        other = "--peers" if names else "--table"
        if names or table_path is not None:
            raise InputError("--search", f"no {other}", "one", "leave one of the two out")
        _compare(models, options, json_path)
        return
    rows: list[Row] = []
    lines: list[str] = []
    try:
        for model in models:
            with TerminalSteps(Console(stderr=True)) as steps:
                plan = optimize(model, "host", options, steps)
            times, failures = _peer_times(model, names, threads)
            own = {f.name: f.measured_ms for f in plan.report.flag_sets}
            rows.append(Row(str(model), own | times, plan.report.after.predicted_ms))
            lines += [headline(plan.report), *failures]
    finally:  # what is finished is not lost with a model that fails
        if rows:
            _tell(rows, lines, threads, json_path, table_path)


def _compare(models: tuple[Path, ...], options: Options, json_path: Path | None) -> None:
    """What each search makes of each model, as a table and as a file."""
    found = {str(model): tuple(compare_searches(model, "host", options)) for model in models}
    if json_path is not None:
        rows = {model: [asdict(result) for result in results] for model, results in found.items()}
        write_text(json_path, json.dumps(rows, indent=1) + "\n")
    table = Table(title="Predicted milliseconds (seconds of selecting)", box=box.SIMPLE_HEAD)
    table.add_column("model", overflow="fold")
    for search in Search:
        table.add_column(search.value, justify="right")
    for model, results in found.items():
        table.add_row(Path(model).name, *map(_result, results))
    console().print(table)


def _result(result: SearchResult) -> str:
    if result.predicted_ns is None:
        return "no plan"
    return f"{milliseconds(result.predicted_ns / 1e6)} ({result.seconds:.2g})"


def _peer_times(
    model: Path, peers: tuple[str, ...], threads: int
) -> tuple[dict[str, float | None], list[str]]:
    """Milliseconds of each peer, None for one that fails; and why those do."""
    found: dict[str, float | None] = {}
    failures: list[str] = []
    for peer in peers if model.suffix == ".onnx" else ():
        try:
            found[peer] = statistics.median(time_peer(peer, model, threads) for _ in range(3))
        except InputError as error:
            found[peer] = None
            failures.append(str(error))
    return found, failures


def _tell(
    rows: list[Row],
    lines: list[str],
    threads: int,
    json_path: Path | None,
    table_path: Path | None,
) -> None:
    """The finished rows, as files and as a table with a line for each thing to say of them."""
    if json_path is not None:
        text = json.dumps([asdict(row) for row in rows], indent=1)
        write_text(json_path, text + "\n")
    if table_path is not None:
        write_text(table_path, markdown(rows))
    screen = console()
    _show(rows, threads, screen)
    for line in lines:
        screen.print(line, markup=False, highlight=False, soft_wrap=True)


COLUMNS = (
    "model",
    "IREE default",
    "best of its flag sets",
    "layoutopt",
    "against default",
    "against best flags",
    "predicted",
)


def markdown(rows: list[Row]) -> str:
    """The table that the README shows: milliseconds, the plan against IREE's own flag sets."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *map(_cells, rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace(" --- ", "---")


def _cells(row: Row) -> tuple[str, ...]:
    own = {n: ms for n, ms in row.milliseconds.items() if n not in (OPTIMIZED, *peer_names())}
    best_ms, best = min(((ms, n) for n, ms in own.items() if ms is not None), default=(None, ""))
    mine = row.milliseconds.get(OPTIMIZED)
    return (
        Path(row.model).stem,
        _ms(own.get("default")),
        "-" if best_ms is None else f"{milliseconds(best_ms)} ({best})",
        "-" if mine is None else f"**{milliseconds(mine)}**",
        *(f"{ms / mine:.1f}x" if ms and mine else "-" for ms in (own.get("default"), best_ms)),
        _ms(row.predicted_ms),
    )


def _ms(value: float | None) -> str:
    return "-" if value is None else milliseconds(value)


def _show(rows: list[Row], threads: int, screen: Console) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row.milliseconds))
    table = Table(title=f"Milliseconds, {threads} thread(s)", box=box.SIMPLE_HEAD)
    table.add_column("model", overflow="fold")
    for name in (*columns, "default / layoutopt"):
        table.add_column(name, justify="right")
    for row in rows:
        cells = [row.milliseconds.get(name) for name in columns]
        speedup = "-" if row.speedup is None else f"{row.speedup:.2f}x"
        table.add_row(
            Path(row.model).name, *("-" if c is None else f"{c:.2f}" for c in cells), speedup
        )
    screen.print(table)
