"""Print the functions of a module as layoutopt writes them after reading them.

``lift_and_emit.py FILE [collapsed]``: with ``collapsed``, contractions as matmuls.
"""

import sys
from pathlib import Path

from layoutopt.graph import Constant
from layoutopt.mlir.emit import function_text
from layoutopt.mlir.module import parse_module
from layoutopt.normal_form import with_matmuls
from layoutopt.simplify import simplified


def main(path: Path, collapsed: bool) -> None:
    module = parse_module(path)
    for name, graph in zip(module.names, module.graphs, strict=True):
        weights = [op.result for op in graph.ops if isinstance(op, Constant)]
        written = simplified(with_matmuls(graph)) if collapsed else graph
        print(function_text(written, (*graph.inputs, *weights), graph.outputs, name))


if __name__ == "__main__":
    main(Path(sys.argv[1]), "collapsed" in sys.argv[2:])
