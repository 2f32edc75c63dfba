"""``layoutopt optimize``: plan a model, write it, report."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from layoutopt.cli.options import (
    PATH,
    Number,
    OneOf,
    WholeNumber,
    cache_option,
    device_option,
    html_option,
    no_compile_option,
    parameters_option,
    profile_option,
    threads_option,
    weights_from_option,
)
from layoutopt.errors import InputError
from layoutopt.files.written import check_output
from layoutopt.options import (
    Budget,
    Effort,
    Objective,
    Options,
    ParameterFile,
    PlannedSize,
    Resource,
    SizeRange,
    TripCount,
    rules_without,
)
from layoutopt.pipeline.job import optimize
from layoutopt.report.console import console
from layoutopt.report.html import write_html
from layoutopt.report.progress import TerminalSteps
from layoutopt.report.terminal import show
from layoutopt.runtime.sampling import WeightsFrom
from layoutopt.solver import Search


@click.command("optimize")
@click.argument("model", type=PATH)
@click.option("-o", "--output", type=PATH, help="Write the optimized module here.")
@profile_option
@click.option("--report", "report_path", type=PATH, help="Write the report as JSON here.")
@html_option
@click.option("--plan-out", type=PATH, help="Write the chosen plan as JSON here.")
@click.option("--plan", type=PATH, help="Use this plan instead of searching for one.")
@threads_option
@weights_from_option
@click.option(
    "--time-limit",
    default=60.0,
    show_default=True,
    type=Number(0.1),
    help="Seconds for the solver in all; then the best plan that is known is used.",
)
@click.option(
    "--free-io-layout",
    is_flag=True,
    help="Let inputs and outputs take any layout; the report says which.",
)
@click.option(
    "--free-state-layout",
    is_flag=True,
    help="Let private mutable globals (KV caches) take any layout; the report says which.",
)
@click.option(
    "--weight-budget",
    metavar="BYTES|N%",
    help="Bound on copies of weights in other layouts: 2GiB, or 50% of the weights.",
)
@click.option(
    "--memory-budget",
    metavar="BYTES|N%",
    help="Bound on what tensors take while a call runs, weights and arguments aside: 64MiB, or "
    "50% of what the model takes as it came.",
)
@click.option(
    "--trade-off",
    "trade_offs",
    multiple=True,
    type=OneOf(Resource),
    help="Also plan with less and less of it, and show what that costs; repeatable.",
)
@click.option(
    "--search",
    default=Search.ILP,
    show_default=True,
    type=OneOf(Search),
    help="How to select the plan.",
)
@click.option(
    "--effort",
    default=Effort.NORMAL,
    show_default=True,
    type=OneOf(Effort),
    help="How much is priced: the likely best, what prices of candidates like it leave open, or "
    "all that rates seen so far allow; quick also times none of IREE's other flag sets.",
)
@click.option(
    "--objective",
    default=Objective.LATENCY,
    show_default=True,
    type=OneOf(Objective),
    help="Least time, or fewest run-time conversions with every contraction packed.",
)
@click.option(
    "--lower-packs",
    is_flag=True,
    help="Write all packs and unpacks as reshapes and transposes, whatever they cost.",
)
@click.option(
    "--tolerance",
    type=Number(0),
    help="Largest relative difference from the original's results; by default what rounding "
    "explains.",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Only forms that are equal up to the order of sums: no Winograd, no zeros left out.",
)
@click.option(
    "--without-rule",
    "left_out",
    multiple=True,
    metavar="NAME",
    help="Leave out a rewrite of `layoutopt rules`, to see what it is for; repeatable.",
)
@click.option(
    "--no-verify",
    is_flag=True,
    help="For a target that is not here, do not check the plan on this machine's CPU.",
)
@click.option(
    "--dim",
    "dims",
    multiple=True,
    metavar="NAME=SIZE[,SIZE..][:WEIGHT,..]",
    help="Sizes to plan for, of those known at run time only, and how much each counts; arg0.1 is "
    "dim 1 of the first argument.",
)
@click.option(
    "--dim-range",
    "dim_ranges",
    multiple=True,
    metavar="NAME=[LOW]..[HIGH][%DIVISOR]",
    help="What is known of a size that is known at run time only, where the model does not say it, "
    "such as batch=1..64 or seq=..2048%8; the written module checks it.",
)
@click.option(
    "--specializations",
    default=4,
    show_default=True,
    type=WholeNumber(1),
    help="Plans that a function may have at most, each for a range of the sizes of --dim, where "
    "each saves 5% of the time; 1 for one plan for all sizes.",
)
@click.option(
    "--trip-count",
    "trip_counts",
    multiple=True,
    metavar="NAME=N",
    help="How often a block of control flow runs that does not tell, such as main/while.0.body; "
    "predicted times count it.",
)
@parameters_option
@device_option
@no_compile_option
@cache_option
@click.option("-v", "--verbose", is_flag=True, help="Print all of the JSON report.")
def optimize_command(
    model: Path,
    output: Path | None,
    profile: str,
    report_path: Path | None,
    html: Path | None,
    plan_out: Path | None,
    plan: Path | None,
    threads: int,
    weights_from: WeightsFrom | None,
    time_limit: float,
    free_io_layout: bool,
    free_state_layout: bool,
    weight_budget: str | None,
    memory_budget: str | None,
    trade_offs: tuple[Resource, ...],
    search: Search,
    effort: Effort,
    objective: Objective,
    lower_packs: bool,
    tolerance: float | None,
    exact: bool,
    left_out: tuple[str, ...],
    no_verify: bool,
    dims: tuple[str, ...],
    dim_ranges: tuple[str, ...],
    specializations: int,
    trip_counts: tuple[str, ...],
    parameters: tuple[str, ...],
    device: str | None,
    no_compile: bool,
    cache: Path | None,
    verbose: bool,
) -> None:
    """Plan MODEL (.mlir, .mlirbc or .onnx) for a target and print the report."""
    if output is not None and output.suffix not in (".mlir", ".mlirbc"):
        raise InputError(
            str(output),
            "an output that ends in .mlir or .mlirbc",
            f"'{output.suffix}'",
            "choose another output",
        )
    files = tuple(map(ParameterFile.parse, parameters))
    given = [model, *(f.path for f in files), *([] if plan is None else [plan])]
    outputs = [path for path in (output, report_path, html, plan_out) if path is not None]
    for number, path in enumerate(outputs):
        check_output(path, *given)
        if path in outputs[:number]:
            raise InputError(str(path), "one output to a file", "two", "choose another output")
    options = Options(
        threads=threads,
        weights_from=weights_from,
        time_limit_s=time_limit,
        free_io_layout=free_io_layout,
        free_state_layout=free_state_layout,
        weight_budget=_budget(weight_budget, "--weight-budget"),
        memory_budget=_budget(memory_budget, "--memory-budget"),
        trade_offs=frozenset(trade_offs),
        search=search,
        effort=effort,
        objective=objective,
        lower_packs=lower_packs,
        tolerance=tolerance,
        exact=exact,
        rules=rules_without(left_out),
        verify=not no_verify,
        sizes=tuple(map(PlannedSize.parse, dims)),
        size_ranges=tuple(map(SizeRange.parse, dim_ranges)),
        specializations=specializations,
        trip_counts=tuple(map(TripCount.parse, trip_counts)),
        parameters=files,
        device=device,
        cache=cache,
        compile_candidates=not no_compile,
    )
    with TerminalSteps(Console(stderr=True)) as steps:
        found = optimize(model, profile, options, steps, plan)
    if output is not None:
        found.apply(output)
    if report_path is not None:
        found.report.write(report_path)
    if html is not None:
        write_html(found.report, html)
    if plan_out is not None:
        found.save(plan_out)
    screen = console()
    show(found.report, screen)
    if output is not None:
        screen.print(
            f"Wrote {output}; compile it with `layoutopt compile {output} -o "
            f"{output.with_suffix('.vmfb').name}`",
            highlight=False,
            soft_wrap=True,
        )
    if verbose:
        screen.print(found.report.to_json(), highlight=False, soft_wrap=True)


def _budget(text: str | None, option: str) -> Budget | None:
    return None if text is None else Budget.parse(text, option)
