"""Packed files and modules: what is moved, what stays and why, what is refused."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from layoutopt.errors import InputError
from layoutopt.ir.types import Array
from layoutopt.mlir.module import parse_module
from layoutopt.options import ParameterFile
from layoutopt.parameters import contents
from layoutopt.parameters.archive import ArchiveEntry, archive_of
from layoutopt.parameters.pack import KeptWeight, PackedWeights, pack_weights
from layoutopt.runtime.binding import StoredParameter, read_parameters
from tests.parameters import planned, transposed, write_archive

W = '#stream.parameter.named<"model"::"w">'


def named(symbol: str, key: str, kind: str, scope: str = "model") -> str:
    attribute = f'#stream.parameter.named<"{scope}"::"{key}">'
    return f"util.global private @{symbol} = {attribute} : tensor<{kind}>"


def pack(folder: Path, module: str, file: Path, scope: str | None = None) -> PackedWeights:
    (folder / "plan.mlir").write_text(module)
    return pack_weights(
        folder / "plan.mlir", ParameterFile(file, scope), folder / "new.irpa", folder / "new.mlir"
    )


def entries(path: Path) -> dict[str, StoredParameter]:
    return {entry.key: entry for entry in read_parameters(path)}


def array(path: Path, key: str, kind: str = "<f4") -> Array:
    entry = entries(path)[key]
    stored = path.read_bytes()[entry.offset : entry.offset + entry.size_bytes]
    return np.frombuffer(stored, kind)


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    return write_archive(tmp_path / "old.irpa", {"w": weight, "other": np.ones(2, np.float32)})


def test_a_converted_weight_replaces_the_one_that_is_not_read(
    tmp_path: Path, numbers: Path
) -> None:
    module = planned(transposed("t", "w", 3, 4), "", named("w", "w", "3x4xf32"))
    found = pack(tmp_path, module, numbers)
    (packed,) = found.packed
    assert packed.key.startswith("w.4x3-")
    assert (packed.sources, found.kept, found.dropped) == (("w",), (), ("w",))
    assert list(entries(tmp_path / "new.irpa")) == ["other", packed.key]
    expected = np.arange(12).reshape(3, 4).T.ravel().tolist()
    assert array(tmp_path / "new.irpa", packed.key).tolist() == expected
    assert array(tmp_path / "new.irpa", "other").tolist() == [1, 1]
    text = (tmp_path / "new.mlir").read_text()
    assert "util.initializer" not in text
    assert f'@t = #stream.parameter.named<"model"::"{packed.key}"> : tensor<4x3xf32>' in text
    assert '"model"::"w"' not in text


def test_a_weight_that_is_read_as_it_was_stays_beside_its_copy(
    tmp_path: Path, numbers: Path
) -> None:
    load = "%w = util.global.load @w : tensor<3x4xf32>"
    module = planned(transposed("t", "w", 3, 4), load, named("w", "w", "3x4xf32"))
    found = pack(tmp_path, module, numbers)
    assert found.dropped == ()
    assert list(entries(tmp_path / "new.irpa")) == ["w", "other", found.packed[0].key]


def test_equal_conversions_are_held_once(tmp_path: Path, numbers: Path) -> None:
    twice = transposed("t", "w", 3, 4) + transposed("u", "w", 3, 4)
    found = pack(tmp_path, planned(twice, "", named("w", "w", "3x4xf32")), numbers)
    assert len(found.packed) == 1
    assert (tmp_path / "new.mlir").read_text().count(found.packed[0].key) == 2


def test_safetensors_are_read(tmp_path: Path) -> None:
    key = "a b/c=:>, d"
    head = json.dumps({key: {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}}).encode()
    weight = np.arange(12, dtype=np.float32)
    path = tmp_path / "old.safetensors"
    path.write_bytes(struct.pack("<Q", len(head)) + head + weight.tobytes())
    module = planned(transposed("t", "w", 3, 4), "", named("w", key, "3x4xf32"))
    found = pack(tmp_path, module, path)
    (new,) = parse_module(tmp_path / "new.mlir").parameters
    assert new.key == found.packed[0].key
    assert new.key.startswith(key)
    expected = weight.reshape(3, 4).T.ravel().tolist()
    assert array(tmp_path / "new.irpa", new.key).tolist() == expected


def test_a_splat_stays_one_and_metadata_stays(tmp_path: Path) -> None:
    archive = archive_of(
        [ArchiveEntry("w", 48, struct.pack("<f", 2.5)), ArchiveEntry("b", 4, b"", b"PYTORCH:")]
    )
    path = tmp_path / "old.irpa"
    path.write_bytes(archive.head.ljust(archive.size_bytes, b"\0"))
    module = planned(transposed("t", "w", 3, 4), "", named("w", "w", "3x4xf32"))
    found = pack(tmp_path, module, path)
    new = entries(tmp_path / "new.irpa")
    assert new[found.packed[0].key].pattern == struct.pack("<f", 2.5)
    assert new[found.packed[0].key].size_bytes == 48
    assert new["b"].metadata == b"PYTORCH:"


@pytest.mark.parametrize(
    ("body", "element", "reason"),
    [
        (
            "%t = arith.negf %w : tensor<3x4xf32>",
            "f32",
            "arith.negf is not known here",
        ),
        (
            "%e = tensor.empty() : tensor<3x4xf32>\n"
            "%t = linalg.map { math.exp } ins(%w : tensor<3x4xf32>) outs(%e : tensor<3x4xf32>)",
            "f32",
            "math.exp computes new values",
        ),
        (
            "%c = arith.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>\n"
            "%s = tensor.concat dim(0) %w, %c : (tensor<3x4xf32>, tensor<1x4xf32>)"
            " -> tensor<4x4xf32>\n"
            "%t = tensor.extract_slice %s[1, 0] [3, 4] [1, 1] : tensor<4x4xf32> to tensor<3x4xf32>",
            "f32",
            "arith.constant is not a parameter",
        ),
    ],
    ids=["unknown", "computed", "constant"],
)
def test_what_is_no_movement_stays_with_its_reason(
    tmp_path: Path, numbers: Path, body: str, element: str, reason: str
) -> None:
    initializer = f"""
      util.global private @t : tensor<3x4x{element}>
      util.initializer {{
        %w = util.global.load @w : tensor<3x4xf32>
        {body}
        util.global.store %t, @t : tensor<3x4x{element}>
        util.return
      }}"""
    found = pack(tmp_path, planned(initializer, "", named("w", "w", "3x4xf32")), numbers)
    assert found.packed == ()
    assert found.kept == (KeptWeight("t", reason),)
    assert list(entries(tmp_path / "new.irpa")) == ["w", "other"]
    assert "util.initializer" in (tmp_path / "new.mlir").read_text()


def test_weights_of_another_scope_stay(tmp_path: Path, numbers: Path) -> None:
    parameters = "\n".join([named("w", "w", "3x4xf32"), named("v", "v", "3x4xf32", "lora")])
    both = transposed("t", "w", 3, 4) + transposed("u", "v", 3, 4)
    found = pack(tmp_path, planned(both, "", parameters), numbers, "model")
    assert len(found.packed) == 1
    assert found.kept == (KeptWeight("u", 'it reads "lora"::"v", of another scope'),)


def failure(folder: Path, module: str, file: Path, scope: str | None = None) -> str:
    with pytest.raises(InputError) as error:
        pack(folder, module, file, scope)
    assert not (folder / "new.irpa").exists()
    assert not (folder / "new.mlir").exists()
    return str(error.value)


def test_a_scope_that_is_not_said(tmp_path: Path, numbers: Path) -> None:
    parameters = "\n".join([named("w", "w", "3x4xf32"), named("v", "v", "3x4xf32", "lora")])
    assert failure(tmp_path, planned("", "", parameters), numbers) == (
        f"{numbers}: expected a file of one of the scopes model, lora, but got no scope; "
        "give it as SCOPE=FILE"
    )
    assert failure(tmp_path, planned("", "", parameters), numbers, "mode") == (
        f"{numbers}: expected a file of one of the scopes model, lora, but got scope 'mode'; "
        "give it as SCOPE=FILE"
    )


def test_a_parameter_of_another_size(tmp_path: Path, numbers: Path) -> None:
    module = planned(transposed("t", "w", 3, 5), "", named("w", "w", "3x5xf32"))
    assert failure(tmp_path, module, numbers) == (
        f"{numbers}: parameter 'w': expected 60 bytes for tensor<3x5xf32>, but got 48; give the "
        "file that the model was exported with"
    )


def test_a_parameter_that_is_missing(tmp_path: Path, numbers: Path) -> None:
    module = planned(transposed("t", "w", 3, 4), "", named("w", "v", "3x4xf32"))
    assert failure(tmp_path, module, numbers) == (
        f"{numbers}: expected a parameter 'v', but got 2 others; give the file that the model was "
        "exported with"
    )


def test_a_module_without_parameters(tmp_path: Path, numbers: Path) -> None:
    assert failure(tmp_path, planned(""), numbers) == (
        f"{tmp_path / 'plan.mlir'}: expected a module that names parameters, but got none; its "
        "weights are inside already"
    )


def test_outputs_are_no_inputs(tmp_path: Path, numbers: Path) -> None:
    (tmp_path / "plan.mlir").write_text(planned("", "", named("w", "w", "3x4xf32")))
    plan, file = tmp_path / "plan.mlir", ParameterFile(numbers)
    with pytest.raises(InputError) as error:
        pack_weights(plan, file, numbers, tmp_path / "new.mlir")
    assert str(error.value) == (
        f"{numbers}: expected another file than the one that is read, but got the same; rename it"
    )
    with pytest.raises(InputError) as error:
        pack_weights(plan, file, tmp_path / "new.gguf", tmp_path / "new.mlir")
    assert str(error.value) == (
        f"{tmp_path / 'new.gguf'}: expected a file that ends in .irpa, but got '.gguf'; rename it"
    )


def test_killed_and_run_again_it_writes_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    file = write_archive(tmp_path / "old.irpa", {"w": rng.random((64, 48), np.float32)})
    (tmp_path / "plan.mlir").write_text(
        planned(transposed("t", "w", 64, 48), "", named("w", "w", "64x48xf32"))
    )
    (tmp_path / "killed").mkdir()
    script = f"""
import os, signal
from pathlib import Path
from layoutopt.parameters import contents
from layoutopt.options import ParameterFile
from layoutopt.parameters.pack import pack_weights
contents.PART_BYTES = 1024
def progress(done, total):
    if done > 5000:
        os.kill(os.getpid(), signal.SIGKILL)
folder = Path({str(tmp_path)!r})
pack_weights(folder / "plan.mlir", ParameterFile(folder / "old.irpa"),
             folder / "killed/new.irpa", folder / "killed/new.mlir", progress)
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", script], check=False, env=environment)
    assert run.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed/new.irpa").exists()
    monkeypatch.setattr(contents, "PART_BYTES", 1024)
    plan, source = tmp_path / "plan.mlir", ParameterFile(file)
    again = pack_weights(plan, source, tmp_path / "killed/new.irpa", tmp_path / "killed/new.mlir")
    assert again.resumed_bytes > 5000
    whole = pack_weights(plan, source, tmp_path / "new.irpa", tmp_path / "new.mlir")
    assert whole.resumed_bytes == 0
    for name in ("new.irpa", "new.mlir"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / name).read_bytes()
    assert sorted(p.name for p in (tmp_path / "killed").iterdir()) == ["new.irpa", "new.mlir"]
