"""One clear line and a non-zero exit for each kind of bad input."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from layoutopt.cli.main import main
from layoutopt.profiles.target import target_text
from tests.models import CONVOLUTIONS
from tests.parameters import TIED, tied_parameters, write_archive


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


@pytest.mark.parametrize("option", ["-o", "--report", "--html", "--plan-out"])
def test_unwritable_output(capsys: pytest.CaptureFixture[str], model: Path, option: str) -> None:
    code, text = failure(capsys, "optimize", str(model), option, "/nowhere/out.mlir")
    assert (code, text) == (
        2,
        "/nowhere/out.mlir: expected a folder that can be written, but got "
        "no such file or directory; choose another output",
    )


def test_output_is_a_folder(
    capsys: pytest.CaptureFixture[str], model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "folder.mlir"
    folder.mkdir()
    code, text = failure(capsys, "optimize", str(model), "-o", str(folder))
    assert (code, text) == (
        2,
        f"{folder}: expected a file to write, but got a folder; name a file in it",
    )


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
    assert failure(capsys, "optimize", str(model), *arguments) == (2, text)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("luck", "layoutopt: expected a command, but got 'luck'; see `layoutopt --help`"),
        ("optimize", "layoutopt optimize: expected MODEL, but got none; "
         "see `layoutopt optimize --help`"),
        ("optimize a b", "layoutopt optimize: expected fitting arguments, but got unexpected "
         "extra argument (b); see `layoutopt optimize --help`"),
        ("optimize --thread=2 a", "layoutopt optimize: expected an option that it has, but got "
         "'--thread'; did you mean --threads?"),
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
    assert failure(capsys, *line.split()) == (2, text)


@pytest.mark.parametrize("words", [[], ["profile"]])
def test_nothing_to_do_prints_the_help(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    code, text = failure(capsys, *words)
    assert code == 2
    assert text.startswith("Usage: layoutopt ")
    assert "Commands:" in text


def test_the_version_names_the_compiler_too(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--version"])
    assert ", IREE 3.13" in capsys.readouterr().out


def test_bytecode_that_ends_early(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "model.mlirbc"
    path.write_bytes(b"ML\xefR\x0dMLIR\x00")
    code, text = failure(capsys, "optimize", str(path))
    assert code == 2
    assert text.startswith(f"{path}: expected MLIR that parses, but got ")
    assert "\n" not in text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\xff", "{}: expected text in UTF-8, but got byte 0 that is none; save it as UTF-8"),
        (b"x = [", "profile '{}': expected valid TOML, but got Invalid value (at end of "
         "document); correct the file"),
        (b"name = 'x'", "profile '{}': compile: expected a table, but got none; compare with "
         "`layoutopt targets --show mi355x`"),
        (b"x = " + b"[" * 100_000, "profile '{}': expected valid TOML, but got lists nested too "
         "deep; correct the file"),
    ],
)  # fmt: skip
def test_profiles_that_are_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, text: str
) -> None:
    path = tmp_path / "target.toml"
    path.write_bytes(content)
    assert failure(capsys, "targets", "--show", str(path)) == (2, text.format(path))


def test_a_flag_of_a_profile_is_true_or_false(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "target.toml"
    path.write_text(target_text("mi355x").replace("measurable = false", "measurable = 'no'"))
    code, text = failure(capsys, "targets", "--show", str(path))
    assert code == 2
    assert text.endswith(
        ": run.measurable: expected true or false, but got 'no'; compare with "
        "`layoutopt targets --show mi355x`"
    )


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
        "layoutopt: expected a file system that serves, but got no space left on device; "
        "make room, or check the path and its permissions\n",
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


@pytest.mark.parametrize(
    ("content", "got"),
    [
        ("{}", "Object missing required field `version`"),
        ('{"version": "1"}', "Expected `int`, got `str` - at `$.version`"),
        (
            '{"version": 2, "target": "", "objective": "latency", "functions": [1]}',
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
    code, text = failure(capsys, "optimize", str(model), "--plan", str(path))
    assert (code, text) == (
        2,
        f"{path}: expected a plan that `--plan-out` wrote, but got {got}; make the plan again",
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


@pytest.mark.parametrize("flags", ["3 : i32", "[3 : i32]", '["a"]', '["-a\\00"]', '["-\\FF"]'])
def test_compile_of_a_module_with_other_flags(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, flags: str
) -> None:
    module = tmp_path / "planned.mlir"
    module.write_text(f"module attributes {{layoutopt.compile_flags = {flags}}} {{}}")
    code, text = failure(capsys, "compile", str(module), "-o", str(tmp_path / "m.vmfb"))
    assert (code, text) == (
        2,
        f"{module}: expected a module with 'layoutopt.compile_flags', but got one that is no list "
        "of flags; give a module that `layoutopt optimize` wrote",
    )


def test_a_price_store_that_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    path.write_bytes(b"this is no database" * 100)
    code, text = failure(capsys, "profile", "show", "--cache", str(tmp_path))
    assert (code, text) == (
        2,
        f"{path}: expected a price store, but got file is not a database; move the file away to "
        "start anew",
    )


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


@pytest.fixture
def external(tmp_path: Path) -> Path:
    path = tmp_path / "external.mlir"
    path.write_text(TIED)
    return path


def test_parameters_that_are_not_given(capsys: pytest.CaptureFixture[str], external: Path) -> None:
    code, text = failure(capsys, "optimize", str(external))
    assert (code, text.splitlines()[-1]) == (
        2,
        f'{external}: expected a file for its parameters "model"::"embedding", ..., but got none; '
        "give it with --parameters model=FILE",
    )


def test_a_parameter_file_that_is_none(
    capsys: pytest.CaptureFixture[str], external: Path, tmp_path: Path
) -> None:
    file = tmp_path / "w.irpa"
    command = ("optimize", str(external), "--parameters", f"model={file}")
    code, text = failure(capsys, *command)
    assert (code, text.splitlines()[-1]) == (
        2,
        f"{file}: expected a parameter file, but got no such file; check the path",
    )
    file.write_bytes(b"hello")
    code, text = failure(capsys, *command)
    assert code == 2
    assert text.splitlines()[-1].startswith(
        f"{file}: expected a parameter file that IREE reads (.irpa, .safetensors, .gguf), but got "
    )


def test_a_scope_that_the_model_does_not_name(
    capsys: pytest.CaptureFixture[str], external: Path, tmp_path: Path
) -> None:
    file = write_archive(tmp_path / "w.irpa", tied_parameters())
    code, text = failure(capsys, "optimize", str(external), "--parameters", f"lora={file}")
    assert (code, text.splitlines()[-1]) == (
        2,
        f"{file}: expected a file of one of the scopes model, but got scope 'lora'; leave it out "
        "or correct the scope",
    )
    twice = ("--parameters", f"{file}", "--parameters", f"model={file}")
    code, text = failure(capsys, "optimize", str(external), *twice)
    assert (code, text.splitlines()[-1]) == (
        2,
        f"{file}: expected one file for scope 'model', but got two; merge the files into one",
    )


def test_packing_for_a_module_that_is_no_plan(
    capsys: pytest.CaptureFixture[str], external: Path, tmp_path: Path
) -> None:
    outputs = ("-o", str(tmp_path / "p.irpa"), "--module-out", str(tmp_path / "p.mlir"))
    code, text = failure(capsys, "pack-weights", str(external), "w.irpa", *outputs)
    assert (code, text) == (
        2,
        f"{external}: expected a module with 'layoutopt.compile_flags', but got none; give a "
        "module that `layoutopt optimize` wrote",
    )
    code, text = failure(capsys, "pack-weights", "gone.mlir", "w.irpa", *outputs)
    assert (code, text) == (
        2,
        "gone.mlir: expected a module that `layoutopt optimize` wrote, but got no such file; "
        "check the path",
    )


@pytest.mark.parametrize("option", ["-o", "--report", "--plan-out"])
def test_an_output_over_the_model(
    capsys: pytest.CaptureFixture[str], model: Path, option: str
) -> None:
    before = model.read_bytes()
    code, text = failure(capsys, "optimize", str(model), option, str(model))
    assert (code, text) == (
        2,
        f"{model}: expected another file than the one that is read, but got the same; rename it",
    )
    assert model.read_bytes() == before


def test_text_that_is_nested_too_deep(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "deep.mlir"
    path.write_text("func.func @f(%a: " + "tuple<" * 100_000 + ">" * 100_000 + ") { return }")
    code, text = failure(capsys, "optimize", str(path))
    assert (code, text) == (
        2,
        f"{path}: expected MLIR that parses, but got iree-opt crashed (SIGSEGV); correct the "
        "module, or convert it with a matching IREE version",
    )


@pytest.mark.parametrize(
    "transpose",
    [
        "linalg.transpose ins(%a : tensor<f32>) outs(%b : tensor<f32>) permutation = []",
        """"linalg.transpose"(%a, %b) <{permutation = array<i64>}> ({
          ^bb0(%x: f32, %y: f32):
            linalg.yield %x : f32
        }) : (tensor<f32>, tensor<f32>) -> tensor<f32>""",
    ],
)
def test_what_the_parser_crashes_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, transpose: str
) -> None:
    """A transpose of a tensor without dims, in IREE 3.13: a process of its own reads it."""
    path = tmp_path / "scalar.mlir"
    path.write_text(
        "func.func @f(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {\n"
        f"  %r = {transpose}\n  return %r : tensor<f32>\n}}\n"
    )
    code, text = failure(capsys, "optimize", str(path))
    assert (code, text) == (
        2,
        f"{path}: expected MLIR that parses, but got iree-opt crashed (SIGSEGV); correct the "
        "module, or convert it with a matching IREE version",
    )


def test_a_fault_of_our_own_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(name: str) -> None:
        raise KeyError(f"{name}\nof no kind")

    monkeypatch.setattr("layoutopt.cli.targets.load_target", fails)
    code, text = failure(capsys, "targets", "--show", "host")
    assert code == 70
    assert re.fullmatch(
        r"layoutopt: expected no error of its own, but got KeyError: 'host\\nof no kind' in "
        r"targets.py:\d+; report this as a bug with the command and its files; "
        r"LAYOUTOPT_TRACEBACK=1 shows where it was",
        text,
    )
    monkeypatch.setenv("LAYOUTOPT_TRACEBACK", "1")
    code, text = failure(capsys, "targets", "--show", "host")
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
    code, told = failure(capsys, "targets", "--show", "host")
    assert code == 1
    assert told == text or re.sub(r"\w+\.py:\d+", "test_cli.py:N", told) == text
