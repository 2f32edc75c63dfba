"""One clear line and a non-zero exit for each kind of bad input."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from layoutopt.cli import main
from tests.models import CONVOLUTIONS


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and standard error of one command line."""
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert isinstance(stop.value.code, int)
    return stop.value.code, capsys.readouterr().err.strip()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(CONVOLUTIONS)
    return path


def test_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = failure(capsys, "optimize", "gone.mlir")
    assert (code, text) == (
        2,
        "gone.mlir: expected a model file, but got no such file; check the path",
    )


def test_unknown_suffix(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    path.write_text("x")
    code, text = failure(capsys, "optimize", str(path))
    assert (code, text) == (
        2,
        f"{path}: expected a file that ends in .mlir, .mlirbc, .onnx, but "
        "got '.txt'; export the model to ONNX or MLIR",
    )


def test_not_mlir(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_bytes(b"\x7fELF\x02\x01\x01")
    code, text = failure(capsys, "optimize", str(path))
    assert code == 2
    assert text.startswith(f"{path}:1:1: expected MLIR that parses, but got ")
    assert "\n" not in text


def test_syntax_error_has_line_and_column(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "model.mlir"
    path.write_text("func.func @f() {\n  %a = foo.bar\n  return\n}\n")
    code, text = failure(capsys, "optimize", str(path))
    assert code == 2
    assert text == (
        f"{path}:2:8: expected MLIR that parses, but got Dialect `foo' not found for "
        "custom op 'foo.bar'; correct the module, or convert it with a matching IREE "
        "version"
    )


def test_no_function(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text("module {}\n")
    code, text = failure(capsys, "optimize", str(path))
    assert (code, text) == (
        2,
        f"{path}: expected a module with at least one function, but got "
        "none; give the module that holds the model's functions",
    )


def test_unknown_profile_names_the_known_ones(
    capsys: pytest.CaptureFixture[str], model: Path
) -> None:
    code, text = failure(capsys, "optimize", str(model), "--profile=toaster")
    assert code == 2
    assert text.startswith("profile 'toaster': expected one of ")
    assert "host" in text
    assert "mi355x" in text


def test_onnx_without_the_extra(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, text = failure(capsys, "optimize", str(path))
    assert (code, text) == (
        2,
        f"{path}: expected the package 'onnx' to read ONNX files, but got "
        "none installed; run `pip install 'layoutopt[onnx]'`",
    )


@pytest.mark.parametrize("option", ["-o", "--report", "--plan-out"])
def test_unwritable_output(capsys: pytest.CaptureFixture[str], model: Path, option: str) -> None:
    code, text = failure(capsys, "optimize", str(model), option, "/nowhere/out")
    assert (code, text) == (
        2,
        "/nowhere/out: expected a folder that can be written, but got "
        f"{os.strerror(2)}; choose another output",
    )


def test_output_is_a_folder(
    capsys: pytest.CaptureFixture[str], model: Path, tmp_path: Path
) -> None:
    code, text = failure(capsys, "optimize", str(model), "-o", str(tmp_path))
    assert (code, text) == (
        2,
        f"{tmp_path}: expected a file to write, but got a folder; name a file in it",
    )


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--threads=0", "--threads: expected a whole number of at least 1, but got '0'"),
        ("--threads=two", "--threads: expected a whole number of at least 1, but got 'two'"),
        ("--time-limit=nan", "--time-limit: expected a number of at least 0.1, but got 'nan'"),
        ("--tolerance=-1", "--tolerance: expected a number of at least 0, but got '-1'"),
        ("--search=luck", "--search: expected one of ilp, greedy, taso, but got 'luck'"),
    ],
)
def test_a_value_that_an_option_does_not_take(
    capsys: pytest.CaptureFixture[str], option: str, text: str
) -> None:
    code, message = failure(capsys, "optimize", "x.mlir", option)
    assert (code, message) == (2, f"{text}; see `layoutopt optimize --help`")


def test_plan_that_is_none(capsys: pytest.CaptureFixture[str], model: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("{}")
    code, text = failure(capsys, "optimize", str(model), "--plan", str(path))
    assert (code, text) == (
        2,
        f"{path}: expected a plan that `--plan-out` wrote, but got "
        "KeyError('version'); make the plan again",
    )


def test_compile_of_a_module_without_flags(
    capsys: pytest.CaptureFixture[str], model: Path, tmp_path: Path
) -> None:
    code, text = failure(capsys, "compile", str(model), "-o", str(tmp_path / "m.vmfb"))
    assert (code, text) == (
        2,
        f"{model}: expected a module with 'layoutopt.compile_flags', but "
        "got none; give a module that `layoutopt optimize` wrote",
    )


def test_corrupt_price_store(
    capsys: pytest.CaptureFixture[str], model: Path, tmp_path: Path
) -> None:
    (tmp_path / "prices.sqlite").write_bytes(b"this is no database" * 100)
    code, text = failure(capsys, "optimize", str(model), "--cache", str(tmp_path))
    assert code == 2
    assert "\n" not in text.splitlines()[-1]
    assert str(tmp_path / "prices.sqlite") in text


def test_unknown_peer(capsys: pytest.CaptureFixture[str], model: Path) -> None:
    code, text = failure(capsys, "bench", str(model), "--peers=abacus")
    assert (code, text) == (
        2,
        "--peers: expected names among onnxruntime, openvino, but got 'abacus'; leave it out",
    )


def test_explain_of_no_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("[]")
    code, text = failure(capsys, "explain", str(path))
    assert code == 2
    assert text.startswith(f"{path}: expected a report that `--report` wrote, but got ")
