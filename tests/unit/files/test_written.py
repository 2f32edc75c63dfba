from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from layoutopt.errors import InputError
from layoutopt.files.written import check_writable, write_text, written_atomically


def fail_half_way(path: Path, error: Exception) -> None:
    with written_atomically(path) as partial:
        partial.write_text("half")
        raise error


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")
    with written_atomically(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")
    with pytest.raises(InputError) as caught:
        fail_half_way(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert str(caught.value) == (
        f"{path}: expected a file that can be written, but got no space left on device; "
        "make room or choose another output"
    )
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_any_other_error_goes_on_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        fail_half_way(tmp_path / "out", ZeroDivisionError())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or directory"):
        write_text(tmp_path / "gone" / "out", "text")
    with pytest.raises(InputError, match="a folder that can be written"):
        check_writable(tmp_path / "gone" / "out")
    assert list(tmp_path.iterdir()) == []
