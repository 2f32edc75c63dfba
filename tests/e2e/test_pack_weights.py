"""Planned with its parameters outside, packed, compiled and run by IREE: the same results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from layoutopt.cli.main import main
from layoutopt.ir.types import Array
from layoutopt.mlir.module import Module, parse_module
from layoutopt.options import Effort, Objective, Options, ParameterFile
from layoutopt.parameters.pack import pack_weights
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.prices import Analytic
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import run_model
from layoutopt.runtime.setting import RunSetting
from layoutopt.verification.evaluated import OPTIMIZED, Variant
from layoutopt.verification.evaluation import EvaluationSetting, evaluate_variants
from layoutopt.verification.subjects import subjects_of
from tests.parameters import FLAGS, TIED, tied_parameters, write_archive
from tests.planning import setting
from tests.running import made_up_inputs, no_oracle


def plan_all(module: Module) -> None:
    target = load_target("host")
    options = Options(effort=Effort.QUICK, objective=Objective.CONVERSIONS)
    for place, graph in enumerate(module.graphs):
        plan = plan_graph(graph, setting(target, Analytic(target), options))
        module.replace(place, plan.lowered())


def results(folder: Path, compiled: str, archive: str) -> list[Array]:
    archives = [("model", folder / archive)]
    inputs = made_up_inputs(folder / compiled)
    return run_model(folder / compiled, "main", inputs, RunSetting(archives=archives))


def compiled(folder: Path, name: str) -> str:
    outcome = compile_file(folder / f"{name}.mlir", folder / f"{name}.vmfb", FLAGS, 300)
    assert outcome.ok, outcome.reason
    return f"{name}.vmfb"


def test_packed_weights_give_the_results_of_the_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.mlir").write_text(TIED)
    file = write_archive(tmp_path / "model.irpa", tied_parameters())
    module = parse_module(tmp_path / "model.mlir")
    subjects = subjects_of(module, [0], Options())
    plan_all(module)
    module.write(tmp_path / "plan.mlir", FLAGS)
    variants = [
        Variant("default", tmp_path / "model.mlir", FLAGS),
        Variant(OPTIMIZED, tmp_path / "plan.mlir", FLAGS),
    ]
    setting = EvaluationSetting(RunSetting(archives=[("model", file)]), "test", 300.0)
    evaluation = evaluate_variants(variants, subjects, tmp_path, setting, no_oracle)
    assert evaluation.verification.passed
    assert evaluation.result(OPTIMIZED).milliseconds is not None

    command = ["pack-weights", str(tmp_path / "plan.mlir"), f"model={file}"]
    main([*command, "-o", f"{tmp_path}/packed.irpa", "--module-out", f"{tmp_path}/packed.mlir"])
    text = capsys.readouterr().out
    left_out = "1 entries left out, the module reads them in other layouts only: embedding"
    assert left_out in text
    assert "because arith.mulf computes new values" in text
    assert "3 weights packed, 1 still converted at load time" in text
    plan = results(tmp_path, "variant1.vmfb", "model.irpa")
    packed = results(tmp_path, compiled(tmp_path, "packed"), "packed.irpa")
    assert np.array_equal(packed[0], plan[0])
    assert (tmp_path / "packed.mlir").read_text().count("util.initializer") == 1


def test_every_kind_of_movement_is_what_iree_computes(tmp_path: Path) -> None:
    """Pads, concats, slices, transposes and packs that pad, as IREE's own initializers."""
    weight = np.arange(35, dtype=np.float32).reshape(5, 7)
    write_archive(tmp_path / "w.irpa", {"w": weight})
    flags = ", ".join(f'"{flag}"' for flag in FLAGS)
    (tmp_path / "model.mlir").write_text(f"""
    module attributes {{layoutopt.compile_flags = [{flags}]}} {{
      util.global private @w = #stream.parameter.named<"model"::"w"> : tensor<5x7xf32>
      util.global private @made : tensor<3x2x4x4xf32>
      util.initializer {{
        %w = util.global.load @w : tensor<5x7xf32>
        %c = arith.constant 3.0 : f32
        %p = tensor.pad %w low[1, 0] high[0, 2] {{
        ^bb0(%i: index, %j: index):
          tensor.yield %c : f32
        }} : tensor<5x7xf32> to tensor<6x9xf32>
        %s = tensor.extract_slice %p[0, 1] [6, 4] [1, 2] : tensor<6x9xf32> to tensor<6x4xf32>
        %e = tensor.empty() : tensor<4x6xf32>
        %t = linalg.transpose ins(%s : tensor<6x4xf32>) outs(%e : tensor<4x6xf32>)
            permutation = [1, 0]
        %cc = tensor.concat dim(1) %t, %t
            : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
        %r = tensor.collapse_shape %cc [[0, 1]] : tensor<4x12xf32> into tensor<48xf32>
        %x = tensor.expand_shape %r [[0, 1]] output_shape [8, 6]
            : tensor<48xf32> into tensor<8x6xf32>
        %y = tensor.extract_slice %x[0, 0] [7, 6] [1, 1] : tensor<8x6xf32> to tensor<7x6xf32>
        %q = tensor.extract_slice %y[0, 0] [6, 6] [1, 1] : tensor<7x6xf32> to tensor<6x6xf32>
        %d = tensor.empty() : tensor<2x2x4x4xf32>
        %k = linalg.pack %q padding_value(%c : f32) outer_dims_perm = [1, 0]
            inner_dims_pos = [1, 0] inner_tiles = [4, 4] into %d
            : tensor<6x6xf32> -> tensor<2x2x4x4xf32>
        %m = tensor.pad %k low[1, 0, 0, 0] high[0, 0, 0, 0] {{
        ^bb0(%i: index, %j: index, %u: index, %v: index):
          tensor.yield %c : f32
        }} : tensor<2x2x4x4xf32> to tensor<3x2x4x4xf32>
        util.global.store %m, @made : tensor<3x2x4x4xf32>
        util.return
      }}
      func.func @main(%x: tensor<3x2x4x4xf32>) -> tensor<3x2x4x4xf32> {{
        %w = util.global.load @made : tensor<3x2x4x4xf32>
        %r = arith.addf %w, %x : tensor<3x2x4x4xf32>
        return %r : tensor<3x2x4x4xf32>
      }}
    }}""")
    found = pack_weights(
        tmp_path / "model.mlir",
        ParameterFile(tmp_path / "w.irpa"),
        tmp_path / "packed.irpa",
        tmp_path / "packed.mlir",
    )
    assert (len(found.packed), found.kept) == (1, ())
    expected = results(tmp_path, compiled(tmp_path, "model"), "w.irpa")
    got = results(tmp_path, compiled(tmp_path, "packed"), "packed.irpa")
    assert np.array_equal(got[0], expected[0])
