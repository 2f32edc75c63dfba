"""``layoutopt bench``: models beside IREE's own flag sets and other runtimes, in one run."""

from __future__ import annotations

import itertools
import json
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from layoutopt.cli.options import PATH, OneOf, SeveralThreads, cache_option, parameters_option
from layoutopt.errors import InputError
from layoutopt.files.written import check_output, write_text
from layoutopt.options import Options, ParameterFile
from layoutopt.pipeline.job import optimize
from layoutopt.pipeline.searches import SearchResult, compare_searches
from layoutopt.report.bench_rows import BenchRow, failures, markdown, table
from layoutopt.report.chart import chart
from layoutopt.report.console import console
from layoutopt.report.headline import headline
from layoutopt.report.progress import TerminalSteps
from layoutopt.report.units import milliseconds
from layoutopt.runtime.peer import check_peers, peer_names
from layoutopt.solver import Search


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
@click.option(
    "--threads",
    default="1",
    show_default=True,
    metavar="N|all,...",
    type=SeveralThreads(),
    help="Threads that models run with; several with commas between, such as 1,all.",
)
@parameters_option
@cache_option
@click.option("--json", "json_path", type=PATH, help="Write the figures here as JSON.")
@click.option("--table", "table_path", type=PATH, help="Write the README's table here.")
@click.option("--chart", "chart_path", type=PATH, help="Draw the figures here, as SVG.")
def bench_command(
    models: tuple[Path, ...],
    peers: str,
    search: Searches | None,
    threads: tuple[int, ...],
    parameters: tuple[str, ...],
    cache: Path | None,
    json_path: Path | None,
    table_path: Path | None,
    chart_path: Path | None,
) -> None:
    """Plan each of MODELS; time plan, IREE's own flag sets and peers in turns, in one run.

    With --search all, select each plan with every search instead: what it predicts, and how long
    selecting takes.
    """
    names = tuple(n for n in peers.split(",") if n)
    check_peers(names)
    if names and not any(model.suffix == ".onnx" for model in models):
        raise InputError("--peers", "an ONNX model to give them", "none", "leave it out")
    for path in (json_path, table_path, chart_path):
        if path is not None:
            check_output(path, *models)
    files = tuple(map(ParameterFile.parse, parameters))
    options = Options(threads=threads[0], parameters=files, cache=cache, remember=False)
    if search is not None:
        given = {
            "--peers": names,
            "--table": table_path,
            "--chart": chart_path,
            "--threads with several": threads[1:],
        }
        for other in (name for name, value in given.items() if value):
            raise InputError("--search", f"no {other}", "one", "leave one of the two out")
        _compare(models, options, json_path)
        return
    rows: list[BenchRow] = []
    lines: list[str] = []
    try:
        for model, count in itertools.product(models, threads):
            peers_here = names if model.suffix == ".onnx" else ()
            with TerminalSteps(Console(stderr=True)) as steps:
                own = replace(options, threads=count, peers=peers_here)
                report = optimize(model, "host", own, steps).report
            rows.append(BenchRow.of(model, count, report))
            lines += [headline(report), *failures(rows[-1])]
    finally:  # what is finished is not lost with a model that fails
        if rows:
            screen = console()
            screen.print(table(rows))
            for line in lines:
                screen.print(line, markup=False, highlight=False, soft_wrap=True)
            _write(rows, json_path, table_path, chart_path)


def _write(
    rows: list[BenchRow], json_path: Path | None, table_path: Path | None, chart_path: Path | None
) -> None:
    """The finished rows, as files."""
    if json_path is not None:
        write_text(json_path, json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    if table_path is not None:
        write_text(table_path, markdown(rows))
    if chart_path is not None:
        write_text(chart_path, chart(rows))


def _compare(models: tuple[Path, ...], options: Options, json_path: Path | None) -> None:
    """What each search makes of each model, as a table and as a file."""
    found: dict[str, tuple[SearchResult, ...]] = {}
    for model in models:
        results = tuple(compare_searches(model, "host", options))
        found[str(model)] = results
        told = ", ".join(f"{result.search.value} {_result(result)}" for result in results)
        click.echo(f"{model.name}: {told}", err=True)
    if json_path is not None:
        rows = {name: [asdict(result) for result in results] for name, results in found.items()}
        write_text(json_path, json.dumps(rows, indent=1) + "\n")
    shown = Table(title="Predicted milliseconds (seconds of selecting)", box=box.SIMPLE_HEAD)
    shown.add_column("model", overflow="fold")
    for search in Search:
        shown.add_column(search.value, justify="right")
    for name, results in found.items():
        shown.add_row(Path(name).name, *map(_result, results))
    console().print(shown)


def _result(result: SearchResult) -> str:
    if result.predicted_ns is None:
        return "no plan"
    return f"{milliseconds(result.predicted_ns / 1e6)} ({result.seconds:.2g})"
