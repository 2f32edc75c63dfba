"""An output that cannot be written, or must not be: one line each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.errors.failing import failure


@pytest.mark.parametrize("option", ["-o", "--report", "--html", "--plan-out"])
def test_unwritable_output(capsys: pytest.CaptureFixture[str], model: Path, option: str) -> None:
    text = failure(capsys, "optimize", str(model), option, "/nowhere/out.mlir")
    assert text == (
        "/nowhere/out.mlir: expected a folder that can be written, but got "
        "no such file or directory; choose another output"
    )


def test_output_is_a_folder(
    capsys: pytest.CaptureFixture[str], model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "folder.mlir"
    folder.mkdir()
    text = failure(capsys, "optimize", str(model), "-o", str(folder))
    assert text == f"{folder}: expected a file to write, but got a folder; name a file in it"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["-o", "out.onnx"], "out.onnx: expected an output that ends in .mlir or .mlirbc, but got "
         "'.onnx'; choose another output"),
        (["--report", "/dev/null"], "/dev/null: expected a file to write, but got a device or "
         "pipe; choose another output"),
        (["-o", "no/../a.mlir"], "no/../a.mlir: expected a folder that can be written, but got no "
         "such file or directory; choose another output"),
        (["--report", "a", "--html", "a"], "a: expected one output to a file, but got two; "
         "choose another output"),
    ],
)  # fmt: skip
def test_outputs_that_would_do_harm(
    capsys: pytest.CaptureFixture[str], model: Path, arguments: list[str], text: str
) -> None:
    assert failure(capsys, "optimize", str(model), *arguments) == text


def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "layoutopt", "rules"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.getcwd()},
        )
    assert (run.returncode, run.stderr) == (
        1,
        "layoutopt: expected a readable and writable file system, but got no space left on device; "
        "make room, or check the path and its permissions\n",
    )


@pytest.mark.parametrize("option", ["-o", "--report", "--plan-out"])
def test_an_output_over_the_model(
    capsys: pytest.CaptureFixture[str], model: Path, option: str
) -> None:
    before = model.read_bytes()
    text = failure(capsys, "optimize", str(model), option, str(model))
    assert text == (
        f"{model}: expected another file than the one that is read, but got the same; rename it"
    )
    assert model.read_bytes() == before
