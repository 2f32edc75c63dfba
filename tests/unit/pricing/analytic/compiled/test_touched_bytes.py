"""What dispatches load and store, from the sources that IREE writes of its executables."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.pricing.analytic.compiled.touched_bytes import touched_bytes

_PART = "!iree_tensor_ext.dispatch.tensor"


def load(value: str, binding: str, offsets: str, kind: str) -> str:
    return (
        f"%{value} = iree_tensor_ext.dispatch.tensor.load %{binding}, offsets = [{offsets}], "
        f"sizes = [4, 8], strides = [1, 1] : {_PART}<readonly:tensor<99x99xf32>> -> tensor<{kind}>"
    )


def store(value: str, binding: str, kind: str) -> str:
    return (
        f"iree_tensor_ext.dispatch.tensor.store %{value}, %{binding}, offsets = [0], sizes = [4], "
        f"strides = [1] : tensor<{kind}> -> {_PART}<writeonly:tensor<{kind}>>"
    )


@pytest.mark.parametrize(
    ("lines", "size_bytes"),
    [
        ([load("3", "0", "0, 0", "4x8xf16"), store("4", "1", "4xf32")], 64 + 16),
        ([load("3", "0", "0, 0", "4x8xf16"), load("5", "0", "0, 0", "4x8xf16")], 64),
        ([load("3", "0", "0, 0", "4x8xf16"), load("5", "0", "1, 0", "4x8xf16")], 128),
        ([load("3", "0", "0", "99xi64"), "%5 = tensor.extract %3[%a]", store("4", "1", "f32")], 4),
        ([load("3", "0", "0, 0", "?x8xf16"), store("4", "1", "4xf32")], None),
        ([store("4", "1", "f32")], 4),
        ([store("4", "1", "2xcomplex<f32>")], 16),
        ([store("4", "1", "4x4xf32, #iree_encoding.testing<>")], 64),
    ],
)  # fmt: skip
def test_each_part_counts_once(lines: list[str], size_bytes: int | None, tmp_path: Path) -> None:
    body = "\n".join(lines)
    (tmp_path / "module_a_dispatch_0.mlir").write_text(
        f"hal.executable @x {{ func.func @a_dispatch_0() {{\n{body}\n}} }}\n"
    )
    assert {n: t.size_bytes() for n, t in touched_bytes(tmp_path).items()} == {
        "a_dispatch_0": size_bytes
    }


def test_open_sizes_follow_from_what_a_dispatch_is_handed(tmp_path: Path) -> None:
    body = """
        %0 = hal.interface.constant.load layout(<constants = 2>) ordinal(0) : i32
        %1 = hal.interface.constant.load layout(<constants = 2>) ordinal(1) : i32
        %2 = arith.extui %0 : i32 to i64
        %3 = arith.index_castui %2 : i64 to index
        %4:2 = util.assume.int
            %3<umin = 0>,
            %3<udiv = 8>
          : index, index
        %5 = iree_tensor_ext.dispatch.workload.ordinal %4#1, 0 : index
        %6 = iree_tensor_ext.dispatch.tensor.load %b, offsets = [0, 0], sizes = [%5, 8], \
strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x8xf16>>{%5} -> tensor<?x8xf16>
"""
    (tmp_path / "module_a_dispatch_0.mlir").write_text(
        f"hal.executable @x {{ func.func @a_dispatch_0() {{{body}}} }}\n"
    )
    found = touched_bytes(tmp_path)["a_dispatch_0"]
    assert found.size_bytes((100, 0)) == 100 * 8 * 2
    assert found.size_bytes() is None
    assert found.size_bytes((None, 0)) is None
