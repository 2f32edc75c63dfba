from __future__ import annotations

import json

from layoutopt.runtime.dispatch import DispatchTime, read_profile
from layoutopt.runtime.model import FunctionSignature, parse_declaration


def test_declarations() -> None:
    text = "sync func @main(%input0: tensor<1x?x4xf32>, %input1: i32) -> (%output0: tensor<i64>)"
    expected = FunctionSignature("main", ("tensor<1x?x4xf32>", "i32"), ("tensor<i64>",))
    assert parse_declaration("main", text) == expected
    assert parse_declaration("f", "sync func @f() -> ()") == FunctionSignature("f", (), ())


def test_a_profile_gives_each_call_its_median() -> None:
    order = [("matmul", 10), ("softmax", 5), ("matmul", 20)] * 3
    rows: list[dict[str, object]] = [
        {"type": "host_dispatch_event", "event_id": number, "key": key, "duration_ns": duration}
        for number, (key, duration) in enumerate(order)
    ]
    rows[0]["duration_ns"] = 1000  # the first call, with cold caches
    rows.append({"type": "dispatch_summary", "total": 9})
    text = "\n".join(json.dumps(row) for row in rows)
    assert read_profile(text, 3) == [
        DispatchTime("matmul", 2, 15.0, (10.0, 20.0)),
        DispatchTime("softmax", 1, 5.0, (5.0,)),
    ]
