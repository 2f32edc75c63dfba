"""Run the IR tests of this folder, so that one command runs everything."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_lit() -> None:
    lit = Path(sys.executable).with_name("lit")
    run = subprocess.run(
        [sys.executable, lit, "-v", HERE], capture_output=True, text=True, timeout=600, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
