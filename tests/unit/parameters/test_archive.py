"""The head of an archive is what IREE's own writer makes of the same entries."""

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from iree import runtime

from layoutopt.parameters.archive import ArchiveEntry, archive_of
from layoutopt.runtime.binding import StoredParameter, read_parameters

SPLATS = st.builds(
    lambda pattern, count, metadata: (pattern, b"", len(pattern) * count, metadata),
    st.sampled_from([b"\x07", b"ab", b"abcd", b"abcdefgh"]),
    st.integers(1, 50),
    st.text("m", max_size=5),
)
DATA = st.builds(
    lambda contents, metadata: (b"", contents, len(contents), metadata),
    st.binary(max_size=150),
    st.text("m", max_size=5),
)


@given(st.lists(st.one_of(SPLATS, DATA), max_size=5), st.integers(0, 30))
@settings(max_examples=60)
def test_it_is_byte_for_byte_what_iree_writes(
    tmp_path_factory: object, made: list[tuple[bytes, bytes, int, str]], length: int
) -> None:
    index = runtime.ParameterIndex()
    entries = []
    for number, (pattern, contents, size, metadata) in enumerate(made):
        key = f"{number}:{'x' * length}"
        if pattern:
            index.add_splat(key, pattern, size, metadata=metadata or None)
        else:
            buffer = np.frombuffer(contents, np.uint8).copy()
            index.add_buffer(key, buffer, metadata=metadata or None)
        entries.append(ArchiveEntry(key, size, pattern, metadata.encode()))
    path = Path(tmp_path_factory.mktemp("archive")) / "a.irpa"  # type: ignore[attr-defined]
    index.create_archive_file(str(path))
    archive = archive_of(entries)
    mine = bytearray(archive.head.ljust(archive.size_bytes, b"\0"))
    for (_, contents, _, _), at in zip(made, archive.offsets, strict=True):
        if contents:
            mine[at : at + len(contents)] = contents
    assert bytes(mine) == path.read_bytes()


def test_entries_come_back(tmp_path: Path) -> None:
    archive = archive_of(
        [ArchiveEntry("w", 8, b"", b"TENSORv0:{}"), ArchiveEntry("s", 12, b"abcd")]
    )
    path = tmp_path / "a.irpa"
    path.write_bytes(archive.head.ljust(archive.size_bytes, b"\0"))
    assert read_parameters(path) == (
        StoredParameter("w", 8, archive.offsets[0], b"", b"TENSORv0:{}"),
        StoredParameter("s", 12, 0, b"abcd"),
    )
