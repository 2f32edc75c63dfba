"""The first second of a command: what it imports, and Ctrl-C in the middle of that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from layoutopt.cli.catalogue import COMMANDS
from layoutopt.errors import INTERRUPTED

HEAVY = ("dask", "distributed", "iree", "networkx", "numpy", "onnx", "ortools")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.getcwd()}


def imported(*arguments: str) -> tuple[str, set[str]]:
    """What a command line prints, and the packages that it imports."""
    script = (
        "import sys\nfrom layoutopt.cli.main import main\ntry:\n    main()\n"
        "finally:\n    print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=True,
    )
    return run.stdout, set(run.stderr.split())


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("targets",)])
def test_light_commands_import_nothing_heavy(arguments: tuple[str, ...]) -> None:
    text, packages = imported(*arguments)
    assert text.strip()
    assert "click" in packages
    assert packages.isdisjoint(HEAVY)


def test_help_lists_every_command() -> None:
    text, _ = imported("--help")
    for name, purpose in COMMANDS.items():
        assert f"  {name}" in text
        assert purpose in " ".join(text.split())
    heavy, packages = imported("optimize", "--help")
    assert "MODEL" in heavy
    assert "iree" in packages


@pytest.mark.parametrize("command", [["optimize", "gone.mlir"], ["--help"], ["bench", "gone.mlir"]])
def test_an_interrupt_while_modules_are_imported(command: list[str]) -> None:
    """While layoutopt's own modules are read, and later while those of others are."""
    ended = {}
    for wait_s in (0.0, 0.03, 0.1, 0.3):
        running = subprocess.Popen(
            [sys.executable, "-v", "-m", "layoutopt", *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        assert running.stderr is not None
        for line in running.stderr:
            if line.startswith("import 'click'"):
                break
        time.sleep(wait_s)
        running.send_signal(signal.SIGINT)
        text = running.communicate(timeout=60)[1]
        assert "Traceback" not in text
        ended[wait_s] = running.returncode
        if running.returncode == 130:
            assert INTERRUPTED in text
        else:  # it was done already, or as good as done
            assert running.returncode in {0, 2, -signal.SIGINT}
    assert ended[0.0] == 130
