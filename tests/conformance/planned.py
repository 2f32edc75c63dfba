"""What is left of packs that a model comes with: by a plan, and by upstream's own patterns."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from layoutopt.ir.graph import Graph
from layoutopt.ir.lowered import Lowered
from layoutopt.mlir.module import Module, parse_module
from layoutopt.options import Objective, Options
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.prices import Analytic
from layoutopt.profiles.target import load_target
from tests.conformance import contractions, elementwise, folds, padding, reshapes
from tests.conformance.cases import CASES, Case
from tests.planning import setting

FILES = (contractions, elementwise, folds, padding, reshapes)
"""Each puts its functions into the list of cases."""
TARGET = replace(load_target("host"), blocks={})
"""Contractions need not be packed: no conversions are asked for but those of the model's ends."""

_UPSTREAM = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %f = transform.structured.match ops{["func.func"]} in %root
        : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %f {
      transform.apply_patterns.linalg.data_layout_propagation
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
      transform.apply_patterns.linalg.fold_pack_unpack_into_empty
      transform.apply_patterns.tensor.fold_tensor_empty
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %f : !transform.any_op
    transform.yield
  }
}
"""


def written(cases: Sequence[Case], path: Path) -> Path:
    """One module of all cases."""
    path.write_text("module {\n" + "\n".join(c.text for c in cases) + "}\n", encoding="utf-8")
    return path


def lowered(graph: Graph) -> Lowered:
    """The plan with the fewest conversions."""
    options = Options(objective=Objective.CONVERSIONS)
    return plan_graph(graph, setting(TARGET, Analytic(TARGET), options)).lowered()


def planned(path: Path) -> Module:
    """A module with its functions planned one by one."""
    module = parse_module(path)
    for place, graph in enumerate(module.graphs):
        module.replace(place, lowered(graph))
    return module


def by_upstream(path: Path, folder: Path) -> Module:
    """A module after upstream's propagation and folds, to a fixed point."""
    library, result = folder / "library.mlir", folder / "upstream.mlir"
    library.write_text(_UPSTREAM, encoding="utf-8")
    passes = f"transform-preload-library{{transform-library-paths={library}}},transform-interpreter"
    tool = Path(sys.executable).parent / "iree-opt"
    command = [str(tool), str(path), f"--pass-pipeline=builtin.module({passes})", "-o", str(result)]
    subprocess.run(command, check=True, capture_output=True)
    return parse_module(result)


def left(module: Module) -> Counter[str]:
    """The packs, unpacks and transposes that run on each call, by function."""
    return Counter(move.function for move in module.census().runs)


__all__ = ["CASES", "FILES", "by_upstream", "left", "lowered", "planned", "written"]
