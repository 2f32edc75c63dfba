"""``layoutopt compile``: compile what ``layoutopt optimize`` wrote, with the flags it recorded."""

from __future__ import annotations

from pathlib import Path

import click

from layoutopt.cli.options import PATH, Number
from layoutopt.errors import InputError
from layoutopt.files.given import check_file
from layoutopt.files.written import check_output
from layoutopt.mlir.parse import PLANNED, recorded_flags
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.reread import reread
from layoutopt.runtime.workspace import workspace


@click.command("compile")
@click.argument("module", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="Write the compiled module here.")
@click.option(
    "--time-limit",
    default=900.0,
    show_default=True,
    type=Number(1),
    help="Seconds for the compiler.",
)
def compile_command(module: Path, output: Path, time_limit: float) -> None:
    """Compile MODULE with the flags that its plan recorded."""
    check_file(module, "a module that `layoutopt optimize` wrote")
    check_output(output, module)
    with workspace() as folder:
        reread(module, folder / "module.mlirbc", PLANNED)
        flags = recorded_flags(folder / "module.mlirbc", module)
    outcome = compile_file(module, output, flags, time_limit)
    if not outcome.ok:
        raise InputError(
            str(module),
            "a module that iree-compile takes",
            outcome.reason,
            f"try `iree-compile {' '.join(flags)}` by hand",
        )
    click.echo(f"Wrote {output}, compiled with {' '.join(flags)}")
