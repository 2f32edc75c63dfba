"""A fixed, small share of the mutated inputs; `python -m tests.mutated_inputs` runs any number."""

from __future__ import annotations

import os
import subprocess
import sys


def test_damaged_files_end_with_one_line() -> None:
    """In a process of its own: forks want one without threads."""
    command = [sys.executable, "-m", "tests.mutated_inputs", "--count=15", "--seed=3"]
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
