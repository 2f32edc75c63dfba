from __future__ import annotations

from pathlib import Path

from layoutopt.runtime.job import (
    ArrayFile,
    Event,
    EventKind,
    Job,
    Task,
    decode_event,
    decode_job,
    encode_event,
    encode_job,
)
from layoutopt.runtime.outcome import Outcome
from layoutopt.runtime.sampling import Protocol


def test_a_job_survives_the_pipe(tmp_path: Path) -> None:
    file = ArrayFile(str(tmp_path / "x.npy"), "bf16")
    job = Job(
        tasks=(
            Task(
                3, "m.vmfb", "c3", (file, file), (file,), (file,), "a note", True, 7, str(tmp_path)
            ),
        ),
        protocol=Protocol(budget_ns=5),
        weights=(("c3_w_0", file),),
        archives=(("model", "w.irpa"),),
        best_ns=((7, 12.5),),
        calibration="calibration.vmfb",
    )
    line = encode_job(job)
    assert "\n" not in line
    assert decode_job(line) == job


def test_an_event_survives_the_pipe() -> None:
    event = Event(
        EventKind.RESULT, 3, Outcome.MISMATCH, (1, 2), "wrong\nnumbers", (ArrayFile("a", "f32"),)
    )
    line = encode_event(event)
    assert "\n" not in line
    assert decode_event(line) == event
