"""Plans, reports, modules and parameters that are invalid: one line each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.errors.failing import failure
from tests.parameters import TIED, tied_parameters, write_archive


@pytest.mark.parametrize(
    ("content", "got"),
    [
        ("{}", "Object missing required field `version`"),
        ('{"version": "1"}', "Expected `int`, got `str` - at `$.version`"),
        (
            '{"version": 3, "target": "", "objective": "latency", "functions": [1]}',
            "Expected `object`, got `int` - at `$.functions[0]`",
        ),
        ('{"x": ' * 100_000, "maximum recursion depth exceeded while deserializing an object"),
        ("", "Input data was truncated"),
    ],
)
def test_plan_that_is_none(
    capsys: pytest.CaptureFixture[str], model: Path, tmp_path: Path, content: str, got: str
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(content)
    text = failure(capsys, "optimize", str(model), "--plan", str(path))
    assert text == (
        f"{path}: expected a plan that `--plan-out` wrote, but got {got}; make the plan again"
    )


def test_compile_of_a_module_without_flags(
    capsys: pytest.CaptureFixture[str], model: Path, tmp_path: Path
) -> None:
    text = failure(capsys, "compile", str(model), "-o", str(tmp_path / "m.vmfb"))
    assert text == (
        f"{model}: expected a module with 'layoutopt.compile_flags', but "
        "got none; give a module that `layoutopt optimize` wrote"
    )


@pytest.mark.parametrize("flags", ["3 : i32", "[3 : i32]", '["a"]', '["-a\\00"]', '["-\\FF"]'])
def test_compile_of_a_module_with_other_flags(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, flags: str
) -> None:
    module = tmp_path / "planned.mlir"
    module.write_text(f"module attributes {{layoutopt.compile_flags = {flags}}} {{}}")
    text = failure(capsys, "compile", str(module), "-o", str(tmp_path / "m.vmfb"))
    assert text == (
        f"{module}: expected a module with 'layoutopt.compile_flags', but got one that is not a "
        "list of flags; give a module that `layoutopt optimize` wrote"
    )


def test_explain_of_no_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("[]")
    text = failure(capsys, "explain", str(path))
    assert text.startswith(f"{path}: expected a report that `--report` wrote, but got ")


@pytest.fixture
def external(tmp_path: Path) -> Path:
    path = tmp_path / "external.mlir"
    path.write_text(TIED)
    return path


def test_parameters_that_are_not_given(capsys: pytest.CaptureFixture[str], external: Path) -> None:
    text = failure(capsys, "optimize", str(external))
    assert text.splitlines()[-1] == (
        f'{external}: expected a file for its parameters "model"::"embedding", ..., but got none; '
        "give it with --parameters model=FILE"
    )


def test_a_parameter_file_that_is_none(
    capsys: pytest.CaptureFixture[str], external: Path, tmp_path: Path
) -> None:
    file = tmp_path / "w.irpa"
    command = ("optimize", str(external), "--parameters", f"model={file}")
    text = failure(capsys, *command)
    assert text.splitlines()[-1] == (
        f"{file}: expected a parameter file, but got no such file; check the path"
    )
    file.write_bytes(b"hello")
    text = failure(capsys, *command)
    assert text.splitlines()[-1].startswith(
        f"{file}: expected a parameter file that IREE reads (.irpa, .safetensors, .gguf), but got "
    )


def test_a_scope_that_the_model_does_not_name(
    capsys: pytest.CaptureFixture[str], external: Path, tmp_path: Path
) -> None:
    file = write_archive(tmp_path / "w.irpa", tied_parameters())
    text = failure(capsys, "optimize", str(external), "--parameters", f"lora={file}")
    assert text.splitlines()[-1] == (
        f"{file}: expected a file of one of the scopes model, but got scope 'lora'; leave it out "
        "or correct the scope"
    )
    twice = ("--parameters", f"{file}", "--parameters", f"model={file}")
    text = failure(capsys, "optimize", str(external), *twice)
    assert text.splitlines()[-1] == (
        f"{file}: expected one file for scope 'model', but got two; merge the files into one"
    )


def test_packing_for_a_module_that_is_no_plan(
    capsys: pytest.CaptureFixture[str], external: Path, tmp_path: Path
) -> None:
    outputs = ("-o", str(tmp_path / "p.irpa"), "--module-out", str(tmp_path / "p.mlir"))
    text = failure(capsys, "pack-weights", str(external), "w.irpa", *outputs)
    assert text == (
        f"{external}: expected a module with 'layoutopt.compile_flags', but got none; give a "
        "module that `layoutopt optimize` wrote"
    )
    text = failure(capsys, "pack-weights", "gone.mlir", "w.irpa", *outputs)
    assert text == (
        "gone.mlir: expected a module that `layoutopt optimize` wrote, but got no such file; "
        "check the path"
    )
