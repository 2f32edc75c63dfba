"""What a call costs without its dispatches, where one dispatch alone takes another way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from layoutopt.ir.types import Array
from layoutopt.runtime.binding import Call, Clock, Program
from layoutopt.runtime.job import ONE_DISPATCH, SEVERAL, SEVERAL_DISPATCHES, TWO_DISPATCHES
from layoutopt.runtime.rounds import Runner
from layoutopt.runtime.worker import _calibrate

# As an H100 was seen to take them: a dispatch by itself 178 us, two of them 43 us.
TIMES = {
    ONE_DISPATCH: 178_000.0,
    TWO_DISPATCHES: 43_000.0,
    SEVERAL_DISPATCHES: 43_000.0 + (SEVERAL - 2) * 4_000.0,
}


class Timed:
    def __init__(self, nanoseconds: float) -> None:
        self._nanoseconds = nanoseconds

    def run(self) -> tuple[Array, ...]:
        return ()

    def time_ns(self, calls: int, clock: Clock) -> float:
        return self._nanoseconds


class Calibrating:
    def prepare(self, function: str, arguments: Sequence[Array]) -> Timed:
        return Timed(TIMES[function])


def test_many_launches_are_compared_with_several_dispatches() -> None:
    call = cast(Call, Timed(0.0))
    runner = Runner(0, 0, "m", call, 0.0, many=call)
    _calibrate([runner], cast(Program, Calibrating()), lambda: 0)
    assert (runner.base_ns, runner.many_base_ns) == (174_000.0, 35_000.0)
