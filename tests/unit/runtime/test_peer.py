"""A peer is one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.errors import InputError
from layoutopt.runtime import peers
from layoutopt.runtime.peer import check_peers, peer_names, timed_here

ABACUS = '''"""Beads."""

from collections.abc import Callable

PACKAGE = "json"


def runner(model: str, threads: int) -> Callable[[], object]:
    return lambda: sum(range(threads))
'''


def test_the_peers_are_the_files() -> None:
    assert peer_names() == ("onnxruntime", "openvino")


def test_a_new_file_is_a_new_peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "abacus.py").write_text(ABACUS)
    monkeypatch.setattr(peers, "__path__", [*peers.__path__, str(tmp_path)])
    assert peer_names() == ("abacus", "onnxruntime", "openvino")
    check_peers(("abacus",))
    assert timed_here("abacus", "model.onnx", 3) >= 0


def test_a_peer_whose_package_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sundial.py").write_text(ABACUS.replace("json", "no_such_package"))
    monkeypatch.setattr(peers, "__path__", [*peers.__path__, str(tmp_path)])
    with pytest.raises(InputError, match="expected the package 'no_such_package'"):
        check_peers(("sundial",))
