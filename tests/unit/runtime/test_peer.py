"""A peer is one file; it runs in a process of its own, in turns with what else is timed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from layoutopt.errors import InputError
from layoutopt.runtime import peers
from layoutopt.runtime.element import Array, save_array
from layoutopt.runtime.job import ArrayFile
from layoutopt.runtime.peer import PeerCall, PeerRequest, check_peers, peer_names

ABACUS = '''"""Beads."""

PACKAGE = "json"


def runner(model, threads, inputs):
    if model == "slow.onnx":
        raise ValueError("too many beads\\nto count")
    print("native code prints to stdout")
    return lambda: [threads * inputs[0], inputs[1].sum()]
'''


@pytest.fixture
def abacus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A peer in a folder of its own, found by this process and by those that it starts."""
    folder = tmp_path / "peers"
    folder.mkdir()
    (folder / "abacus.py").write_text(ABACUS)
    start_up = "from layoutopt.runtime import peers\npeers.__path__.append({!r})\n"
    (tmp_path / "sitecustomize.py").write_text(start_up.format(str(folder)))
    monkeypatch.setattr(peers, "__path__", [*peers.__path__, str(folder)])
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path.cwd()}")
    return folder


def request(folder: Path, model: str = "model.onnx") -> PeerRequest:
    files = []
    arrays: tuple[Array, ...] = (np.arange(3, dtype=np.float32), np.ones(4, np.int64))
    for place, array in enumerate(arrays):
        path = folder / f"{place}.npy"
        files.append(ArrayFile(str(path), save_array(path, array)))
    return PeerRequest("abacus", model, 2, tuple(files), str(folder))


def test_the_peers_are_the_files() -> None:
    assert peer_names() == ("onnxruntime", "openvino")


def test_a_new_file_is_a_new_peer(abacus: Path) -> None:
    assert peer_names() == ("abacus", "onnxruntime", "openvino")
    check_peers(("abacus",))
    with PeerCall(request(abacus)) as call:
        first, second = call.run()
        assert 0 < call.time_ns(5) < 1e9
    np.testing.assert_array_equal(first, np.array([0, 2, 4], np.float32))
    assert second == 4


def test_what_a_peer_raises_is_its_reason(abacus: Path) -> None:
    with pytest.raises(RuntimeError, match=r"^too many beads$"):
        PeerCall(request(abacus, "slow.onnx"))


def test_a_peer_that_dies(abacus: Path) -> None:
    with PeerCall(request(abacus)) as call:
        call._process.kill()
        with pytest.raises(RuntimeError, match="abacus is gone"):
            call.run()


def test_a_peer_whose_package_is_missing_is_named(abacus: Path) -> None:
    (abacus / "sundial.py").write_text(ABACUS.replace("json", "no_such_package"))
    with pytest.raises(InputError, match="expected the package 'no_such_package'"):
        check_peers(("sundial",))
