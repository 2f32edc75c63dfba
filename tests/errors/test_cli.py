"""Command lines that do not fit, and faults behind them: one line each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layoutopt.cli.main import main
from tests.errors.failing import failure


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("luck", "layoutopt: expected a command, but got 'luck'; see `layoutopt --help`"),
        ("optimize", "layoutopt optimize: expected MODEL, but got none; "
         "see `layoutopt optimize --help`"),
        ("optimize a b", "layoutopt optimize: expected fitting arguments, but got unexpected "
         "extra argument (b); see `layoutopt optimize --help`"),
        ("optimize --thread=2 a", "layoutopt optimize: expected an option that it has, but got "
         "'--thread'; did you mean --threads, --trade-off?"),
        ("optimize --threads", "--threads: expected a value, but got none; "
         "see `layoutopt --help`"),
        ("compile a", "layoutopt compile: expected -o, but got none; "
         "see `layoutopt compile --help`"),
        ("profile a.mlir --scheduler=here", "a.mlir: expected a model file, but got no such file; "
         "check the path"),
        ("explain .", ".: expected a report or plan file, but got a folder; name a file in it"),
        ("optimize /", "/: expected a model file, but got a folder; name a file in it"),
    ],
)  # fmt: skip
def test_command_lines_that_do_not_fit(
    capsys: pytest.CaptureFixture[str], line: str, text: str
) -> None:
    assert failure(capsys, *line.split()) == text


@pytest.mark.parametrize("words", [[], ["profile"]])
def test_nothing_to_do_prints_the_help(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    text = failure(capsys, *words)
    assert text.startswith("Usage: layoutopt ")
    assert "Commands:" in text


def test_the_version_names_the_compiler_too(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--version"])
    assert ", IREE 3.13" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--threads=0", "--threads: expected a whole number of at least 1, or 'all', but got '0'"),
        (
            "--threads=two",
            "--threads: expected a whole number of at least 1, or 'all', but got 'two'",
        ),
        ("--time-limit=nan", "--time-limit: expected a number of at least 0.1, but got 'nan'"),
        ("--tolerance=-1", "--tolerance: expected a number of at least 0, but got '-1'"),
        ("--search=luck", "--search: expected one of ilp, greedy, taso, pbqp, but got 'luck'"),
    ],
)
def test_a_value_that_an_option_does_not_take(
    capsys: pytest.CaptureFixture[str], option: str, text: str
) -> None:
    message = failure(capsys, "optimize", "x.mlir", option)
    assert message == f"{text}; see `layoutopt optimize --help`"


def test_unknown_peer(capsys: pytest.CaptureFixture[str], model: Path) -> None:
    text = failure(capsys, "bench", str(model), "--peers=abacus")
    assert text == (
        "--peers: expected names among onnxruntime, openvino, but got 'abacus'; leave it out"
    )


def test_a_fault_of_our_own_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(name: str) -> None:
        raise KeyError(f"{name}\nof no kind")

    monkeypatch.setattr("layoutopt.cli.targets.load_target", fails)
    text = failure(capsys, "targets", "--show", "host", code=70)
    assert re.fullmatch(
        r"layoutopt: expected no error of its own, but got KeyError: 'host\\nof no kind' in "
        r"targets.py:\d+; report this as a bug with the command and its files; "
        r"LAYOUTOPT_TRACEBACK=1 shows where it was",
        text,
    )
    monkeypatch.setenv("LAYOUTOPT_TRACEBACK", "1")
    text = failure(capsys, "targets", "--show", "host", code=70)
    assert text.startswith("Traceback (most recent call last):")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (MemoryError(), "layoutopt: expected enough memory, but got none left; end other programs, "
         "or plan a smaller model"),
        (RecursionError(), "test_cli.py:N: expected input of a depth that Python follows, but got "
         "a deeper one; simplify what is nested"),
    ],
)  # fmt: skip
def test_what_a_machine_cannot_do(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    text: str,
) -> None:
    def fails(name: str) -> None:
        raise error

    monkeypatch.setattr("layoutopt.cli.targets.load_target", fails)
    told = failure(capsys, "targets", "--show", "host", code=1)
    assert told == text or re.sub(r"\w+\.py:\d+", "test_cli.py:N", told) == text
