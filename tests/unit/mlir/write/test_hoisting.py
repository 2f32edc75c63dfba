"""What a plan computes from external parameters alone is computed when the module is loaded."""

from pathlib import Path

from layoutopt.mlir.module import parse_module
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.prices import Analytic
from layoutopt.profiles.target import load_target
from tests.planning import setting

FUNCTION = """
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {{
  %w = {weight} : tensor<8x4xf32>
  %eb = tensor.empty() : tensor<4x8xf32>
  %moved = linalg.transpose ins(%w : tensor<8x4xf32>) outs(%eb : tensor<4x8xf32>)
      permutation = [1, 0]
  %sum = linalg.map {{ arith.addf }} ins(%x, %moved : tensor<4x8xf32>, tensor<4x8xf32>)
      outs(%eb : tensor<4x8xf32>)
  return %sum : tensor<4x8xf32>
}}
"""
GLOBAL = 'util.global private @g = #stream.parameter.named<"model"::"w"> : tensor<8x4xf32>'


def written(folder: Path, weight: str, before: str = "") -> str:
    """The module after a plan took it apart and put it together again."""
    (folder / "model.mlir").write_text(before + FUNCTION.format(weight=weight))
    module = parse_module(folder / "model.mlir")
    target = load_target("host")
    plan = plan_graph(module.graphs[0], setting(target, Analytic(target)))
    module.replace(0, plan.lowered())
    module.write(folder / "out.mlir", ())
    return (folder / "out.mlir").read_text()


def in_initializer(text: str) -> bool:
    return "linalg.transpose" in text.partition("util.initializer")[2].partition("func.func")[0]


def test_a_transposed_parameter_is_computed_by_an_initializer(tmp_path: Path) -> None:
    text = written(tmp_path, "util.global.load @g", GLOBAL)
    assert in_initializer(text)
    assert "linalg.transpose" not in text.partition("func.func")[2]


def test_so_is_one_that_an_op_names(tmp_path: Path) -> None:
    text = written(tmp_path, 'flow.tensor.constant #stream.parameter.named<"model"::"w">')
    assert in_initializer(text)


def test_a_constant_of_the_module_stays_with_its_op(tmp_path: Path) -> None:
    values = ", ".join(f"[{i}.0, 1.0, 2.0, 3.0]" for i in range(8))
    text = written(tmp_path, f"arith.constant dense<[{values}]>")
    assert "util.initializer" not in text
