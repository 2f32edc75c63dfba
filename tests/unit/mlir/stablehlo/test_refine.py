"""What becomes of StableHLO that computes sizes: ranges, checks, loops, and what is not proved."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layoutopt.mlir.stablehlo.module import leaves_sizes_open, refine, size_names
from layoutopt.mlir.stablehlo.unproved import UnprovedSize
from layoutopt.runtime.reread import reread
from tests.computed_sizes import COMPUTED, module
from tests.parsing import module_text

EXPORT = Path(__file__).parents[3] / "jax" / "symbolic_batch.mlir"
X = "tensor<?x4xf32>"


def refined(folder: Path, text: str) -> str:
    """The module behind the rewrites, as text."""
    (folder / "model.mlir").write_text(text)
    reread(folder / "model.mlir", folder / "model.mlirbc", "correct it")
    refine(folder / "model.mlirbc", folder / "refined.mlirbc")
    return module_text(folder / "refined.mlirbc")


def stated(direction: str, one: str, other: str, more: str = "") -> str:
    """A function that asserts a comparison of its rows."""
    return f"""
func.func @main(%x: {X}) -> {X} {{
  %c2 = stablehlo.constant dense<2> : tensor<i32>
  %c6 = stablehlo.constant dense<6> : tensor<i32>
  %b = stablehlo.get_dimension_size %x, dim = 0 : ({X}) -> tensor<i32>
  {more}
  %p = stablehlo.compare {direction}, {one}, {other} : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%p) {{error_message = "as stated", has_side_effect = true}}
      : (tensor<i1>) -> ()
  return %x : {X}
}}
"""


@pytest.mark.parametrize(
    ("direction", "one", "other", "more", "range_"),
    [
        ("GE", "%b", "%c6", "", "umin = 6"),
        ("GT", "%b", "%c6", "", "umin = 7"),
        ("LE", "%b", "%c6", "", "umax = 6"),
        ("LT", "%b", "%c6", "", "umax = 5"),
        ("LT", "%c6", "%b", "", "umin = 7"),
        ("EQ", "%b", "%c6", "", "umin = 6, umax = 6"),
        ("EQ", "%r", "%c0", "%r = stablehlo.remainder %b, %c6 : tensor<i32>", "udiv = 6"),
        ("EQ", "%b", "%m", "%q = stablehlo.divide %b, %c6 : tensor<i32>\n"
         "%m = stablehlo.multiply %q, %c6 : tensor<i32>", "udiv = 6"),
        ("GE", "%d", "%c6", "%d = stablehlo.multiply %b, %c2 : tensor<i32>", "umin = 3"),
        ("GE", "%d", "%c2", "%d = stablehlo.subtract %c6, %b : tensor<i32>", "umax = 4"),
    ],
)  # fmt: skip
def test_what_is_asserted_is_a_range_and_a_check(
    tmp_path: Path, direction: str, one: str, other: str, more: str, range_: str
) -> None:
    zero = "%c0 = stablehlo.constant dense<0> : tensor<i32>\n"
    text = refined(tmp_path, stated(direction, one, other, zero + more + _used("%b")))
    assert f"util.assume.int %dim<{range_}> : index" in text
    assert "cf.assert %" in text
    assert '"as stated"' in text
    assert "shape_assertion" not in text


def _used(number: str) -> str:
    """An op that needs the number as a size."""
    return f"""
  %s = stablehlo.reshape {number} : (tensor<i32>) -> tensor<1xi32>
  %i = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
"""


def test_checks_read_the_size_that_nothing_is_stated_of(tmp_path: Path) -> None:
    """Else the compiler would fold them: a size of at least 6 is at least 6."""
    text = refined(tmp_path, stated("GE", "%b", "%c6", _used("%b")))
    (condition,) = re.findall(r"cf.assert (%\w+)", text)
    assert re.search(rf"{condition} = arith.cmpi sge, %dim, %c6", text)


def test_nothing_asserted_leaves_no_statement(tmp_path: Path) -> None:
    text = refined(tmp_path, COMPUTED["reshape"].text)
    assert "util.assume.int" not in text
    assert "tensor.collapse_shape" in text


def test_ops_that_tell_sizes_are_gone(tmp_path: Path) -> None:
    names = [name for name in COMPUTED if name != "positions"]
    text = refined(tmp_path, module(names))
    assert not re.search(r"stablehlo\.(dynamic_\w+|real_dynamic_slice)", text)


CHANGING = f"""
func.func @main(%x: {X}, %n: tensor<i32>) -> {X} {{
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c0, %a = %x) : tensor<i32>, {X} cond {{
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %k = stablehlo.add %i, %c1 : tensor<i32>
    %y = stablehlo.concatenate %a, %x, dim = 0 : ({X}, {X}) -> {X}
    stablehlo.return %k, %y : tensor<i32>, {X}
  }}
  %b = stablehlo.get_dimension_size %r#1, dim = 0 : ({X}) -> tensor<i32>
  %s = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
  %f = stablehlo.constant dense<4> : tensor<1xi32>
  %t = stablehlo.concatenate %s, %f, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %w = stablehlo.constant dense<1.0> : tensor<f32>
  %v = stablehlo.dynamic_broadcast_in_dim %w, %t, dims = [] : (tensor<f32>, tensor<2xi32>) -> {X}
  %o = stablehlo.add %r#1, %v : {X}
  return %o : {X}
}}
"""


def test_a_loop_that_grows_what_it_carries_has_sizes_of_its_own(tmp_path: Path) -> None:
    text = refined(tmp_path, CHANGING)
    behind = text.partition("stablehlo.return %")[2]
    (size,) = re.findall(r"(%\w+) = tensor.dim %\d+#1", behind)
    assert f"tensor.empty({size})" in behind


def repeated(shape: str) -> str:
    return f"""
func.func @main(%x: tensor<?xf32>, %y: {X}, %n: tensor<2xi32>) -> {X} {{
  %b = stablehlo.get_dimension_size %y, dim = 0 : ({X}) -> tensor<i32>
  %s = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
  %f = stablehlo.constant dense<4> : tensor<1xi32>
  %t = stablehlo.concatenate %s, %f, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %r = "stablehlo.dynamic_broadcast_in_dim"(%x, {shape}) <{{broadcast_dimensions = array<i64: 0>}}>
      : (tensor<?xf32>, tensor<2xi32>) -> {X} loc("model.py":3:7)
  return %r : {X}
}}
"""


@pytest.mark.parametrize(("shape", "target"), [("%t", "arg1.0"), ("%n", "n2")])
def test_what_may_repeat_or_not_is_refused(tmp_path: Path, shape: str, target: str) -> None:
    with pytest.raises(UnprovedSize) as raised:
        refined(tmp_path, repeated(shape))
    assert raised.value.place == "model.py:3:7"
    assert raised.value.got == f"arg0.0, which is repeated to {target}"


@pytest.mark.parametrize(("known", "place"), [("nonexpanding", "d0"), ("expanding", "0")])
def test_what_the_model_says_of_repeats_is_taken(tmp_path: Path, known: str, place: str) -> None:
    given = "broadcast_dimensions = array<i64: 0>"
    text = repeated("%t").replace(given, f"{given}, known_{known}_dimensions = array<i64: 0>")
    assert f"affine_map<(d0, d1) -> ({place})>" in refined(tmp_path, text)


def test_open_sizes_and_their_names_are_found(tmp_path: Path) -> None:
    assert leaves_sizes_open(EXPORT)
    assert size_names(EXPORT) == {"arg0.0": "b"}
    (tmp_path / "static.mlir").write_text(stated("GE", "%c2", "%c6").replace("?", "3"))
    assert not leaves_sizes_open(tmp_path / "static.mlir")
    assert size_names(tmp_path / "static.mlir") == {}
