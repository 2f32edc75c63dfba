"""What a module states of numbers is checked ahead of a plan; attributes of functions stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.mlir.module import Module, parse_module
from layoutopt.options import Options
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.prices import Analytic
from layoutopt.profiles.target import load_target
from tests.planning import setting

TARGET = load_target("x86-64-avx512")
X = "tensor<?x8xf32>"
ATTRIBUTES = 'attributes {iree.abi.stub, model.note = "kept"}'


def assuming(stated: str) -> str:
    return f"""
func.func @main(%x: {X} {{iree.abi.affinity = 1}}) -> ({X} {{iree.abi.name = "y"}}) {ATTRIBUTES} {{
  %c0 = arith.constant 0 : index
  %s = tensor.dim %x, %c0 : {X}
  %n = util.assume.int %s<{stated}> : index
  %e = tensor.empty(%n) : {X}
  %r = linalg.map {{ math.tanh }} ins(%x : {X}) outs(%e : {X})
  return %r : {X}
}}
"""


def planned(folder: Path, text: str) -> Module:
    path = folder / "model.mlir"
    path.write_text(text)
    module = parse_module(path)
    plan = plan_graph(module.graphs[0], setting(TARGET, Analytic(TARGET), Options()))
    module.replace_all({0: plan.lowered()})
    assert module.operation.verify()
    return module


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("udiv = 8", "arg0.0: expected a multiple of 8, as util.assume.int states"),
        (
            "umin = 8, umax = 512, udiv = 8",
            "arg0.0: expected a multiple of 8, at least 8, at most 512, as util.assume.int states",
        ),
        ("umin = 3", "arg0.0: expected at least 3, as util.assume.int states"),
    ],
)
def test_what_is_stated_is_asserted(tmp_path: Path, stated: str, message: str) -> None:
    text = str(planned(tmp_path, assuming(stated)).operation)
    checked = text.index(f'"{message}"')
    assert checked < text.index("util.assume.int %dim<")
    assert checked < text.index("tensor.empty")


@pytest.mark.parametrize("stated", ["umin = 100, umax = 10", "umin = 9, umax = 15, udiv = 8"])
def test_what_contradicts_itself_says_nothing(tmp_path: Path, stated: str) -> None:
    module = planned(tmp_path, assuming(stated))
    assert "cf.assert" not in str(module.operation)
    (size,) = {str(t.shape[0]) for t in module.graphs[0].types}
    assert size == "arg0.0"


def test_functions_keep_their_attributes(tmp_path: Path) -> None:
    path = tmp_path / "before.mlir"
    path.write_text(assuming("udiv = 8"))
    kept = [_attributes(m) for m in (parse_module(path), planned(tmp_path, assuming("udiv = 8")))]
    assert kept[0] == kept[1]
    assert kept[0].keys() >= {"arg_attrs", "res_attrs", "iree.abi.stub", "model.note"}


def _attributes(module: Module) -> dict[str, str]:
    operations = module.operation.regions[0].blocks[0].operations
    (function,) = (op for op in operations if op.operation.name == "func.func")
    attributes = function.operation.attributes
    return {name: str(attributes[name]) for name in attributes}
