"""`layoutopt profile`: measure what models need and a target's prices still lack."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from layoutopt.cli.diff import diff_command
from layoutopt.cli.options import (
    PATH,
    cache_option,
    device_option,
    no_compile_option,
    profile_option,
    threads_option,
    weights_from_option,
)
from layoutopt.cli.store import (
    export_command,
    import_command,
    merge_command,
    prune_command,
    show_command,
)
from layoutopt.errors import InputError
from layoutopt.frontend.converted import ConvertedModels, converted_folder
from layoutopt.frontend.source import open_source
from layoutopt.ir.graph import Graph
from layoutopt.ir.weights import weight_reuse
from layoutopt.mlir.module import has_work
from layoutopt.options import Options
from layoutopt.pipeline.block_flow import trips_in_a_row
from layoutopt.planning.profile_model import PricedModels, price_graphs, together
from layoutopt.planning.sensitivity import OpenQuestion, open_questions
from layoutopt.planning.setting import PlanSetting
from layoutopt.pricing.at_sizes import AtSizes
from layoutopt.pricing.pricers import at_device, open_pricer, weights_of
from layoutopt.profiles.store import Store, store_path
from layoutopt.profiles.target import Target, load_target
from layoutopt.report.console import console
from layoutopt.report.progress import TerminalSteps
from layoutopt.runtime.sampling import WeightsFrom
from layoutopt.runtime.steps import Clock
from layoutopt.solver import TimeLimit

_MOST = 12


class MeasureByDefault(click.Group):
    """A group whose first word may also be a model: then `measure` is meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `measure` in front, unless a subcommand or help is asked for."""
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["measure", *args]
        return super().parse_args(ctx, args)


@click.group("profile", cls=MeasureByDefault)
def profile_command() -> None:
    """Measure what MODELs need: `layoutopt profile [MODEL ...] --profile NAME`.

    The word `measure` may be left out. The other commands look after the store of prices.
    """


@profile_command.command("measure")
@click.argument("models", type=PATH, nargs=-1)
@profile_option
@device_option
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Measure on the workers of this Dask scheduler, as tcp://HOST:8786.",
)
@threads_option
@weights_from_option
@no_compile_option
@cache_option
def measure_command(
    models: tuple[Path, ...], profile: str, device: str | None, scheduler: str | None,
    threads: int, weights_from: WeightsFrom | None, no_compile: bool, cache: Path | None,
) -> None:  # fmt: skip
    """Measure every candidate of MODELs that has no price yet; go on where a run stopped.

    For a target that is not here, nothing is measured: listed are the measurements that could
    change the plan, by how far the error of each estimate can move a plan that uses it.
    """
    target = at_device(load_target(profile), device, scheduler, threads)
    options = Options(
        threads=threads, weights_from=weights_from, device=device, cache=cache,
        compile_candidates=not no_compile,
    )  # fmt: skip
    screen = console()
    if not models:
        raise InputError("layoutopt profile", "at least one model", "none",
                         "name a model, or see `layoutopt profile show`")  # fmt: skip
    with TerminalSteps(Console(stderr=True)) as steps:
        steps.step("read")
        placed = _placed(models, target, options)
        steps.step("price")
        priced: list[PricedModels] = []
        questions: tuple[OpenQuestion, ...] = ()
        with Store(store_path(cache), renew=True) as store:
            before = _held(store)
            for (place, elements), graphs in placed.items():
                here = replace(options, weights_from=place)
                with open_pricer(store, target, here, scheduler) as pricer:
                    limit = TimeLimit(options.time_limit_s)
                    for each in target.tilings(elements):
                        setting = PlanSetting(each, AtSizes(pricer), here, limit, Clock(steps))
                        priced.append(price_graphs(graphs, setting, steps.progress))
                        if not target.measurable:
                            questions += open_questions(graphs, setting)
    _show_priced(together(priced), target, before, store_path(cache), screen)
    if not target.measurable:
        _show_questions(questions, screen)


def _placed(
    models: tuple[Path, ...], target: Target, options: Options
) -> dict[tuple[WeightsFrom, frozenset[str]], list[Graph]]:
    """The functions of all models, by where these find their weights, and by their elements."""
    found: dict[tuple[WeightsFrom, frozenset[str]], list[Graph]] = {}
    for model in models:
        with tempfile.TemporaryDirectory(prefix="layoutopt-") as folder:
            _, module = open_source(
                model, Path(folder), target.flags, options.compile_timeout_s,
                ConvertedModels(converted_folder(options.cache)),
            )  # fmt: skip
            trips = trips_in_a_row(module, {})
            busy = [i for i, graph in enumerate(module.graphs) if has_work(graph)]
            graphs = [module.graphs[i] for i in busy]
            reuse = weight_reuse(graphs, [trips[i] for i in busy])
            weights_from = weights_of(target, options, reuse)
            elements = frozenset(t.element for graph in graphs for t in graph.types)
            found.setdefault((weights_from, elements), []).extend(graphs)
    return found


def _held(store: Store) -> int:
    return sum(row.count for row in store.summary())


def _show_priced(
    priced: PricedModels, target: Target, before: int, path: Path, console: Console
) -> None:  # fmt: skip
    refused = sum(count for _, count in priced.refused)
    console.print(f"{target.name}: {priced.candidates} candidates and {priced.conversions} "
                  f"conversions; {refused} of them have no price", highlight=False)  # fmt: skip
    if target.measurable:
        with Store(path) as store:
            new = _held(store) - before
        console.print(f"Measured now: {new}; the others were known or equal. Store: {path}",
                      highlight=False, soft_wrap=True)  # fmt: skip
    if not priced.refused:
        return
    table = Table(title="Refused", title_justify="left", box=None)
    table.add_column("reason", overflow="fold")
    table.add_column("candidates", justify="right")
    for reason, count in priced.refused[:_MOST]:
        table.add_row(reason, str(count))
    console.print(table)


def _show_questions(questions: tuple[OpenQuestion, ...], console: Console) -> None:
    if not questions:
        console.print("No estimate is uncertain enough to change the plan.", highlight=False)
        return
    table = Table(title="Measurements that could change the plan", title_justify="left", box=None)
    for column in ("op", "form", "in the plan", "uses", "us each", "+/-", "at stake us"):
        words = column in ("op", "form", "in the plan")
        table.add_column(column, justify="left" if words else "right", overflow="fold")
    for question in questions[:_MOST]:
        table.add_row(question.what, question.form, "yes" if question.chosen else "no",
                      str(question.uses), f"{question.estimate_ns / 1e3:.1f}",
                      f"{100 * question.uncertainty:.0f} %",
                      f"{question.at_stake_ns / 1e3:.1f}")  # fmt: skip
    console.print(table)
    if len(questions) > _MOST:
        console.print(f"  and {len(questions) - _MOST} more", highlight=False)
    console.print(f"{len(questions)} in all. Should they come out as estimated, no other estimate "
                  "changes the plan by an error within its own.",
                  highlight=False, soft_wrap=True)  # fmt: skip


for _command in (
    diff_command,
    export_command,
    import_command,
    merge_command,
    show_command,
    prune_command,
):
    profile_command.add_command(_command)
