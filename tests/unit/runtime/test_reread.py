"""MLIR is read by a process of its own first, which may crash, hang or want all memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from iree.compiler import ir

from layoutopt.errors import InputError
from layoutopt.runtime import reread as module
from layoutopt.runtime.reread import reread

TEXT = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n"


def read(path: Path) -> str:
    """The module that was written, as text; what went wrong otherwise."""
    output = path.with_name("out.mlirbc")
    try:
        reread(path, output, "correct it")
    except InputError as error:
        assert not output.exists() or not output.stat().st_size
        return str(error)
    return str(ir.Module.parse(output.read_bytes(), ir.Context()))


def test_text_and_bytecode_come_out_the_same(tmp_path: Path) -> None:
    text = tmp_path / "m.mlir"
    text.write_text(TEXT)
    once = read(text)
    assert "func.func @f" in once
    again = tmp_path / "again.mlirbc"
    again.write_bytes((tmp_path / "out.mlirbc").read_bytes())
    assert read(again) == once


def test_an_error_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(TEXT.replace("return", "foo.bar"))
    told = read(path)
    assert told == (
        f"{path}:2:3: expected MLIR that parses, but got Dialect `foo' not found for custom op "
        "'foo.bar'; correct it"
    )


def test_damaged_bytecode_ends_no_process_of_ours(tmp_path: Path) -> None:
    """Each prefix, and each byte of the head set to its largest value."""
    path = tmp_path / "m.mlir"
    path.write_text(TEXT)
    read(path)
    whole = (tmp_path / "out.mlirbc").read_bytes()
    damaged = tmp_path / "damaged.mlirbc"
    for at in range(4, len(whole), 16):
        for content in (whole[:at], whole[:at] + b"\xff" + whole[at + 1 :]):
            damaged.write_bytes(content)
            told = read(damaged)
            assert told.startswith(("module", "#", f"{damaged}: expected MLIR that parses, but "))


def test_a_time_limit_and_a_crash_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(TEXT)
    tool = tmp_path / "tool"
    monkeypatch.setattr(module, "find_tool", lambda name: str(tool))
    for script, got in (("kill -ABRT $$", "crashed (SIGABRT)"),
                        ("sleep 60", "did not finish within 0.2 s")):  # fmt: skip
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(0o755)
        with pytest.raises(InputError) as caught:
            reread(path, tmp_path / "out.mlirbc", "correct it", 0.2)
        assert str(caught.value) == (
            f"{path}: expected MLIR that parses, but got iree-opt {got}; correct it"
        )


def test_shardy_is_named_with_a_way_around_it(tmp_path: Path) -> None:
    """A dialect of JAX that IREE does not read."""
    path = tmp_path / "model.mlir"
    path.write_text("""module {
  sdy.mesh @mesh = <["x"=1]>
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
""")
    with pytest.raises(InputError) as raised:
        reread(path, tmp_path / "read.mlirbc", "correct it")
    assert str(raised.value) == (
        f"{path}:2:3: expected dialects that IREE reads, but got Shardy (sdy); export it behind "
        "`jax.config.update('jax_use_shardy_partitioner', False)`, which says where tensors lie in "
        "another way"
    )
