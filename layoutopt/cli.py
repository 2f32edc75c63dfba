"""The command line."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from layoutopt.commands.bench import bench_command
from layoutopt.commands.explain import explain_command
from layoutopt.commands.pack_weights import pack_weights_command
from layoutopt.commands.profile import profile_command
from layoutopt.commands.targets import targets_command
from layoutopt.errors import InputError, LayoutoptError, MissingProfileError
from layoutopt.mlir.module import recorded_flags
from layoutopt.optimize import check_writable, optimize
from layoutopt.options import Options
from layoutopt.parameters.files import ParameterFile
from layoutopt.report.progress import TerminalSteps
from layoutopt.report.terminal import show
from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rule import Unproven
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.process import kill_running
from layoutopt.weight_budget import WeightBudget

_PATH = click.Path(path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="layoutopt")
def cli() -> None:
    """Whole-graph layout planning for models that IREE compiles."""


@cli.command("optimize")
@click.argument("model", type=_PATH)
@click.option("-o", "--output", type=_PATH, help="Write the optimized module here.")
@click.option(
    "--profile",
    default="host",
    show_default=True,
    metavar="NAME|FILE",
    help="Target: a name from `layoutopt targets` or a TOML file.",
)
@click.option("--report", "report_path", type=_PATH, help="Write the report as JSON here.")
@click.option("--plan-out", type=_PATH, help="Write the chosen plan as JSON here.")
@click.option("--plan", type=_PATH, help="Use this plan instead of searching for one.")
@click.option(
    "--threads",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Threads that the model runs with.",
)
@click.option(
    "--time-limit",
    default=60.0,
    show_default=True,
    type=click.FloatRange(0.1),
    help="Seconds for the solver.",
)
@click.option(
    "--free-io-layout",
    is_flag=True,
    help="Let inputs and outputs take any layout; the report says which.",
)
@click.option(
    "--weight-budget",
    metavar="BYTES|N%",
    help="Bound on copies of weights in other layouts: 2GiB, or 50% of the weights.",
)
@click.option(
    "--search",
    default="ilp",
    show_default=True,
    type=click.Choice(["ilp", "greedy", "taso"]),
    help="How to select the plan.",
)
@click.option(
    "--objective",
    default="latency",
    show_default=True,
    type=click.Choice(["latency", "conversions"]),
    help="Least time, or fewest run-time conversions with every contraction packed.",
)
@click.option(
    "--lower-packs",
    is_flag=True,
    help="Write packs and unpacks as reshapes and transposes.",
)
@click.option(
    "--tolerance",
    default=1e-3,
    show_default=True,
    type=click.FloatRange(0),
    help="Largest relative difference from the original's results.",
)
@click.option(
    "--parameters",
    multiple=True,
    metavar="[SCOPE=]FILE",
    help="Parameters that the model leaves outside (.irpa, .safetensors, .gguf); repeatable.",
)
@click.option("--device", metavar="URI", help="Measure on this device of IREE's runtime.")
@click.option(
    "--cache",
    type=_PATH,
    metavar="DIR",
    help="Folder of measured prices; the user's cache folder by default.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print all of the JSON report.")
def optimize_command(
    model: Path,
    output: Path | None,
    profile: str,
    report_path: Path | None,
    plan_out: Path | None,
    plan: Path | None,
    threads: int,
    time_limit: float,
    free_io_layout: bool,
    weight_budget: str | None,
    search: str,
    objective: str,
    lower_packs: bool,
    tolerance: float,
    parameters: tuple[str, ...],
    device: str | None,
    cache: Path | None,
    verbose: bool,
) -> None:
    """Plan MODEL (.mlir, .mlirbc or .onnx) for a target and print the report."""
    for path in (output, report_path, plan_out):
        if path is not None:
            check_writable(path)
    options = Options(
        threads=threads,
        time_limit_s=time_limit,
        free_io_layout=free_io_layout,
        weight_budget=None if weight_budget is None else WeightBudget.parse(weight_budget),
        search="greedy" if search == "greedy" else "taso" if search == "taso" else "ilp",
        objective="conversions" if objective == "conversions" else "latency",
        lower_packs=lower_packs,
        tolerance=tolerance,
        parameters=tuple(map(ParameterFile.parse, parameters)),
        device=device,
        cache=cache,
    )
    with TerminalSteps(Console(stderr=True)) as steps:
        found = optimize(model, profile, options, steps, plan)
    if output is not None:
        found.apply(output)
    if report_path is not None:
        found.report.write(report_path)
    if plan_out is not None:
        found.save(plan_out)
    console = Console()
    show(found.report, console)
    if output is not None:
        console.print(
            f"Wrote {output}; compile it with `layoutopt compile {output} -o "
            f"{output.with_suffix('.vmfb').name}`",
            highlight=False,
            soft_wrap=True,
        )
    if verbose:
        console.print(found.report.to_json(), highlight=False, soft_wrap=True)


@cli.command("compile")
@click.argument("module", type=_PATH)
@click.option("-o", "--output", type=_PATH, required=True, help="Write the compiled module here.")
@click.option(
    "--time-limit",
    default=900.0,
    show_default=True,
    type=click.FloatRange(1),
    help="Seconds for the compiler.",
)
def compile_command(module: Path, output: Path, time_limit: float) -> None:
    """Compile MODULE with the flags that its plan recorded."""
    if not module.is_file():
        raise InputError(
            str(module),
            "a module that `layoutopt optimize` wrote",
            "no such file",
            "check the path",
        )
    check_writable(output)
    flags = recorded_flags(module)
    outcome = compile_file(module, output, flags, time_limit)
    if not outcome.ok:
        raise InputError(
            str(module),
            "a module that iree-compile takes",
            outcome.reason,
            f"try `iree-compile {' '.join(flags)}` by hand",
        )
    click.echo(f"Wrote {output}, compiled with {' '.join(flags)}")


@cli.command("rules")
def rules_command() -> None:
    """List the rewrite rules, what they do and why they are sound."""
    table = Table(box=None)
    for column in ("rule", "rewrite", "proof"):
        table.add_column(column, overflow="fold")
    for rule in REWRITES:
        proof = f"unproven: {rule.proof.why}" if isinstance(rule.proof, Unproven) else rule.proof
        table.add_row(rule.name, escape(rule.summary), escape(proof))
    Console().print(table)


cli.add_command(bench_command)
cli.add_command(explain_command)
cli.add_command(pack_weights_command)
cli.add_command(profile_command)
cli.add_command(targets_command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every error is one line and a non-zero exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        cli.main(arguments, standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        _fail(
            f"layoutopt: {error.format_message().rstrip('.')}; see `layoutopt --help`",
            error.exit_code,
        )
    except (InputError, MissingProfileError) as error:
        _fail(str(error), 2)
    except LayoutoptError as error:
        _fail(str(error), 1)
    except (KeyboardInterrupt, click.Abort):
        kill_running()
        _fail("layoutopt: interrupted; what is finished is kept, run it again to go on", 130)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _fail(message: str, code: int) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(code)
