"""Run a command that fails."""

from __future__ import annotations

import pytest

from layoutopt.cli.main import main


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and standard error of one command line."""
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert isinstance(stop.value.code, int)
    return stop.value.code, capsys.readouterr().err.strip()
