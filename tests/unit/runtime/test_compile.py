from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.compiler.installed import quirks
from layoutopt.runtime import compile as compile_module
from layoutopt.runtime.compile import Phase, compile_candidates, compile_file, compile_to
from layoutopt.runtime.outcome import Outcome
from layoutopt.runtime.reason import (
    errors_of_dumps,
    first_error,
    located_errors,
    runtime_reason,
)

FROM = ("--compile-from=input",)
OUTPUT = 'while [ "$1" != -o ]; do shift; done; '


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that does what the test writes into this file."""
    tool = tmp_path / "iree-compile"
    tool.touch(0o755)
    monkeypatch.setattr(compile_module, "find_tool", lambda name: str(tool))
    return tool


def run(tool: Path, script: str, timeout_s: float = 10.0) -> tuple[Outcome, str]:
    tool.write_text(f"#!/bin/sh\n{script}\n")
    output = tool.with_name("out.vmfb")
    outcome = compile_file(tool.with_name("in.mlir"), output, ("--flag",), timeout_s)
    assert outcome.ok == output.exists()
    assert outcome.ok == (outcome.outcome is Outcome.OK)
    assert list(tool.parent.glob("*.partial")) == []
    return outcome.outcome, outcome.reason


def test_success(fake: Path) -> None:
    assert run(fake, OUTPUT + 'echo module > "$2"') == (Outcome.OK, "")


def test_an_error_gives_its_first_line(fake: Path) -> None:
    script = """
    echo 'in.mlir:7:8: warning: this is odd' >&2
    echo 'in.mlir:7:8: error: expected 2 operands, but got 1' >&2
    echo 'in.mlir:9:8: error: another' >&2
    exit 1"""
    assert run(fake, script) == (Outcome.COMPILE_ERROR, "expected 2 operands, but got 1")


def test_an_error_leaves_no_half_written_output(fake: Path) -> None:
    reason = "iree-compile failed without an error message"
    assert run(fake, OUTPUT + 'echo half > "$2"; exit 1') == (Outcome.COMPILE_ERROR, reason)


def test_a_crash(fake: Path) -> None:
    script = OUTPUT + 'echo half > "$2"; kill -SEGV $$'
    assert run(fake, script) == (Outcome.COMPILE_CRASH, "iree-compile crashed (SIGSEGV)")


def test_a_crash_behind_the_python_wrapper(fake: Path) -> None:
    assert run(fake, "exit 250") == (Outcome.COMPILE_CRASH, "iree-compile crashed (SIGABRT)")


def test_a_hang(fake: Path) -> None:
    reason = "iree-compile did not finish within 0.2 s"
    assert run(fake, "sleep 60", 0.2) == (Outcome.COMPILE_TIMEOUT, reason)


def test_what_importers_have_made_compiles_without_their_ops(fake: Path, tmp_path: Path) -> None:
    """And where it fails so, with them: then it is told as it is."""
    calls = tmp_path / "calls"
    linalg = quirks().flags.linalg[0]
    fake.write_text(
        f'#!/bin/sh\necho "$*" >> {calls}\ncase "$*" in *bad*{linalg}*) exit 1;; esac\n'
        f'{OUTPUT}echo module > "$2"'
    )
    output = tmp_path / "out.vmfb"
    for source, flags in (("good", FROM), ("good", ()), ("bad", FROM)):
        calls.unlink(missing_ok=True)
        assert compile_file(tmp_path / source, output, flags, 10.0).ok
        told = [linalg in line for line in calls.read_text().splitlines()]
        assert told == ([True, False] if source == "bad" else [bool(flags)])
    calls.unlink()
    assert compile_candidates(tmp_path / "bad", output, FROM, 10.0).outcome is Outcome.COMPILE_ERROR
    assert len(calls.read_text().splitlines()) == 1


def test_compile_to_a_phase(fake: Path) -> None:
    fake.write_text('#!/bin/sh\ncase "$*" in *--compile-to=flow*) ' + OUTPUT + 'echo > "$2";; esac')
    output = fake.with_name("flow.mlir")
    assert compile_to(fake, Phase.FLOW, output, (), 10.0).ok
    assert output.exists()


def test_lines_of_errors() -> None:
    text = """
    a/b.mlir:12:3: error: x
    b:3:4: note: y
    <unknown>:0: error: z
    b.mlir:4:1: error: w
    b.mlir:12:9: error: what came of x
    """
    assert located_errors(text) == {4: "w", 12: "x"}
    assert located_errors("error: no location") == {}


def test_errors_of_dumped_kernels_are_not_lines_of_the_source() -> None:
    text = """
    /elsewhere/dumps/module_c5_dispatch_0.mlir:8:6: error: x
    /elsewhere/dumps/module_c5_dispatch_0.mlir:2:2: error: what came of x
    /elsewhere/module.mlir:12:3: error: y
    """
    dumps = Path("/elsewhere/dumps")
    assert located_errors(text, dumps) == {12: "y"}
    assert errors_of_dumps(text, dumps) == {"module_c5_dispatch_0": "x"}


def test_an_output_without_an_error_line() -> None:
    assert first_error("something\n\nlast words\n") == "last words"
    assert first_error("") == ""


def test_reasons_of_the_runtime_do_not_show_its_sources() -> None:
    error = RuntimeError(
        "Error invoking: c/runtime/src/x.c:103: INVALID_ARGUMENT; mismatch\n  at\n"
    )
    assert runtime_reason(error) == "Error invoking: INVALID_ARGUMENT; mismatch"
    assert runtime_reason(ValueError()) == "ValueError"
