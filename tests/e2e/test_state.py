"""State that functions keep between calls, in layouts of the plan's choice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import iree.runtime as rt
import numpy as np
import pytest

import layoutopt
from examples.make_prefill_decode import Sizes, module_text
from layoutopt.ir.types import Array
from layoutopt.options import Effort, Objective
from layoutopt.runtime.compile import compile_file
from tests.parameters import FLAGS
from tests.planning import EIGHTS

H, W = "tensor<8x16xf32>", "tensor<16x16xf32>"
ROWS = ", ".join(f"[{', '.join(str(i + j / 16) for j in range(16))}]" for i in range(8))


def step(name: str, state: str) -> str:
    """state = tanh(state @ w + x), and what it was before."""
    return f"""
func.func @{name}(%x: {H}) -> {H} {{
  %w = arith.constant dense<0.05> : {W}
  %zero = arith.constant 0.0 : f32
  %s = util.global.load @{state} : {H}
  %e = tensor.empty() : {H}
  %f = linalg.fill ins(%zero : f32) outs(%e : {H}) -> {H}
  %m = linalg.matmul ins(%s, %w : {H}, {W}) outs(%f : {H}) -> {H}
  %a = linalg.map {{ arith.addf }} ins(%m, %x : {H}, {H}) outs(%e : {H})
  %t = linalg.map {{ math.tanh }} ins(%a : {H}) outs(%e : {H})
  util.global.store %t, @{state} : {H}
  return %s : {H}
}}"""


STATES = f"""
util.global private mutable @one_number = dense<0.5> : {H}
util.global private mutable @numbers = dense<[{ROWS}]> : {H}
util.global private mutable @stored : {H}
util.global private mutable @none : {H}
util.initializer {{
  %c = arith.constant dense<[{ROWS}]> : {H}
  %e = tensor.empty() : {H}
  %s = linalg.map {{ math.sqrt }} ins(%c : {H}) outs(%e : {H})
  util.global.store %s, @stored : {H}
  util.return
}}
{step("first", "one_number")}
{step("second", "numbers")}
{step("third", "stored")}
func.func @reset() {{
  %c = arith.constant dense<0.25> : {H}
  util.global.store %c, @numbers : {H}
  return
}}
"""


def loaded(module: Path) -> Any:
    """The module, ready to be called, with its own state."""
    compiled = module.with_suffix(".vmfb")
    outcome = compile_file(module, compiled, FLAGS, 300)
    assert outcome.ok, outcome.reason
    config = rt.Config("local-sync")
    context = rt.SystemContext(config=config)
    context.add_vm_module(rt.VmModule.mmap(config.vm_instance, str(compiled)))
    return context.modules.module


def assert_same_calls(
    folder: Path, calls: Sequence[tuple[str, tuple[Array | int, ...]]]
) -> None:  # fmt: skip
    """One call after another gives the same in the model and in what was written."""
    model, plan = (loaded(folder / name) for name in ("model.mlir", "out.mlir"))
    for function, arguments in calls:
        wanted, found = (getattr(module, function)(*arguments) for module in (model, plan))
        if wanted is not None:
            assert np.allclose(wanted.to_host(), found.to_host(), rtol=1e-5, atol=1e-5), function


def optimized(folder: Path, text: str, *, free: bool) -> layoutopt.Plan:
    (folder / "model.mlir").write_text(text)
    options = layoutopt.Options(
        cache=folder / "cache",
        effort=Effort.QUICK,
        objective=Objective.CONVERSIONS,
        free_state_layout=free,
    )
    plan = layoutopt.optimize(folder / "model.mlir", EIGHTS, options)
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    assert plan.report.discrepancies == ()
    plan.apply(folder / "out.mlir")
    return plan


def test_state_and_its_first_value_lie_as_the_plan_likes(tmp_path: Path) -> None:
    plan = optimized(tmp_path, STATES, free=True)
    assert {row.name for row in plan.report.carried} == {"@one_number", "@numbers", "@stored"}
    text = (tmp_path / "out.mlir").read_text()
    lines = [line.strip() for line in text.splitlines() if "private mutable" in line]
    kinds = {line.split("@")[1].split()[0]: line.rsplit(" ", 1)[1] for line in lines}
    assert kinds["none"] == H
    assert {kinds[name] for name in ("one_number", "numbers", "stored")}.isdisjoint({H})
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((8, 16), np.float32) for _ in range(3)]
    calls: list[tuple[str, tuple[Array | int, ...]]] = [
        (name, (x,)) for x in inputs for name in ("first", "second", "third")
    ]
    assert_same_calls(tmp_path, [*calls, ("reset", ()), *calls])


@pytest.mark.long
@pytest.mark.parametrize("free", [True, False])
def test_keys_and_values_of_a_served_model(tmp_path: Path, free: bool) -> None:
    small = Sizes(layers=1, width=16, heads=2, hidden=32, prompt=8, context=16)
    plan = optimized(tmp_path, module_text(small), free=free)
    assert bool(plan.report.carried) == free
    rng = np.random.default_rng(0)
    prompt = rng.standard_normal((8, 16), np.float32)
    tokens = [rng.standard_normal((1, 16), np.float32) for _ in range(4)]
    calls: list[tuple[str, tuple[Array | int, ...]]] = [("prefill", (prompt,))]
    calls += [("decode", (token, 8 + place)) for place, token in enumerate(tokens)]
    assert_same_calls(tmp_path, [*calls, *calls[::-1], *calls])
