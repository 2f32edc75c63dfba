"""Models of sizes that are known at run time only: planned, written, compiled, compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import layoutopt
from layoutopt.cli.main import main
from layoutopt.options import Effort, Objective, PlannedSize
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import run_model
from tests.parameters import FLAGS

ATTENTION = """
#id = affine_map<(b, m, n) -> (b, m, n)>
#row = affine_map<(b, m, n) -> (b, m)>
func.func @main(%x: tensor<?x32xf32>, %q: tensor<32x32xf32>, %k: tensor<32x32xf32>)
    -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %s = tensor.dim %x, %c0 : tensor<?x32xf32>
  %e = tensor.empty(%s) : tensor<?x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %xq = linalg.matmul ins(%x, %q : tensor<?x32xf32>, tensor<32x32xf32>)
      outs(%f : tensor<?x32xf32>) -> tensor<?x32xf32>
  %xk = linalg.matmul ins(%x, %k : tensor<?x32xf32>, tensor<32x32xf32>)
      outs(%f : tensor<?x32xf32>) -> tensor<?x32xf32>
  %heads = tensor.expand_shape %xq [[0], [1, 2]] output_shape [%s, 4, 8]
      : tensor<?x32xf32> into tensor<?x4x8xf32>
  %keys = tensor.expand_shape %xk [[0], [1, 2]] output_shape [%s, 4, 8]
      : tensor<?x32xf32> into tensor<?x4x8xf32>
  %e4 = tensor.empty(%s) : tensor<4x?x8xf32>
  %ql = linalg.transpose ins(%heads : tensor<?x4x8xf32>) outs(%e4 : tensor<4x?x8xf32>)
      permutation = [1, 0, 2]
  %e5 = tensor.empty(%s) : tensor<4x8x?xf32>
  %kl = linalg.transpose ins(%keys : tensor<?x4x8xf32>) outs(%e5 : tensor<4x8x?xf32>)
      permutation = [1, 2, 0]
  %e6 = tensor.empty(%s, %s) : tensor<4x?x?xf32>
  %f6 = linalg.fill ins(%zero : f32) outs(%e6 : tensor<4x?x?xf32>) -> tensor<4x?x?xf32>
  %scores = linalg.batch_matmul ins(%ql, %kl : tensor<4x?x8xf32>, tensor<4x8x?xf32>)
      outs(%f6 : tensor<4x?x?xf32>) -> tensor<4x?x?xf32>
  %soft = linalg.softmax dimension(2) ins(%scores : tensor<4x?x?xf32>)
      outs(%e6 : tensor<4x?x?xf32>) -> tensor<4x?x?xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<4x?x8xf32>) -> tensor<4x?x8xf32>
  %mixed = linalg.batch_matmul ins(%soft, %ql : tensor<4x?x?xf32>, tensor<4x?x8xf32>)
      outs(%f4 : tensor<4x?x8xf32>) -> tensor<4x?x8xf32>
  %e7 = tensor.empty(%s) : tensor<?x4x8xf32>
  %back = linalg.transpose ins(%mixed : tensor<4x?x8xf32>) outs(%e7 : tensor<?x4x8xf32>)
      permutation = [1, 0, 2]
  %r = tensor.collapse_shape %back [[0], [1, 2]] : tensor<?x4x8xf32> into tensor<?x32xf32>
  return %r : tensor<?x32xf32>
}
"""
SIZES = (0, 1, 7, 8, 9, 16, 31)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("dynamic")
    (made / "model.mlir").write_text(ATTENTION)
    return made


@pytest.fixture(scope="module")
def plan(folder: Path) -> layoutopt.Plan:
    options = layoutopt.Options(
        cache=folder / "cache",
        effort=Effort.QUICK,
        objective=Objective.CONVERSIONS,
        sizes=(PlannedSize("arg0.0", (20,)),),
    )
    return layoutopt.optimize(folder / "model.mlir", options=options)


def test_contractions_of_open_sizes_are_packed(plan: layoutopt.Plan) -> None:
    report = plan.report
    assert not [row for row in report.barriers if row.op != "func.return"]
    assert report.contractions is not None
    assert report.contractions.total == 4
    assert len(report.contractions.unpacked) < 4
    assert report.after.pack > 0
    assert not report.discrepancies


def test_the_plan_is_compared_at_many_sizes(plan: layoutopt.Plan) -> None:
    verification = plan.report.verification
    assert verification is not None
    assert verification.passed
    tried = {name.rpartition(" ")[2] for name in verification.inputs if "normal at" in name}
    assert tried >= {"20", "1", "7", "8", "9"}


def test_the_report_says_what_was_planned_for(plan: layoutopt.Plan) -> None:
    (size,) = plan.report.sizes
    assert (size.function, size.name, size.low, size.high, size.planned) == (
        "main",
        "arg0.0",
        0,
        None,
        (20,),
    )


def test_the_written_module_is_right_at_sizes_around_tiles(
    plan: layoutopt.Plan, folder: Path
) -> None:
    written = folder / "plan.mlir"
    plan.apply(written)
    compiled = []
    for source, flags in ((folder / "model.mlir", FLAGS), (written, plan.compile_flags)):
        output = source.with_suffix(".vmfb")
        outcome = compile_file(source, output, flags, 300)
        assert outcome.ok, outcome.reason
        compiled.append(output)
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(32, 32)).astype(np.float32) for _ in range(2)]
    for size in SIZES:
        x = rng.normal(size=(size, 32)).astype(np.float32)
        wanted, found = (run_model(module, "main", [x, *weights]) for module in compiled)
        assert found[0].shape == (size, 32)
        assert np.allclose(wanted[0], found[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("arg0.0", "such as arg0.1=128 or arg0.1=1,128:3,1, but got 'arg0.0'; correct the option"),
        ("s=4", "--dim s: expected one of arg0.0, but got another name; correct the option"),
    ],
)
def test_sizes_that_the_model_lacks_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], given: str, message: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["optimize", str(folder / "model.mlir"), "--dim", given])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


CACHED = """
func.func @main(%x: tensor<9x8x32xf32>, %w: tensor<32x16xf32>, %i: tensor<i32>,
    %new: tensor<1x8x16xf32>, %cache: tensor<9x8x16xf32>)
    -> (tensor<8x16xf32>, tensor<9x8x16xf32>) {
  %v = tensor.extract %i[] : tensor<i32>
  %n = arith.index_cast %v : i32 to index
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %a = arith.maxsi %n, %c0 : index
  %o = arith.minsi %a, %c8 : index
  %s = tensor.extract_slice %x[%o, 0, 0] [1, 8, 32] [1, 1, 1]
      : tensor<9x8x32xf32> to tensor<8x32xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.matmul ins(%s, %w : tensor<8x32xf32>, tensor<32x16xf32>)
      outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %u = tensor.insert_slice %new into %cache[%o, 0, 0] [1, 8, 16] [1, 1, 1]
      : tensor<1x8x16xf32> into tensor<9x8x16xf32>
  return %y, %u : tensor<8x16xf32>, tensor<9x8x16xf32>
}
"""


def test_slices_at_places_that_tensors_tell_are_planned(tmp_path: Path) -> None:
    """A row of a cache is read and written at a position that is an argument."""
    (tmp_path / "model.mlir").write_text(CACHED)
    options = layoutopt.Options(
        cache=tmp_path / "cache", effort=Effort.QUICK, objective=Objective.CONVERSIONS
    )
    plan = layoutopt.optimize(tmp_path / "model.mlir", options=options)
    assert not [row for row in plan.report.barriers if "slice" in row.op]
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    written = tmp_path / "plan.mlir"
    plan.apply(written)
    outcome = compile_file(written, tmp_path / "plan.vmfb", plan.compile_flags, 300)
    assert outcome.ok, outcome.reason
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(9, 8, 32)), rng.normal(size=(32, 16))
    new, cache = rng.normal(size=(1, 8, 16)), rng.normal(size=(9, 8, 16))
    arrays = [a.astype(np.float32) for a in (x, w, new, cache)]
    for place in (0, 3, 8):
        given = [*arrays[:2], np.array(place, np.int32), *arrays[2:]]
        found = run_model(tmp_path / "plan.vmfb", "main", given)
        assert np.allclose(found[0], x[place] @ w, rtol=1e-4, atol=1e-4)
        cache[place] = new[0]
        assert np.allclose(found[1][place], new[0])
        assert np.array_equal(np.delete(found[1], place, 0), np.delete(arrays[3], place, 0))


@pytest.mark.skipif(load_target("host").registers is None, reason="no vectors are known of it")
def test_rows_of_open_length_are_reduced_in_whole_vectors(tmp_path: Path) -> None:
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, (4, "s", "s")) for n in "xy")
    graph = helper.make_graph([helper.make_node("Softmax", ["x"], ["y"])], "rows", [x], [y])
    opset = helper.make_opsetid("", 17)
    model = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), model)
    options = layoutopt.Options(cache=tmp_path / "cache", effort=Effort.QUICK)
    report = layoutopt.optimize(model, options=options).report
    (choice,) = (c for c in report.choices if c.op.startswith("reduction"))
    assert any("tiles[2:" in layout for layout in choice.layouts.values())
    assert report.verification is not None
    assert report.verification.passed
    assert (report.speedup or 0) > 1
