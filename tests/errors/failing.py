"""Run a command that fails."""

from __future__ import annotations

import pytest

from layoutopt.cli.main import main


def failure(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    """Standard error of one command line that ends with this exit code."""
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert stop.value.code == code
    return capsys.readouterr().err.strip()
