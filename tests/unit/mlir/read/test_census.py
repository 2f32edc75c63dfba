"""What moves data in a module, counted on the module."""

from __future__ import annotations

import iree.compiler.ir as ir
import pytest

from layoutopt.mlir.read.census import ModuleCensus, census, stored_globals
from layoutopt.mlir.read.globals import constant_globals
from layoutopt.mlir.read.lift import lift
from tests.parsing import CONTEXT

HEAD = """
#xy = affine_map<(i, j) -> (i, j)>
#yx = affine_map<(i, j) -> (j, i)>
#xyz = affine_map<(i, j, k) -> (i, j, k)>
#x0z = affine_map<(i, j) -> (i, 0, j)>
#z0x = affine_map<(i, j) -> (j, 0, i)>
"""


def walked(text: str, reached: bool = False) -> ModuleCensus:
    with CONTEXT:
        module = ir.Module.parse(HEAD + text)
        functions = [lift(op, constant_globals(module.operation)) for op in module.body.operations]
        found = [f for f in functions if f is not None] if reached else []
        return census(module.operation, found)


def counts(found: ModuleCensus) -> tuple[int, int, int]:
    return found.count("pack"), found.count("unpack"), found.count("transpose")


def function(body: str, more: str = "") -> str:
    return f"""{more}
    func.func @main(%x: tensor<4x8xf32>, %n: index, %c: i1) -> tensor<4x8xf32> {{
      %e = tensor.empty() : tensor<8x4xf32>
      %t = tensor.empty() : tensor<2x2x2x4xf32>
      {body}
      return %x : tensor<4x8xf32>
    }}"""


TRANSPOSE = """%r = linalg.transpose ins({}: tensor<4x8xf32>) outs(%e: tensor<8x4xf32>)
  permutation = [1, 0]"""
PACK = """%p = linalg.pack {} inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %t
  : tensor<4x8xf32> -> tensor<2x2x2x4xf32>"""
UNPACK = """%o = tensor.empty() : tensor<4x8xf32>
  %u = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %o
  : tensor<2x2x2x4xf32> -> tensor<4x8xf32>"""


def generic(maps: str, body: str, source: str = "tensor<4x8xf32>") -> str:
    return f"""%g = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel"]}} ins(%x: {source}) outs(%e: tensor<8x4xf32>) {{
    ^bb0(%a: f32, %b: f32):
      {body}
    }} -> tensor<8x4xf32>"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (PACK.format("%x") + UNPACK, (1, 1, 0)),
        (TRANSPOSE.format("%x"), (0, 0, 1)),
        (generic("#yx, #xy", "linalg.yield %a : f32"), (0, 0, 1)),
        (generic("#yx, #xy", "%m = math.exp %a : f32\nlinalg.yield %m : f32"), (0, 0, 0)),
        (generic("#yx, #xy", "linalg.yield %b : f32"), (0, 0, 0)),
        (f"scf.for %i = %n to %n step %n {{ {PACK.format('%x')} }}", (1, 0, 0)),
        (f"scf.if %c {{ {TRANSPOSE.format('%x')} }}", (0, 0, 1)),
        (
            f"%d = flow.dispatch.region -> (tensor<8x4xf32>) {{ {TRANSPOSE.format('%x')}\n"
            "flow.return %r : tensor<8x4xf32> }",
            (0, 0, 1),
        ),
    ],
    ids=["packs", "named", "generic", "computes", "keeps", "loop", "branch", "region"],
)
def test_what_moves_data_is_counted_wherever_it_stands(
    body: str, expected: tuple[int, int, int]
) -> None:
    assert counts(walked(function(body))) == expected


def test_dims_that_are_constants_in_a_map_are_no_dims_that_move() -> None:
    text = """
    func.func @main(%x: tensor<4x1x8xf32>, %e: tensor<4x1x8xf32>, %f: tensor<8x1x4xf32>) {
      %g = linalg.generic {indexing_maps = [#x0z, #x0z], iterator_types = ["parallel", "parallel"]}
        ins(%x: tensor<4x1x8xf32>) outs(%e: tensor<4x1x8xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      } -> tensor<4x1x8xf32>
      %h = linalg.generic {indexing_maps = [#x0z, #z0x], iterator_types = ["parallel", "parallel"]}
        ins(%x: tensor<4x1x8xf32>) outs(%f: tensor<8x1x4xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      } -> tensor<8x1x4xf32>
      return
    }"""
    assert counts(walked(text)) == (0, 0, 1)


@pytest.mark.parametrize(
    ("source", "size", "expected"),
    [("i, k, 2 * j + l", 6, (1, 1)), ("i, 2 * j + l, k", 6, (1, 1)), ("i, j + k, l", 4, (0, 0))],
)
def test_copies_of_windows_are_transposes_where_loops_change_places(
    source: str, size: int, expected: tuple[int, int]
) -> None:
    sizes = ["4", "2", "2", "2"]
    shapes = {"i": "4", "k": "2", "l": "2", "2 * j + l": str(size), "j + k": str(size)}
    shape = "x".join(shapes[form] for form in source.split(", "))
    found = walked(f"""
    func.func @main(%x: tensor<{shape}xf32>, %e: tensor<{"x".join(sizes)}xf32>) {{
      %g = linalg.generic {{indexing_maps = [affine_map<(i, j, k, l) -> ({source})>,
        affine_map<(i, j, k, l) -> (i, j, k, l)>],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
        ins(%x: tensor<{shape}xf32>) outs(%e: tensor<{"x".join(sizes)}xf32>) {{
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }} -> tensor<{"x".join(sizes)}xf32>
      return
    }}""")
    assert (found.count("transpose"), found.im2col) == expected


@pytest.mark.parametrize(
    ("value", "more", "runs"),
    [
        ("%k = arith.constant dense<1.0> : tensor<4x8xf32>", "", 0),
        (
            "%k = util.global.load @w : tensor<4x8xf32>",
            "util.global private @w = dense<1.0> : tensor<4x8xf32>",
            0,
        ),
        (
            "%k = util.global.load @w : tensor<4x8xf32>",
            "util.global private mutable @w = dense<1.0> : tensor<4x8xf32>",
            1,
        ),
        (
            "%w = arith.constant dense<1.0> : tensor<4x8xf32>\n%k = math.exp %w : tensor<4x8xf32>",
            "",
            0,
        ),
        (
            "%w = arith.constant dense<1.0> : tensor<4x8xf32>\n"
            "%k = arith.addf %w, %x : tensor<4x8xf32>",
            "",
            1,
        ),
        (
            "%w = arith.constant dense<1.0> : tensor<4x8xf32>\n"
            "%k = func.call @other(%w) : (tensor<4x8xf32>) -> tensor<4x8xf32>",
            "func.func private @other(tensor<4x8xf32>) -> tensor<4x8xf32>",
            1,
        ),
        ("%k = util.unfoldable_constant dense<1.0> : tensor<4x8xf32>", "", 1),
        (
            "%i = arith.constant dense<0> : tensor<4x8xindex>\n"
            "%z = tensor.empty() : tensor<4x8xf32>\n"
            "%k = linalg.generic {indexing_maps = [#xy, #xy], "
            'iterator_types = ["parallel", "parallel"]} ins(%i: tensor<4x8xindex>) '
            "outs(%z: tensor<4x8xf32>) {\n^bb0(%a: index, %b: f32):\n"
            "%v = tensor.extract %x[%a, %a] : tensor<4x8xf32>\nlinalg.yield %v : f32\n"
            "} -> tensor<4x8xf32>",
            "",
            1,
        ),
    ],
    ids=["literal", "global", "state", "computed", "mixed", "call", "unfoldable", "captured"],
)
def test_what_only_constants_feed_is_done_ahead(value: str, more: str, runs: int) -> None:
    found = walked(function(value + "\n" + TRANSPOSE.format("%k"), more))
    assert (len(found.runs), len(found.ahead)) == (runs, 1 - runs)


INITIALIZED = """
util.global private @w : tensor<8x4xf32>
util.global private @plain : tensor<4x8xf32> = dense<1.0> : tensor<4x8xf32>
util.initializer {
  %k = util.unfoldable_constant dense<1.0> : tensor<4x8xf32>
  %e = tensor.empty() : tensor<8x4xf32>
  %r = linalg.transpose ins(%k: tensor<4x8xf32>) outs(%e: tensor<8x4xf32>) permutation = [1, 0]
  util.global.store %r, @w : tensor<8x4xf32>
  util.return
}
""".replace("@plain : tensor<4x8xf32> =", "@plain =")


def test_initializers_run_ahead_and_the_globals_they_fill_have_sizes() -> None:
    text = INITIALIZED + function("")
    found = walked(text)
    assert (len(found.runs), [m.function for m in found.ahead]) == (0, [""])
    with CONTEXT:
        found_bytes = stored_globals(ir.Module.parse(HEAD + text).operation)
    assert found_bytes == {"w": 128, "plain": 128}


def test_a_move_says_where_it_stands_and_whether_a_plan_reaches_it() -> None:
    body = TRANSPOSE.format("%x") + f"\nscf.if %c {{ {PACK.format('%x')} }}"
    first, second = walked(function(body), reached=True).runs
    assert (first.function, first.kind, first.inside, first.reached) == (
        "main", "transpose", "", True,
    )  # fmt: skip
    assert (second.kind, second.op, second.inside, second.reached) == (
        "pack", "linalg.pack", "scf.if", False,
    )  # fmt: skip
    assert (second.source, second.result) == ("tensor<4x8xf32>", "tensor<2x2x2x4xf32>")
    assert second.size_bytes == 2 * 4 * 32


def test_sizes_that_are_dynamic_are_not_known() -> None:
    text = """func.func @main(%x: tensor<?x8xf32>, %e: tensor<8x?xf32>) -> tensor<8x?xf32> {
      %r = linalg.transpose ins(%x: tensor<?x8xf32>) outs(%e: tensor<8x?xf32>) permutation = [1, 0]
      return %r : tensor<8x?xf32>
    }"""
    assert [m.size_bytes for m in walked(text).runs] == [None]


def test_functions_that_branch_and_private_ones_are_counted() -> None:
    text = function(
        "cf.br ^end\n^end:",
        """func.func private @other(%x: tensor<4x8xf32>, %e: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %r = linalg.transpose ins(%x: tensor<4x8xf32>) outs(%e: tensor<8x4xf32>) permutation = [1, 0]
      return %r : tensor<8x4xf32>
    }""",
    )
    branching = text.replace("^end:", "^end:\n" + PACK.format("%x"))
    assert counts(walked(branching)) == (1, 0, 1)
