"""Which globals are state whose layout can change."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.mlir.module import Module, parse_module
from layoutopt.pipeline.block_flow import control_flow

T = "tensor<4x6xf32>"
FUNCTION = f"""
func.func @main(%x: {T}) -> {T} {{
  %s = util.global.load @s : {T}
  %e = tensor.empty() : {T}
  %y = linalg.map {{ arith.addf }} ins(%s, %x : {T}, {T}) outs(%e : {T})
  util.global.store %y, @s : {T}
  return %y : {T}
}}"""
PRIVATE = f"util.global private mutable @s = dense<0.0> : {T}"


def parsed(folder: Path, text: str) -> Module:
    path = folder / "model.mlir"
    path.write_text(text)
    return parse_module(path)


def test_loads_and_stores_of_all_functions_are_one_tensor(tmp_path: Path) -> None:
    module = parsed(tmp_path, PRIVATE + FUNCTION + FUNCTION.replace("@main", "@other"))
    (carried,) = (c.tensor for c in module.carried)
    assert carried.name == "@s"
    assert carried.is_state
    assert [place for place, _ in carried.made] == [0, 1]
    assert [place for place, _ in carried.read] == [0, 1]
    assert control_flow(module, {}).groups == ((0,), (1,))
    assert control_flow(module, {}, free_state=True).groups == ((0, 1),)


def test_what_is_stored_and_returned_is_read_otherwise(tmp_path: Path) -> None:
    module = parsed(tmp_path, PRIVATE + FUNCTION)
    assert module.graphs[0].handed_only == {}
    returned = FUNCTION.replace("return %y", "return %x")
    (graph,) = parsed(tmp_path, PRIVATE + returned).graphs
    assert list(graph.handed_only.values()) == [{"@s"}]


@pytest.mark.parametrize(
    "text",
    [
        PRIVATE.replace("private ", "") + FUNCTION,
        PRIVATE.replace(" mutable", "") + FUNCTION.replace(f"util.global.store %y, @s : {T}", ""),
        PRIVATE.replace(T, "tensor<?x6xf32>").replace("= dense<0.0> ", "")
        + FUNCTION.replace(f"@s : {T}", "@s : tensor<?x6xf32>")
        .replace("%s = util", "%d = util")
        .replace("%e =", f"%s = tensor.cast %d : tensor<?x6xf32> to {T} %e =")
        .replace("util.global.store %y", f"%z = tensor.cast %y : {T} to tensor<?x6xf32> "
                 "util.global.store %z"),
        PRIVATE
        + FUNCTION
        + f"""
        util.initializer {{
          %s = util.global.load @s : {T}
          util.global.store %s, @s : {T}
          util.return
        }}""",
        PRIVATE
        + FUNCTION
        + f"""
        func.func @address() -> {T} {{
          %a = util.global.address @s : !util.ptr<{T}>
          %s = util.global.load.indirect %a : !util.ptr<{T}> -> {T}
          return %s : {T}
        }}""",
    ],
    ids=["public", "immutable", "dynamic", "read ahead", "address"],
)  # fmt: skip
def test_other_globals_stay(tmp_path: Path, text: str) -> None:
    assert parsed(tmp_path, text).carried == ()
