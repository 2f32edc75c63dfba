"""The command line."""

from __future__ import annotations

import gc
import io
import logging
import os
import signal
import sys
import traceback
from importlib.metadata import PackageNotFoundError, version
from types import FrameType
from typing import NoReturn

import click

from layoutopt.cli.catalogue import Catalogue
from layoutopt.cli.interrupt import INTERRUPTED_CODE
from layoutopt.cli.unexpected import UNEXPECTED_CODE, shows_traceback, unexpected
from layoutopt.cli.usage import usage_error
from layoutopt.errors import INTERRUPTED, InputError, LayoutoptError, MissingProfileError, why
from layoutopt.runtime.process import kill_running

_GARBAGE_THRESHOLD = 200_000
"""New objects between collections. A plan is many small values that live to its end, hardly one of
them in a cycle: with Python's 700, looking through them takes a fifth of a warm run."""

_ROOM = "make room, or check the path and its permissions"


def _version() -> str:
    """layoutopt's version and that of the compiler that it measures with."""
    try:
        mine = version("layoutopt")
    except PackageNotFoundError:
        mine = "(run from its source)"
    return f"layoutopt {mine}, IREE {version('iree-base-compiler')}"


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        click.echo(_version())
        ctx.exit()


@click.group(
    cls=Catalogue,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """Whole-graph layout planning for models that IREE compiles."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every error is one line and a non-zero exit code."""
    gc.set_threshold(_GARBAGE_THRESHOLD)
    signal.signal(signal.SIGTERM, _terminate)
    _show_anything()
    try:
        cli.main(arguments, prog_name="layoutopt", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        _fail(error.format_message(), 2)
    except click.UsageError as error:
        _fail(str(usage_error(error)), 2)
    except (InputError, MissingProfileError) as error:
        _fail(str(error), 2)
    except LayoutoptError as error:
        _fail(str(error), 1)
    except (KeyboardInterrupt, click.Abort):
        kill_running()
        _fail(INTERRUPTED, INTERRUPTED_CODE)
    except BrokenPipeError:  # the reader of the output closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        where = error.filename or "layoutopt"
        _fail(
            str(InputError(str(where), "a readable and writable file system", why(error), _ROOM)), 1
        )
    except (MemoryError, RecursionError) as error:
        kill_running()
        _fail(str(unexpected(error)), 1)
    except Exception as error:
        kill_running()
        if shows_traceback():
            traceback.print_exc()
        _fail(str(unexpected(error)), UNEXPECTED_CODE)


def _show_anything() -> None:
    """Notes go to stderr; names that a terminal has no characters for are spelled in others."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    notes = logging.getLogger("layoutopt")
    if not notes.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("layoutopt: note: %(message)s"))
        notes.addHandler(handler)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _fail(message: str, code: int) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(code)
