"""What is verified, against what, and what is said where it is not: whole runs on small models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import layoutopt
from layoutopt.candidates.explore import explore
from layoutopt.cli.main import main
from layoutopt.ir.lowered import Lowered
from layoutopt.ir.named import is_mmt4d
from layoutopt.mlir.module import Module, parse_module
from layoutopt.options import Effort, Objective
from layoutopt.pricing.prices import Work
from layoutopt.profiles.target import load_target
from layoutopt.report.headline import headline
from layoutopt.runtime.behind import Behind
from layoutopt.runtime.compile import compile_file
from layoutopt.verification import ahead
from layoutopt.verification.whole_model import Comparison
from tests.made_up_prices import MadeUpPrices, structured

HEAD = """
#id = affine_map<(d0, d1) -> (d0, d1)>
"""
MATMUL = """
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %m = linalg.matmul ins(%x, %w : tensor<16x24xf32>, tensor<24x16xf32>)
      outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
"""
SCALARS = f"""{HEAD}
func.func @main(%x: tensor<16x24xf32>, %w: tensor<24x16xf32>, %k: f32, %n: i32, %i: index)
    -> (tensor<16x16xf32>, f32, i32) {{{MATMUL}
  %r = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%m : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {{
  ^bb0(%a: f32, %o: f32):
    %q = arith.addf %a, %k : f32
    linalg.yield %q : f32
  }} -> tensor<16x16xf32>
  return %r, %k, %n : tensor<16x16xf32>, f32, i32
}}
"""
DYNAMIC = f"""{HEAD}
func.func @main(%x: tensor<16x24xf32>, %w: tensor<24x16xf32>, %d: tensor<?x4xf32>)
    -> (tensor<16x16xf32>, tensor<?x4xf32>) {{{MATMUL}
  %c0 = arith.constant 0 : index
  %s = tensor.dim %d, %c0 : tensor<?x4xf32>
  %g = tensor.empty(%s) : tensor<?x4xf32>
  %r = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%d : tensor<?x4xf32>) outs(%g : tensor<?x4xf32>) {{
  ^bb0(%a: f32, %o: f32):
    %q = arith.addf %a, %a : f32
    linalg.yield %q : f32
  }} -> tensor<?x4xf32>
  return %m, %r : tensor<16x16xf32>, tensor<?x4xf32>
}}
"""
LIST = f"""
func.func @takes_a_list(%x: tensor<16x24xf32>, %w: tensor<24x16xf32>, %l: !util.list<i32>)
    -> tensor<16x16xf32> {{{MATMUL}
  return %m : tensor<16x16xf32>
}}
func.func @main(%x: tensor<16x24xf32>, %w: tensor<24x16xf32>) -> tensor<16x16xf32> {{{MATMUL}
  return %m : tensor<16x16xf32>
}}
"""
PLAIN = f"""
func.func @main(%x: tensor<16x24xf32>, %w: tensor<24x16xf32>) -> tensor<16x16xf32> {{{MATMUL}
  return %m : tensor<16x16xf32>
}}
"""
REFUSED_OUTS = """
#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d1)>
func.func @main(%x: tensor<4x8xi32>) -> tensor<8xi32> {
  %c = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi32>
  %r = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<4x8xi32>) outs(%c : tensor<8xi32>) {
  ^bb0(%a: i32, %o: i32):
    %s = arith.addi %a, %o : i32
    linalg.yield %s : i32
  } -> tensor<8xi32>
  return %r : tensor<8xi32>
}
"""
REFUSED = f"""{HEAD}
func.func @main(%x: tensor<16x24xf32>, %w: tensor<24x16xf32>) -> tensor<16x16xf32> {{{MATMUL}
  %r = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%m : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {{
  ^bb0(%a: f32, %o: f32):
    %q = math.erfc %a : f32
    linalg.yield %q : f32
  }} -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}}
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def optimized(folder: Path, cache: Path, text: str, **options: object) -> layoutopt.Plan:
    model = folder / "model.mlir"
    model.write_text(text)
    chosen = layoutopt.Options(cache=cache, effort=Effort.QUICK, **options)  # type: ignore[arg-type]
    return layoutopt.optimize(model, options=chosen)


@pytest.mark.parametrize("text", [SCALARS, DYNAMIC], ids=["scalars", "dynamic"])
def test_scalars_and_dynamic_sizes_are_verified(tmp_path: Path, cache: Path, text: str) -> None:
    report = optimized(tmp_path, cache, text).report
    assert report.verification is not None
    assert report.verification.compared == ("main",)
    assert report.verification.unverified == ()
    assert report.verification.reference == "IREE on the original"
    assert report.after.measured_ms is not None


@pytest.mark.parametrize("text", [SCALARS, DYNAMIC, PLAIN], ids=["scalars", "dynamic", "plain"])
def test_a_plan_that_computes_something_else_is_not_written(
    tmp_path: Path, cache: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planned product starts from another number."""
    replace = Module.replace

    def wrong(module: Module, function: int, lowered: Lowered, *shared: Any) -> None:
        replace(module, function, lowered, *shared)
        text = str(module.operation)
        assert " 0.000000e+00 : f32" in text
        (tmp_path / "wrong.mlir").write_text(text.replace(" 0.000000e+00 :", " 1.000000e+00 :"))
        operation = parse_module(tmp_path / "wrong.mlir").operation
        object.__setattr__(module, "operation", operation)

    monkeypatch.setattr(Module, "replace", wrong)
    plan = optimized(tmp_path, cache, text)
    report = plan.report
    assert report.winner in {row.name for row in report.flag_sets} - {"layoutopt"}
    assert "no plan could be used: it gives other results: " in headline(report)
    assert report.verification is not None
    assert not report.verification.passed
    plan.apply(tmp_path / "kept.mlir")
    assert " 1.000000e+00 : f32" not in (tmp_path / "kept.mlir").read_text()


def test_what_is_data_tiled_and_wrong_inside_a_model_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IREE 3.13 tiles some batch_matmul of open sizes right alone, and wrong in a model."""
    replace = Module.replace
    written: list[bool] = []

    def wrong(module: Module, function: int, lowered: Lowered, *shared: Any) -> None:
        replace(module, function, lowered, *shared)
        text = str(module.operation)
        written.append("iree.opt.data_tiling" in text)
        if written[-1]:
            assert " 0.000000e+00 : f32" in text
            (tmp_path / "wrong.mlir").write_text(text.replace(" 0.000000e+00 :", " 1.000000e+00 :"))
            operation = parse_module(tmp_path / "wrong.mlir").operation
            object.__setattr__(module, "operation", operation)

    monkeypatch.setattr(Module, "replace", wrong)
    (tmp_path / "model.mlir").write_text(PLAIN)
    (flag,) = load_target("host").data_tiling_flags
    pricer = MadeUpPrices(lambda work: 10**4 if flag in work.benchmark.flags else 10**6)
    options = layoutopt.Options(cache=tmp_path / "cache")
    report = layoutopt.optimize(tmp_path / "model.mlir", options=options, pricer=pricer).report
    assert written == [True, False]
    assert report.kept_for == ""
    assert report.verification is not None
    assert report.verification.passed
    assert "it compiles and is right alone, but not inside the model" in {
        refusal.reason for refusal in report.refusals
    }


def test_a_function_that_cannot_be_called_is_named_in_the_first_line(
    tmp_path: Path,
    cache: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Comparison, "winner", property(lambda held: "layoutopt"))
    (tmp_path / "model.mlir").write_text(LIST)
    arguments = ["--cache", str(cache), "--report", str(tmp_path / "report.json")]
    main(["optimize", str(tmp_path / "model.mlir"), *arguments])
    first = " ".join(capsys.readouterr().out.split())
    assert "NOT VERIFIED: takes_a_list (it takes !util.list<i32>, which no value can be" in first
    found = json.loads((tmp_path / "report.json").read_text())["verification"]
    reason = "it takes !util.list<i32>, which no value can be made up for"
    assert found["unverified"] == [["takes_a_list", reason]]
    assert found["compared"] == ["main"]


def test_the_module_as_written_is_run_on_packed_inputs(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []

    def noted(
        source: Path,
        output: Path,
        flags: tuple[str, ...],
        limit_s: float,
        behind: Behind | None,
    ) -> object:
        compiled.append(source.read_bytes().hex())
        return compile_file(source, output, flags, limit_s, behind)

    monkeypatch.setattr(ahead, "compile_file", noted)
    plan = optimized(
        tmp_path,
        cache,
        PLAIN,
        free_io_layout=True,
        objective=Objective.CONVERSIONS,
        remember=False,
    )
    layouts = {row.layout for row in plan.report.io_layouts}
    assert layouts != {"row-major"}
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    plan.apply(tmp_path / "out.mlirbc")
    assert (tmp_path / "out.mlirbc").read_bytes().hex() in compiled


def test_the_model_is_compiled_while_candidates_are_enumerated(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def explored(*given: object, **options: object) -> object:
        order.append("enumerated")
        return explore(*given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(ahead.CompiledAhead, "start", lambda _: order.append("compiled"))
    monkeypatch.setattr("layoutopt.planning.explored.explore", explored)
    optimized(tmp_path, cache, PLAIN)
    assert order[:2] == ["compiled", "enumerated"]


def test_a_model_that_iree_refuses_is_planned_without_what_it_refused(
    tmp_path: Path, cache: Path
) -> None:
    model = tmp_path / "model.mlir"
    model.write_text(REFUSED_OUTS)
    options = layoutopt.Options(cache=cache)
    few_ops = MadeUpPrices(lambda work: 1000 * len(work.form.graph.ops))  # as the model came
    report = layoutopt.optimize(model, options=options, pricer=few_ops).report
    assert report.verification is not None
    assert report.verification.passed
    assert report.verification.reference == "the NumPy oracle on the original"
    assert "write affecting operations" in report.verification.reference_reason
    assert report.winner == "layoutopt"


def test_tiles_of_a_gpu_are_computed_right_on_this_cpu(tmp_path: Path, cache: Path) -> None:
    """IREE has no microkernel for them here, and gets them wrong unless it is told to use none."""
    model = tmp_path / "model.mlir"
    model.write_text(PLAIN.replace("16x", "48x").replace("x16x", "x48x"))
    options = layoutopt.Options(cache=cache)

    def over_tiles(work: Work) -> int:
        plain = (op for op in structured(work) if op.is_contraction and not is_mmt4d(op))
        return 10**9 if any(plain) else 1

    prices = MadeUpPrices(over_tiles)
    report = layoutopt.optimize(model, profile="mi355x", options=options, pricer=prices).report
    assert [choice.form for choice in report.choices] == ["packed"]
    assert report.verification is not None
    assert report.verification.passed
    assert (report.winner, report.kept_for) == ("layoutopt", "")


def test_a_model_that_iree_refuses_with_every_plan_is_said_to_be_so(
    tmp_path: Path, cache: Path
) -> None:
    with pytest.raises(layoutopt.InputError) as caught:
        optimized(tmp_path, cache, REFUSED)
    text = str(caught.value)
    assert text.startswith(f"{tmp_path}/model.mlir: expected a model that IREE compiles, but got '")
    assert "math.erfc" in text
    assert text.endswith(
        "' from iree-compile on the model as it came; change what it names, or report it to IREE: "
        "no plan was made"
    )


def test_a_plan_for_a_target_that_is_not_here_is_checked_on_this_cpu(
    tmp_path: Path, cache: Path
) -> None:
    model = tmp_path / "model.mlir"
    model.write_text(PLAIN)
    options = layoutopt.Options(cache=cache)
    found = layoutopt.optimize(model, profile="mi355x", options=options).report.verification
    assert found is not None
    assert (found.passed, found.compared) == (True, ("main",))
    assert found.place == "on this machine's CPU, not on the target"
    options = layoutopt.Options(cache=cache, verify=False)
    found = layoutopt.optimize(model, profile="mi355x", options=options).report.verification
    assert found is not None
    assert found.unverified == (("main", "--no-verify was given"),)


def test_nothing_to_plan_is_no_plan(tmp_path: Path, cache: Path) -> None:
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    report = optimized(tmp_path, cache, text).report
    assert report.winner == "unchanged"
    assert report.verification is None
