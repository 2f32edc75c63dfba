"""A file that appears whole or not at all, and goes on where it stopped."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest

from layoutopt.errors import InputError
from layoutopt.parameters.partial import Part, PartialFile, partial_file


def fill(file: PartialFile, part: Part, value: int) -> None:
    at, size = part
    file.contents.write(file.contents.bytes[at : at + size], np.full(size, value, np.uint8))
    file.finish(part)


def interrupted(output: Path, job: str, *parts: tuple[Part, int]) -> frozenset[Part]:
    """Write some parts, then stop; what was finished before."""
    before: frozenset[Part] = frozenset()
    with contextlib.suppress(KeyboardInterrupt), partial_file(output, job, 8) as file:
        before = file.finished
        for part, value in parts:
            fill(file, part, value)
        raise KeyboardInterrupt
    assert not output.exists()
    return before


def stop_after_one_part(output: Path, job: str = "job") -> None:
    interrupted(output, job, ((0, 4), 7))


def finished(output: Path, job: str = "job") -> frozenset[Part]:
    return interrupted(output, job)


def test_it_takes_its_name_at_the_end_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    output = tmp_path / "w.irpa"
    with partial_file(output, "job", 8) as file:
        fill(file, (0, 4), 1)
        fill(file, (4, 4), 2)
        assert not output.exists()
    assert output.read_bytes() == b"\1\1\1\1\2\2\2\2"
    assert [p.name for p in tmp_path.iterdir()] == ["w.irpa"]


def test_a_second_run_knows_what_the_first_one_finished(tmp_path: Path) -> None:
    output = tmp_path / "w.irpa"
    stop_after_one_part(output)
    assert not output.exists()
    with partial_file(output, "job", 8) as file:
        assert file.finished == {(0, 4)}
        fill(file, (4, 4), 2)
    assert output.read_bytes() == b"\7\7\7\7\2\2\2\2"


def test_another_job_starts_from_nothing(tmp_path: Path) -> None:
    output = tmp_path / "w.irpa"
    stop_after_one_part(output)
    assert finished(output, "another") == frozenset()


def test_a_part_whose_bytes_changed_is_not_finished(tmp_path: Path) -> None:
    output = tmp_path / "w.irpa"
    stop_after_one_part(output)
    with (tmp_path / ".w.irpa.partial").open("r+b") as file:
        file.write(b"x")
    assert finished(output) == frozenset()


@pytest.mark.parametrize("torn", ['{"part": [4, 4], "sha', '{"part": [4, 4], "sha256": ""}', "7\n"])
def test_a_line_that_was_not_written_to_its_end_does_not_count(tmp_path: Path, torn: str) -> None:
    output = tmp_path / "w.irpa"
    stop_after_one_part(output)
    with (tmp_path / ".w.irpa.journal").open("a") as file:
        file.write(torn)
    assert finished(output) == {(0, 4)}


def test_a_torn_line_does_not_swallow_the_next_one(tmp_path: Path) -> None:
    output = tmp_path / "w.irpa"
    stop_after_one_part(output)
    with (tmp_path / ".w.irpa.journal").open("a") as file:
        file.write('{"part": [4')
    interrupted(output, "job", ((4, 4), 2))
    assert finished(output) == {(0, 4), (4, 4)}


def test_two_processes_do_not_write_one_file(tmp_path: Path) -> None:
    output = tmp_path / "w.irpa"
    with partial_file(output, "job", 8), pytest.raises(InputError) as error:
        finished(output)
    assert str(error.value) == (
        f"{output}: expected to be the only one that writes it, but got another process that "
        "does; wait for it, or choose another output"
    )


def test_a_full_disk_is_said_before_anything_is_written(tmp_path: Path) -> None:
    output = tmp_path / "w.irpa"
    text = "expected room for 4611686018427387904 bytes"
    with pytest.raises(InputError, match=text), partial_file(output, "job", 1 << 62):
        pass
    assert not output.exists()


def test_the_journal_says_what_it_is_for(tmp_path: Path) -> None:
    stop_after_one_part(tmp_path / "w.irpa", "this job")
    first = (tmp_path / ".w.irpa.journal").read_text().splitlines()[0]
    assert json.loads(first) == {"job": "this job"}
