"""How often blocks run: loops over sizes that are known at run time only."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.mlir.module import Module, parse_module
from layoutopt.options import PlannedSize
from layoutopt.pipeline.block_flow import control_flow, mean_runs

STEPS = "tensor<?x8xf32>"


def loop(folder: Path, first: str, step: str = "%c1") -> Module:
    """A loop over the rows of an argument, from ``first`` on, and one inside it of 3 trips."""
    path = folder / "model.mlir"
    path.write_text(f"""
func.func @main(%x: {STEPS}) -> {STEPS} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %n = tensor.dim %x, %c0 : {STEPS}
  %r = scf.for %i = {first} to %n step {step} iter_args(%h = %x) -> ({STEPS}) {{
    %q = scf.for %j = %c0 to %c3 step %c1 iter_args(%g = %h) -> ({STEPS}) {{
      %e = tensor.empty(%n) : {STEPS}
      %m = linalg.map {{ math.exp }} ins(%g : {STEPS}) outs(%e : {STEPS})
      scf.yield %m : {STEPS}
    }}
    scf.yield %q : {STEPS}
  }}
  return %r : {STEPS}
}}
""")
    return parse_module(path)


@pytest.mark.parametrize(
    ("first", "step", "rows", "trips"),
    [
        ("%c0", "%c1", 128, 128),
        ("%c1", "%c1", 128, 127),
        ("%c0", "%c4", 10, 3),
        ("%c1", "%c4", 10, 3),
        ("%c4", "%c1", 1, 0),
    ],
)
def test_a_loop_over_an_open_size_runs_as_often_as_that_is(
    tmp_path: Path, first: str, step: str, rows: int, trips: int
) -> None:
    module = loop(tmp_path, first, step)
    assert module.names == ("main", "main/for.0", "main/for.0/for.0")
    assert not module.uncounted
    planned = module.planned_for({"arg0.0": rows})
    assert planned.runs() == (1, trips, 3 * trips)
    assert planned.runs(sizes={"arg0.0": 6}) == module.runs(sizes={"arg0.0": 6})


def test_names_of_sizes_are_those_of_trips(tmp_path: Path) -> None:
    module = loop(tmp_path, "%c0").with_names({"arg0.0": "steps"}).planned_for({"steps": 7})
    assert module.runs() == (1, 7, 21)


def test_of_several_sizes_trips_are_the_weighted_mean(tmp_path: Path) -> None:
    module = loop(tmp_path, "%c0")
    sizes = (PlannedSize("arg0.0", (10, 100), (2, 1)),)
    assert mean_runs(module, {}, sizes) == (1, 40, 120)
    assert control_flow(module, {}, sizes).runs == (1, 40, 120)
