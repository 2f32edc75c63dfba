from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutopt.errors import LoweringError
from layoutopt.runtime.dispatch import (
    DispatchTime,
    dispatch_events,
    dispatch_times,
    read_profile,
)
from layoutopt.runtime.setting import RunSetting
from layoutopt.runtime.signature import FunctionSignature, parse_declaration


def test_declarations() -> None:
    text = "sync func @main(%input0: tensor<1x?x4xf32>, %input1: i32) -> (%output0: tensor<i64>)"
    expected = FunctionSignature("main", ("tensor<1x?x4xf32>", "i32"), ("tensor<i64>",))
    assert parse_declaration("main", text) == expected
    assert parse_declaration("f", "sync func @f() -> ()") == FunctionSignature("f", (), ())


def test_a_profile_gives_each_call_its_fastest_runs() -> None:
    order = [("matmul", 10), ("softmax", 5), ("matmul", 20)] * 5
    rows: list[dict[str, object]] = [
        {"type": "host_dispatch_event", "event_id": number, "key": key, "duration_ns": duration}
        for number, (key, duration) in enumerate(order)
    ]
    rows[0]["duration_ns"] = 1000  # the first call, with cold caches
    rows[5]["duration_ns"] = 50  # and one that something else got in the way of
    rows.append({"type": "dispatch_summary", "total": 9})
    text = "\n".join(json.dumps(row) for row in rows)
    assert read_profile(text, 5) == [
        DispatchTime("matmul", 2, 15.0, (10.0, 20.0)),
        DispatchTime("softmax", 1, 5.0, (5.0,)),
    ]


def test_events_of_a_device_count_where_its_clock_is_known() -> None:
    rows: list[dict[str, object]] = [
        {"type": "dispatch_event", "event_id": 1, "key": "k", "duration_ns": 0, "valid": True,
         "duration_ticks": 900, "derived_time_available": False},
        {"type": "dispatch_event", "event_id": 2, "key": "k", "duration_ns": 70, "valid": True,
         "duration_ticks": 700, "derived_time_available": True},
    ]  # fmt: skip
    text = "\n".join(json.dumps(row) for row in rows)
    assert read_profile(text, 1) == [DispatchTime("k", 1, 70.0, (70.0,))]


@pytest.mark.parametrize(
    ("device", "events"),
    [
        ("local-sync", "host-execution"),
        ("local-task", "host-execution"),
        ("vulkan://0", "dispatch-events"),
        ("cuda://0", None),
        ("hip://GPU-1", None),
    ],
)
def test_drivers_that_time_dispatches(device: str, events: str | None) -> None:
    assert dispatch_events(device) == events


def test_a_driver_that_does_not_time_dispatches() -> None:
    with pytest.raises(LoweringError) as caught:
        dispatch_times(Path("none.vmfb"), "main", [], RunSetting("cuda://0"))
    assert str(caught.value) == (
        "cuda://0: expected a driver that times dispatches (local-sync, local-task, vulkan), "
        "but got one that does not; run it without a profile"
    )


def test_calls_that_run_side_by_side_share_the_time() -> None:
    """Their sum is the time in which anything ran: 0 to 40 and 50 to 60."""
    rows = [("a", 0, 20), ("b", 10, 40), ("c", 10, 30), ("d", 50, 60)]
    text = "\n".join(
        json.dumps(
            {
                "type": "host_dispatch_event",
                "event_id": number,
                "key": key,
                "start_host_time_ns": start,
                "end_host_time_ns": end,
                "duration_ns": end - start,
            }
        )
        for number, (key, start, end) in enumerate(rows)
    )
    found = {time.name: time.mean_ns for time in read_profile(text, 1)}
    third = 10 / 3
    expected = {"a": 10 + third, "b": third + 5 + 10, "c": third + 5, "d": 10}
    assert found == pytest.approx(expected)
    assert sum(found.values()) == pytest.approx(50)
