"""The command line."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn

import click

from layoutopt.commands.bench import bench_command
from layoutopt.commands.compile import compile_command
from layoutopt.commands.explain import explain_command
from layoutopt.commands.optimize import optimize_command
from layoutopt.commands.profile import profile_command
from layoutopt.commands.rules import rules_command
from layoutopt.commands.targets import targets_command
from layoutopt.errors import InputError, LayoutoptError, MissingProfileError
from layoutopt.runtime.process import kill_running


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="layoutopt")
def cli() -> None:
    """Whole-graph layout planning for models that IREE compiles."""


for _command in (
    optimize_command,
    compile_command,
    bench_command,
    profile_command,
    explain_command,
    targets_command,
    rules_command,
):
    cli.add_command(_command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every error is one line and a non-zero exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        cli.main(arguments, prog_name="layoutopt", standalone_mode=False)
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
        _fail("layoutopt: interrupted; what was measured is kept, run it again to go on", 130)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _fail(message: str, code: int) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(code)
