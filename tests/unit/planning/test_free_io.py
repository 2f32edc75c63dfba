"""Only tensors that the caller and planned ops see may lie in any layout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from layoutopt.mlir.module import parse_module
from layoutopt.planning.free_io import free_inputs, free_outputs

MATMUL = """
  %e{n} = tensor.empty() : tensor<8x8xf32>
  %i{n} = linalg.fill ins(%z : f32) outs(%e{n} : tensor<8x8xf32>) -> tensor<8x8xf32>
  %m{n} = linalg.matmul ins({x}, {y} : tensor<8x8xf32>, tensor<8x8xf32>)
    outs(%i{n} : tensor<8x8xf32>) -> tensor<8x8xf32>
"""
ZERO = "  %z = arith.constant 0.0 : f32\n"


def matmul(number: int, x: str, y: str) -> str:
    return MATMUL.format(n=number, x=x, y=y)


@dataclass(frozen=True)
class Case:
    """A module, and how many inputs and outputs of one of its functions are free."""

    text: str
    inputs: int
    outputs: int
    function: str = "main"


def main(body: str, returned: str, y_attribute: str = "") -> str:
    count = returned.count("%")
    types = ", ".join(["tensor<8x8xf32>"] * count)
    return (
        f"func.func @main(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>{y_attribute}) -> ({types}) {{\n"
        f"{ZERO}{body}  return {returned} : {types}\n}}\n"
    )


OPAQUE = "  %s = util.optimization_barrier {x} : tensor<8x8xf32>\n"
RESHAPED = """  %r = tensor.collapse_shape %x [[0, 1]] : tensor<8x8xf32> into tensor<64xf32>
  %q = tensor.expand_shape %r [[0, 1]] output_shape [8, 8] : tensor<64xf32> into tensor<8x8xf32>
"""
INNER = main(matmul(1, "%x", "%y"), "%m1").replace("@main", "@inner")
CALL = "  %c = call @inner(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>\n"
ASYNC_NAME = "main$async"
ASYNC = """util.func public @main$async(%a: !hal.buffer_view, %b: !hal.buffer_view, %w: !hal.fence,
    %s: !hal.fence) -> ({kinds}) attributes {{iree.abi.stub}} {{
{zero}  %x = hal.tensor.import wait(%w) => %a : !hal.buffer_view -> tensor<8x8xf32>
  %y = hal.tensor.import wait(%w) => {second} : !hal.buffer_view -> tensor<8x8xf32>
{body}  util.return {returned} : {kinds}
}}
"""
STUB = """util.func public @main(%a: !hal.buffer_view, %b: !hal.buffer_view) -> !hal.buffer_view
    attributes {iree.abi.stub} {
  %w = util.null : !hal.fence
  %c = util.call @main$async(%a, %b, %w, %w)
    : (!hal.buffer_view, !hal.buffer_view, !hal.fence, !hal.fence) -> !hal.buffer_view
  util.return %c : !hal.buffer_view
}
"""
OUT = """  %o = hal.tensor.barrier join(%m1 : tensor<8x8xf32>) => %s : !hal.fence
  %v = hal.tensor.export %o : tensor<8x8xf32> -> !hal.buffer_view
"""


def imported(body: str, second: str = "%b", returned: str = "%v") -> str:
    kinds = ", ".join(["!hal.buffer_view"] * returned.count("%"))
    return ASYNC.format(zero=ZERO, second=second, body=body, returned=returned, kinds=kinds)


CASES = {
    "seen by the caller only": Case(main(matmul(1, "%x", "%y"), "%m1"), 2, 1),
    "an argument that an opaque op reads": Case(
        main(matmul(1, "%x", "%y") + OPAQUE.format(x="%x"), "%m1, %s"), 1, 1
    ),
    "an argument that is returned": Case(main(matmul(1, "%x", "%y"), "%m1, %x"), 1, 1),
    "an argument that is returned behind a reshape": Case(
        main(matmul(1, "%x", "%y") + RESHAPED, "%m1, %q"), 2, 2
    ),
    "a result that an opaque op reads": Case(
        main(matmul(1, "%x", "%y") + OPAQUE.format(x="%m1"), "%m1, %s"), 2, 0
    ),
    "a result that a planned op reads": Case(
        main(matmul(1, "%x", "%y") + matmul(2, "%m1", "%y"), "%m1, %m2"), 2, 2
    ),
    "a result that is returned twice": Case(main(matmul(1, "%x", "%y"), "%m1, %m1"), 2, 0),
    "a function that another calls": Case(
        main(CALL + matmul(2, "%c", "%y"), "%m2") + INNER, 0, 0, "inner"
    ),
    "a function that calls another": Case(INNER + main(CALL + matmul(2, "%c", "%y"), "%m2"), 0, 1),
    "a private function": Case(
        main(matmul(1, "%x", "%y"), "%m1").replace("func.func @", "func.func private @"), 0, 0
    ),
    "an argument that is the storage of a result": Case(
        main(matmul(1, "%x", "%y"), "%m1", " {iree.abi.output = 0 : index}"), 1, 0
    ),
    "buffers behind a stub": Case(STUB + imported(matmul(1, "%x", "%y") + OUT), 2, 1, ASYNC_NAME),
    "one buffer imported twice": Case(
        STUB + imported(matmul(1, "%x", "%y") + OUT, second="%a"), 0, 1, ASYNC_NAME
    ),
    "a result that is exported twice": Case(
        imported(
            matmul(1, "%x", "%y")
            + OUT
            + "  %u = hal.tensor.export %o : tensor<8x8xf32> -> !hal.buffer_view\n",
            returned="%v, %u",
        ),
        2,
        0,
        ASYNC_NAME,
    ),
    "a result that is read behind its barrier": Case(
        imported(
            matmul(1, "%x", "%y")
            + OUT
            + matmul(2, "%o", "%y")
            + "  %u = hal.tensor.export %m2 : tensor<8x8xf32> -> !hal.buffer_view\n",
            returned="%v, %u",
        ),
        2,
        1,
        ASYNC_NAME,
    ),
    "a result that is the storage of an argument": Case(
        imported(
            matmul(1, "%x", "%y")
            + "  %t = hal.tensor.alias %m1 : tensor<8x8xf32> to %b : !hal.buffer_view\n"
            + "  %v = hal.tensor.export %t : tensor<8x8xf32> -> !hal.buffer_view\n",
        ),
        1,
        0,
        ASYNC_NAME,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_free(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = tmp_path / "model.mlir"
    path.write_text(case.text, encoding="utf-8")
    module = parse_module(path)
    graph = module.graphs[module.names.index(case.function)]
    assert len(free_inputs(graph)) == case.inputs
    assert len(free_outputs(graph)) == case.outputs
