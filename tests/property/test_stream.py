"""Copies between files are the copies that NumPy makes, for all shapes, strides and blocks."""

import math
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from layoutopt.errors import InputError
from layoutopt.ir.types import Array
from layoutopt.parameters import stream
from layoutopt.parameters.stream import ByteFile, block_sizes, copy_blocks, open_file
from tests.property.layouts import shapes


def file_of(contents: bytes) -> ByteFile:
    with tempfile.TemporaryFile() as file:
        file.write(contents)
        file.flush()
        return ByteFile("test", file.fileno(), len(contents), writable=True)


def contents_of(file: ByteFile) -> bytes:
    return file.bytes.tobytes()


@given(
    st.data(), shapes(empty=False), st.sampled_from([1, 2, 4]), st.sampled_from([1, 8, 40, 1 << 20])
)
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_copy_is_what_numpy_says(
    monkeypatch: pytest.MonkeyPatch,
    data: st.DataObject,
    shape: tuple[int, ...],
    width: int,
    block: int,
) -> None:
    monkeypatch.setattr(stream, "BLOCK_BYTES", block)
    kind = np.dtype(f"u{width}")
    steps = [data.draw(st.sampled_from([1, 1, 2, -1, 7])) for _ in shape]
    whole = [n * abs(step) for n, step in zip(shape, steps, strict=True)]
    order = data.draw(st.permutations(range(len(shape))))
    source_file = file_of(os.urandom(3 + math.prod(whole) * width))
    target_file = file_of(bytes(math.prod(shape) * width))
    view: Array = source_file.bytes[3:].view(kind).reshape(whole)
    view = view[tuple(slice(None, None, step) for step in steps)].transpose(order)
    target = target_file.bytes.view(kind).reshape(view.shape)
    expected = view.copy()
    copy_blocks(view, target, (source_file, target_file))
    assert contents_of(target_file) == expected.tobytes()


@given(shapes(empty=False), st.integers(1, 100), st.data())
def test_a_block_holds_no_more_than_it_may(
    shape: tuple[int, ...], limit: int, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(shape))))
    source = np.empty([shape[d] for d in order], np.uint8).transpose(np.argsort(order))
    sizes = block_sizes(shape, source, np.empty(shape, np.uint8), limit)
    assert all(1 <= size <= n for size, n in zip(sizes, shape, strict=True))
    assert math.prod(sizes) <= limit


def test_a_broadcast_from_memory_fills_the_target() -> None:
    file = file_of(bytes(24))
    target = file.bytes.view(np.uint16).reshape(3, 4)
    copy_blocks(np.broadcast_to(np.uint16(7), (3, 4)), target, (file,))
    assert target.tolist() == [[7] * 4] * 3


def test_a_file_that_was_cut_off_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "w.bin"
    path.write_bytes(bytes(64))
    file, target = open_file(path), file_of(bytes(64))
    os.truncate(path, 10)
    with pytest.raises(InputError) as error:
        copy_blocks(file.bytes, target.bytes, (file, target))
    assert str(error.value) == (
        f"{path}: expected its length to stay, but got a shorter file; restore it"
    )
