"""Print the functions of a module as layoutopt writes them after reading them.

``lift_and_emit.py FILE [as-matmul | saturated]``: with ``as-matmul``, contractions as matmuls; with
``saturated``, by the last op that the rewrite rules found.
"""

import sys
from dataclasses import replace
from pathlib import Path

from layoutopt.candidates.matmul_form import with_matmuls
from layoutopt.candidates.saturation import saturate
from layoutopt.ir.copy_folding import simplified
from layoutopt.ir.graph import Constant, Graph
from layoutopt.mlir.module import parse_module
from layoutopt.mlir.write.emit import function_text


def newest(graph: Graph) -> Graph:
    """The one way that ends in the newest op."""
    grown = saturate(graph).graph
    return replace(grown, ops=(grown.ops[-1],), names=())


def main(path: Path, as_matmul: bool, saturated: bool) -> None:
    module = parse_module(path)
    for name, graph in zip(module.names, module.graphs, strict=True):
        weights = [op.result for op in graph.ops if isinstance(op, Constant)]
        written = simplified(with_matmuls(graph)) if as_matmul else graph
        written = newest(graph) if saturated else written
        print(function_text(written, (*graph.inputs, *weights), graph.outputs, name))


if __name__ == "__main__":
    main(Path(sys.argv[1]), "as-matmul" in sys.argv[2:], "saturated" in sys.argv[2:])
