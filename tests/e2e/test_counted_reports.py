"""Reports are counted on what was written, compiled and run, not on what the plan meant."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutopt
from layoutopt.mlir.module import parse_module
from layoutopt.options import Effort, Objective, Options
from layoutopt.report.headline import headline
from layoutopt.verification.whole_model import Comparison
from tests.models import CONVOLUTIONS

IDENTITY = "#id = affine_map<(i, j) -> (i, j)>\n"


def tanh(result: str, source: str, shape: str) -> str:
    kind = f"tensor<{shape}xf32>"
    return f"""
  {result}_e = tensor.empty() : {kind}
  {result} = linalg.generic {{indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel"]}}
      ins({source} : {kind}) outs({result}_e : {kind}) {{
  ^bb0(%a: f32, %b: f32):
    %t = math.tanh %a : f32
    linalg.yield %t : f32
  }} -> {kind}"""


PACKS = f"""{IDENTITY}
func.func @main(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {{
  %e = tensor.empty() : tensor<4x8x8x8xf32>
  %o = tensor.empty() : tensor<32x64xf32>
  %p = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %e
      : tensor<32x64xf32> -> tensor<4x8x8x8xf32>
  %u = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %o
      : tensor<4x8x8x8xf32> -> tensor<32x64xf32>{tanh("%r", "%u", "32x64")}
  %q = linalg.pack %r inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %e
      : tensor<32x64xf32> -> tensor<4x8x8x8xf32>
  %v = linalg.unpack %q inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %o
      : tensor<4x8x8x8xf32> -> tensor<32x64xf32>
  return %v : tensor<32x64xf32>
}}
"""
OPEN_PACK = f"""{IDENTITY}
func.func @main(%x: tensor<32x64xf32>, %y: tensor<?x64xf32>)
    -> (tensor<32x64xf32>, tensor<?x64xf32>) {{
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %d = tensor.dim %y, %c0 : tensor<?x64xf32>
  %n = arith.ceildivui %d, %c8 : index
  %e = tensor.empty(%n) : tensor<?x8x8x8xf32>
  %o = tensor.empty(%d) : tensor<?x64xf32>
  %p = linalg.pack %y padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [8, 8]
      into %e : tensor<?x64xf32> -> tensor<?x8x8x8xf32>
  %u = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %o
      : tensor<?x8x8x8xf32> -> tensor<?x64xf32>{tanh("%r", "%x", "32x64")}
  return %r, %u : tensor<32x64xf32>, tensor<?x64xf32>
}}
"""
LOOP = f"""{IDENTITY}
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x32xf32>) -> tensor<32x32xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<32x64xf32>
  %e = tensor.empty() : tensor<64x32xf32>
  %l = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %x) -> (tensor<32x64xf32>) {{
    %t = linalg.transpose ins(%s : tensor<32x64xf32>) outs(%e : tensor<64x32xf32>)
        permutation = [1, 0]
    %b = linalg.transpose ins(%t : tensor<64x32xf32>) outs(%o : tensor<32x64xf32>)
        permutation = [1, 0]
    %n = arith.addf %b, %x : tensor<32x64xf32>
    scf.yield %n : tensor<32x64xf32>
  }}{tanh("%r", "%l", "32x64")}
  %f_e = tensor.empty() : tensor<32x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%f_e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %m = linalg.matmul ins(%r, %w : tensor<32x64xf32>, tensor<64x32xf32>)
      outs(%f : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %m : tensor<32x32xf32>
}}
"""
DYNAMIC_PART = """
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %d = tensor.dim %x, %c0 : tensor<?x64xf32>
  %f_e = tensor.empty(%d) : tensor<?x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%f_e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %m = linalg.matmul ins(%x, %k : tensor<?x64xf32>, tensor<64x32xf32>)
      outs(%f : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %m : tensor<?x32xf32>
}
"""
BARRIER_PART = """
  %y = arith.addf %x, %k : tensor<64x32xf32>
  %z = arith.mulf %y, %y : tensor<64x32xf32>
  return %z : tensor<64x32xf32>
}
"""
BARRIERS_ONLY = (
    "func.func @main(%x: tensor<64x32xf32>, %k: tensor<64x32xf32>) -> tensor<64x32xf32> {"
    + BARRIER_PART
)
PARTLY_BARRIERS = IDENTITY + (
    "func.func @main(%x: tensor<64x32xf32>, %w: tensor<64x32xf32>) -> tensor<64x32xf32> {"
    + tanh("%k", "%w", "64x32")
    + BARRIER_PART
).replace("64x32", "8x4")
"""Of so few elements, an op that computes point by point has no schedule to choose."""
LAYERS = """
func.func @main(%x: tensor<24x32xf32>) -> tensor<24x16xf32> {
  %zero = arith.constant 0.0 : f32
  %w0 = arith.constant dense<0.125> : tensor<32x40xf32>
  %w1 = arith.constant dense<-0.25> : tensor<40x16xf32>
  %e0 = tensor.empty() : tensor<24x40xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<24x40xf32>) -> tensor<24x40xf32>
  %m0 = linalg.matmul ins(%x, %w0 : tensor<24x32xf32>, tensor<32x40xf32>)
      outs(%f0 : tensor<24x40xf32>) -> tensor<24x40xf32>
  %e1 = tensor.empty() : tensor<24x16xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<24x16xf32>) -> tensor<24x16xf32>
  %m1 = linalg.matmul ins(%m0, %w1 : tensor<24x40xf32>, tensor<40x16xf32>)
      outs(%f1 : tensor<24x16xf32>) -> tensor<24x16xf32>
  return %m1 : tensor<24x16xf32>
}
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prices and times that the tests share: one of them measures."""
    return tmp_path_factory.mktemp("cache")


def optimized(text: str, folder: Path, options: Options) -> layoutopt.Plan:
    """A plan whose report agrees with the file that it writes."""
    (folder / "model.mlir").write_text(text, encoding="utf-8")
    plan = layoutopt.optimize(folder / "model.mlir", options=options)
    plan.apply(folder / "out.mlir")
    report = plan.report
    found = parse_module(folder / "out.mlir").census()
    came = parse_module(folder / "model.mlir").census()
    rows = [kind for row in (*report.conversions, *report.moves_inside) for kind in row.moves]
    for kind in ("pack", "unpack", "transpose"):
        assert getattr(report.after, kind) == found.count(kind) == rows.count(kind)
        assert getattr(report.before, kind) == came.count(kind)
    assert report.discrepancies == ()
    return plan


def test_packs_of_the_input_are_seen_through(tmp_path: Path, cache: Path) -> None:
    report = optimized(
        PACKS, tmp_path, Options(effort=Effort.QUICK, objective=Objective.CONVERSIONS, cache=cache)
    ).report
    assert (report.before.pack, report.before.unpack, report.before.transpose) == (2, 2, 0)
    assert (report.after.pack, report.after.unpack, report.after.transpose) == (0, 0, 0)
    assert report.after.dispatches == 1
    assert (report.conversions, report.moves_inside) == ((), ())


def test_packs_of_open_sizes_are_seen_through(tmp_path: Path, cache: Path) -> None:
    options = Options(effort=Effort.QUICK, objective=Objective.CONVERSIONS, cache=cache)
    report = optimized(OPEN_PACK, tmp_path, options).report
    assert (report.before.pack, report.before.unpack, report.before.transpose) == (1, 1, 0)
    assert (report.after.pack, report.after.unpack, report.after.transpose) == (0, 0, 0)


def test_what_stands_in_a_loop_is_planned(tmp_path: Path, cache: Path) -> None:
    report = optimized(
        LOOP, tmp_path, Options(effort=Effort.QUICK, objective=Objective.CONVERSIONS, cache=cache)
    ).report
    assert [row for row in report.conversions if "inside a barrier" in row.reason] == []
    assert [(b.name, b.runs) for b in report.blocks] == [("main/for.0", 3)]
    assert (report.before.transpose, report.after.transpose) == (2, 0)
    assert report.winner == "layoutopt"
    assert report.contractions is not None
    assert report.contractions.packed == 1
    assert report.after.pack, "the contraction is packed, and its operands come in rows"


def test_a_model_of_barriers_claims_nothing(tmp_path: Path, cache: Path) -> None:
    plan = optimized(BARRIERS_ONLY, tmp_path, Options(cache=cache))
    report = plan.report
    assert headline(report) == (
        f"{tmp_path / 'model.mlir'} on host: nothing planned: 2 of 2 ops are barriers "
        "(expected an op of linalg or tensor, but got one that is not known here)"
    )
    assert (report.winner, report.solver.status) == ("unchanged", "NOT RUN")
    for side in (report.before, report.after):
        assert (side.predicted_ms, side.measured_ms, side.dispatches) == (None, None, None)


def test_a_model_of_some_barriers_is_not_called_optimal_in_time(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Comparison, "winner", property(lambda held: "layoutopt"))
    report = optimized(PARTLY_BARRIERS, tmp_path, Options(cache=cache)).report
    assert report.winner == "unchanged"
    assert (report.before.predicted_ms, report.after.predicted_ms) == (None, None)
    assert (report.ops.planned, report.ops.barriers) == (1, 2)
    assert "unchanged: the one op that a plan could change stays as it came; 2 of 3 ops are " in (
        headline(report)
    )
    assert report.before.dispatches == report.after.dispatches == 1


def test_free_layouts_are_counted_on_the_module_that_is_written(
    tmp_path: Path, cache: Path
) -> None:
    options = Options(
        effort=Effort.QUICK, objective=Objective.CONVERSIONS, free_io_layout=True, cache=cache
    )
    report = optimized(LAYERS, tmp_path, options).report
    assert (report.after.pack, report.after.unpack, report.after.transpose) == (0, 0, 0)
    assert report.io_layouts
    assert report.after.dispatches == 2
    assert report.dispatches_by == "calls in one run, seen by IREE's profiler"


@pytest.mark.long
def test_of_an_original_that_is_kept_nothing_of_the_plan_is_listed(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Comparison, "winner", property(lambda held: "O3"))
    plan = optimized(CONVOLUTIONS, tmp_path, Options(cache=cache))
    report = plan.report
    assert report.winner == "O3"
    assert report.after.predicted_ms is None
    assert (report.conversions, report.moves_inside, report.compiled_moves) == ((), (), ())
    assert report.weights is not None
    assert report.weights.copies == 0
    assert "the original is kept, compiled with 'O3', for the plan took" in headline(report)


@pytest.mark.long
def test_estimates_come_with_their_range(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "model.mlir").write_text(CONVOLUTIONS, encoding="utf-8")
    plan = layoutopt.optimize(
        tmp_path / "model.mlir", profile="mi355x", options=Options(cache=cache)
    )
    report = plan.report
    for side in (report.before, report.after):
        assert side.predicted_ms is not None
        assert side.predicted_range_ms is not None
        low, high = side.predicted_range_ms
        assert low < side.predicted_ms < high
        assert side.dispatches is not None
    assert report.predicted_speedup_range is not None
    assert "estimated and not measured" in headline(report)


@pytest.mark.long
def test_every_candidate_is_accounted_for(tmp_path: Path, cache: Path) -> None:
    report = optimized(CONVOLUTIONS, tmp_path, Options(cache=cache)).report
    s = report.solver
    assert s.candidates == s.priced + s.refused + s.bounded + s.regions
    assert s.priced
    assert s.bounded
    assert 0 <= s.cut <= s.tensors


def test_a_plan_that_is_given_was_not_searched_for(tmp_path: Path, cache: Path) -> None:
    plan = optimized(CONVOLUTIONS, tmp_path, Options(effort=Effort.QUICK, cache=cache))
    plan.save(tmp_path / "plan.json")
    again = layoutopt.optimize(
        tmp_path / "model.mlir",
        plan=tmp_path / "plan.json",
        options=Options(effort=Effort.QUICK, cache=cache),
    ).report
    assert (again.solver.given, again.cost_source) == (True, "plan")
    assert again.before.predicted_ms is None
    assert again.after.predicted_ms == plan.report.after.predicted_ms
