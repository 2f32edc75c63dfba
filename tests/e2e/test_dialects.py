"""Models in other dialects than linalg, with parts that no plan reaches."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutopt
from layoutopt.frontend.converted import ConvertedModels
from layoutopt.frontend.source import open_source
from layoutopt.ir.graph import kind_name
from layoutopt.mlir.module import parse_module
from tests.dialects import STABLEHLO_FUNCTIONS, STABLEHLO_GATHER, TORCH, TOSA, VHLO


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (STABLEHLO_GATHER, ["gather", "contraction"]),
        (VHLO, ["contraction", "elementwise"]),
        (TORCH, ["contraction", "elementwise"]),
        (TOSA, ["convolution"]),
    ],
    ids=["stablehlo", "vhlo", "torch", "tosa"],
)
@pytest.mark.parametrize("suffix", [".mlir", ".mlirbc"])
def test_other_dialects_become_linalg(
    tmp_path: Path, text: str, kinds: list[str], suffix: str
) -> None:
    path = tmp_path / f"model{suffix}"
    write_model(path, text)
    source, module = open_source(path, tmp_path, (), 60.0, ConvertedModels(tmp_path / "cache"))
    assert source.from_input_phase
    ops = [op for graph in module.graphs for op in graph.ops]
    found = [kind_name(op) for op in ops]
    assert [kind for kind in found if kind in kinds] == kinds


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> layoutopt.Plan:
    folder = tmp_path_factory.mktemp("dialects")
    (folder / "model.mlir").write_text(STABLEHLO_FUNCTIONS)
    options = layoutopt.Options(cache=folder / "cache", effort=layoutopt.Effort.QUICK)
    return layoutopt.optimize(folder / "model.mlir", options=options)


def test_each_function_is_planned_and_verified(plan: layoutopt.Plan) -> None:
    report = plan.report
    assert report.verification is not None
    assert report.verification.passed
    assert report.verification.unverified == ()
    assert {c.function for c in report.choices} == {
        "contracted",
        "looped",
        "looped/for.0",
        "dynamic",
    }


def test_what_no_plan_reaches_is_reported(plan: layoutopt.Plan) -> None:
    reasons = {(b.function, b.op): b.reason for b in plan.report.barriers}
    assert reasons[("looped", "scf.for")] == (
        "expected straight-line code, but got control flow: its blocks are planned alone"
    )
    assert {function for function, _ in reasons} == {"looped"}


def test_the_result_has_all_functions(plan: layoutopt.Plan, tmp_path: Path) -> None:
    plan.apply(tmp_path / "out.mlir")
    assert parse_module(tmp_path / "out.mlir").names == (
        "contracted",
        "looped",
        "looped/for.0",
        "dynamic",
    )


def test_a_function_that_branches_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(
        "func.func @main(%x: tensor<4xf32>, %p: i1) -> tensor<4xf32> {\n"
        "  cf.cond_br %p, ^bb1, ^bb2\n"
        "^bb1:\n  return %x : tensor<4xf32>\n"
        "^bb2:\n  %y = arith.negf %x : tensor<4xf32>\n  return %y : tensor<4xf32>\n}\n"
    )
    report = layoutopt.optimize(path, options=layoutopt.Options(cache=tmp_path)).report
    assert [(b.op, b.reason) for b in report.barriers] == [
        ("arith.negf", "expected an op of linalg or tensor, but got one that is not known here"),
        ("main", "expected a function of one block, but got 3: each is planned alone"),
    ]
    assert report.choices == ()


def write_model(path: Path, text: str) -> None:
    """The text itself, or as bytecode."""
    if path.suffix == ".mlir":
        path.write_text(text)
        return
    from iree.compiler import ir  # noqa: PLC0415  (the product reaches it by layoutopt.mlir alone)

    context = ir.Context()
    context.allow_unregistered_dialects = True
    with path.open("wb") as file:
        ir.Module.parse(text, context).operation.write_bytecode(file)


@pytest.mark.long
def test_a_model_in_tosa_is_planned_and_keeps_its_names(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(TOSA)
    options = layoutopt.Options(cache=tmp_path / "cache")
    plan = layoutopt.optimize(tmp_path / "model.mlir", options=options)
    assert plan.report.barriers == ()
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    plan.apply(tmp_path / "out.mlir")
    text = (tmp_path / "out.mlir").read_text()
    assert all(f'tf.name = "{name}"' in text for name in ("image", "features"))
