"""``layoutopt pack-weights``: rewrite a parameter file into the layouts of a plan."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from layoutopt.cli.options import PATH
from layoutopt.files.written import check_writable
from layoutopt.options import ParameterFile
from layoutopt.parameters.pack import PackedWeights, pack_weights


@click.command("pack-weights")
@click.argument("module", type=PATH)
@click.argument("parameters", metavar="[SCOPE=]FILE")
@click.option("-o", "--output", type=PATH, required=True, help="Write the packed parameters here.")
@click.option(
    "--module-out", type=PATH, required=True, help="Write the module that reads them here."
)
def pack_weights_command(module: Path, parameters: str, output: Path, module_out: Path) -> None:
    """Rewrite parameters (.irpa, .safetensors, .gguf) as MODULE reads them.

    MODULE is what `layoutopt optimize` wrote. What it only moves around when it is loaded lies
    ready in the new file; what it computes stays, and is listed with the reason. A run that was
    interrupted goes on where it stopped.
    """
    for path in (output, module_out):
        check_writable(path)
    console = Console(stderr=True)
    columns = (TextColumn("pack"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("pack", total=None)
        found = pack_weights(
            module,
            ParameterFile.parse(parameters),
            output,
            module_out,
            lambda done, total: bar.update(task, completed=done, total=total),
        )
    for line in summary(found):
        click.echo(line)
    click.echo(
        f"Wrote {output} and {module_out}; compile it with `layoutopt compile {module_out} -o "
        f"{module_out.with_suffix('.vmfb').name}`"
    )


def summary(found: PackedWeights) -> list[str]:
    """What was done, a line each."""
    lines = [f"{w.key}: {w.kind} from {', '.join(w.sources)}" for w in found.packed]
    lines += [
        f"{w.symbol}: still converted when the module is loaded, because {w.reason}"
        for w in found.kept
    ]
    if found.dropped:
        lines.append(
            f"{len(found.dropped)} entries left out, the module reads them in other layouts only: "
            + ", ".join(found.dropped)
        )
    lines.append(
        f"{len(found.packed)} weights packed, {len(found.kept)} still converted at load time; "
        f"{found.size_before} bytes before, {found.size_after} after"
        + (f"; {found.resumed_bytes} bytes were finished already" if found.resumed_bytes else "")
    )
    return lines
