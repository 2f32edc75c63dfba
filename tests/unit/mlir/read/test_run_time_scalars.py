"""Scalars that are computed at run time reach structured ops as tensors without dims."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from layoutopt.ir.graph import Opaque, Structured
from layoutopt.ir.types import Array
from layoutopt.oracle import evaluate
from tests.parsing import lifted
from tests.splicing import spliced

X = "tensor<2x3xf32>"
MAP = "affine_map<(i, j) -> (i, j)>"
GENERIC = f"""linalg.generic {{indexing_maps = [{MAP}, affine_map<(i, j) -> ()>, {MAP}],
    iterator_types = ["parallel", "parallel"]}}"""


def body(name: str, scalar: str, captured: str) -> str:
    """``(x - scalar) * captured``."""
    return f"""  {name} = {GENERIC} ins(%x, {scalar} : {X}, f32) outs(%e : {X}) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %m = arith.mulf %d, {captured} : f32
    linalg.yield %m : f32
  }} -> {X}
"""


EXTRACTED = f"""
func.func @f(%x: {X}, %t: tensor<f32>, %n: tensor<1x1xi8>) -> ({X}, {X}) {{
  %zero = arith.constant 0 : index
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : {X}
  %s = tensor.extract %t[] : tensor<f32>
  %q = tensor.extract %n[%zero, %zero] : tensor<1x1xi8>
  %z = arith.sitofp %q : i8 to f32
  %p = arith.mulf %z, %two : f32
{body("%r", "%s", "%p")}
  %f = linalg.fill ins(%p : f32) outs(%e : {X}) -> {X}
  return %r, %f : {X}, {X}
}}
"""


def test_elements_of_tensors_and_what_is_computed_from_them() -> None:
    graph = lifted(EXTRACTED)
    assert not any(isinstance(op, Opaque) for op in graph.ops)
    x, t, n = graph.inputs
    image = np.arange(6, dtype=np.float32).reshape(2, 3)
    half = np.asarray(np.float32(0.5))
    values: dict[int, Array] = {x: image, t: half, n: np.full((1, 1), -3, np.int8)}
    found = evaluate(graph, values)
    results = [found[o] for o in graph.outputs]
    assert any(np.array_equal(r, (image - 0.5) * -6) for r in results)
    assert any(np.array_equal(r, np.full((2, 3), -6)) for r in results)


def test_what_computed_scalars_goes_where_they_are_not_read(tmp_path: Path) -> None:
    text = str(spliced(tmp_path, EXTRACTED).operation)
    assert "tensor.extract" not in text
    assert "arith.sitofp" in text


FROM_OUTSIDE = f"""
func.func @f(%x: {X}, %s: f32) -> {X} {{
  %e = tensor.empty() : {X}
  %p = arith.mulf %s, %s : f32
{body("%r", "%s", "%p")}
  return %r : {X}
}}
"""


def test_scalars_from_outside_are_put_into_a_tensor(tmp_path: Path) -> None:
    graph = lifted(FROM_OUTSIDE)
    assert not any(isinstance(op, Opaque) for op in graph.ops)
    x, s = graph.inputs
    image = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = evaluate(graph, {x: image, s: np.asarray(np.float32(3))})
    assert np.array_equal(found[graph.outputs[0]], (image - 3) * 9)
    text = str(spliced(tmp_path, FROM_OUTSIDE).operation)
    assert text.count("tensor.from_elements %arg1") == 1


KEPT = f"""
func.func private @effect({X}) -> tensor<f32>
func.func @f(%x: {X}) -> ({X}, f32) {{
  %e = tensor.empty() : {X}
  %t = func.call @effect(%x) : ({X}) -> tensor<f32>
  %s = tensor.extract %t[] : tensor<f32>
  %p = arith.addf %s, %s : f32
{body("%r", "%s", "%p")}
  %u = func.call @effect(%r) : ({X}) -> tensor<f32>
  return %r, %p : {X}, f32
}}
"""


def test_scalars_that_an_op_which_stays_reads_are_computed_for_it(tmp_path: Path) -> None:
    graph = lifted(KEPT)
    assert [op.name for op in graph.ops if isinstance(op, Opaque)] == ["func.call", "func.call"]
    text = str(spliced(tmp_path, KEPT).operation)
    lines = [line.strip() for line in text.splitlines()]
    first, second = (i for i, line in enumerate(lines) if "call @effect" in line)
    extract = next(i for i, line in enumerate(lines) if "tensor.extract" in line)
    generics = [i for i, line in enumerate(lines) if "linalg.generic" in line]
    assert first < extract
    assert first < min(generics) < second


def test_a_constant_operand_becomes_part_of_the_body() -> None:
    graph = lifted(
        """func.func @f(%x: tensor<4x8xi8>, %w: tensor<8x5xi8>, %z: i32) -> tensor<4x5xi32> {
          %zero = arith.constant 0 : i32
          %three = arith.constant 3 : i32
          %e = tensor.empty() : tensor<4x5xi32>
          %f = linalg.fill ins(%zero : i32) outs(%e : tensor<4x5xi32>) -> tensor<4x5xi32>
          %r = linalg.quantized_matmul
            ins(%x, %w, %z, %three : tensor<4x8xi8>, tensor<8x5xi8>, i32, i32)
            outs(%f : tensor<4x5xi32>) -> tensor<4x5xi32>
          return %r : tensor<4x5xi32>
        }"""
    )
    (op,) = graph.ops
    assert isinstance(op, Structured)
    assert op.body.arguments == ("i8", "i8", "i32", "i32")
    assert op.source_maps[2] == ()
    x, w, z = graph.inputs
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-128, 128, s).astype(np.int8) for s in ((4, 8), (8, 5)))
    found = evaluate(graph, {x: a, w: b, z: np.asarray(np.int32(-7))})
    wanted = (a.astype(np.int32) + 7) @ (b.astype(np.int32) - 3)
    assert np.array_equal(found[graph.outputs[0]], wanted)


def test_a_border_that_is_known_at_run_time() -> None:
    graph = lifted(
        f"""func.func @f(%x: {X}, %s: f32) -> tensor<4x5xf32> {{
          %r = tensor.pad %x low[1, 0] high[1, 2] {{
          ^bb0(%i: index, %j: index):
            tensor.yield %s : f32
          }} : {X} to tensor<4x5xf32>
          return %r : tensor<4x5xf32>
        }}"""
    )
    assert not any(isinstance(op, Opaque) for op in graph.ops)
    x, s = graph.inputs
    image = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = evaluate(graph, {x: image, s: np.asarray(np.float32(7))})
    wanted = np.pad(image, ((1, 1), (0, 2)), constant_values=7)
    assert np.array_equal(found[graph.outputs[0]], wanted)
