"""Print a pack with padding and its unpack as layoutopt writes them, plain and lowered."""

from layoutopt.candidates.conversion import Conversion, conversion_form, lower_packs
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.types import TensorType
from layoutopt.mlir.write.emit import function_text


def main() -> None:
    graph = Graph((TensorType((30, 64), "f32"),), (), (0,), (0,))
    tiled = Layout((1, 0), (1, 0), (16, 8))
    for name, pair in (("pack", (row_major(2), tiled)), ("unpack", (tiled, row_major(2)))):
        form = conversion_form(graph, Conversion(0, *pair))
        print(function_text(form.graph, form.inputs, form.outputs, name))
        lowered = lower_packs(form.graph)
        print(function_text(lowered, form.inputs, form.outputs, f"lowered_{name}"))


if __name__ == "__main__":
    main()
