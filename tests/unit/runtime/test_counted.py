"""Memory of a call on devices that begin to compute later than they are asked to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from layoutopt.ir.types import Array
from layoutopt.runtime.binding import Call


class Account:
    """An allocator whose first call also brings weights of 1000 bytes, as a GPU's does."""

    has_statistics = True

    def __init__(self) -> None:
        self.calls = 0
        self.statistics = dict.fromkeys(
            ("device_bytes_peak", "device_bytes_allocated", "device_bytes_freed"), 0
        )

    def call(self) -> None:
        known = self.statistics
        weights = 0 if self.calls else 1000
        self.calls += 1
        allocated = known["device_bytes_allocated"] + weights + 10
        held = allocated - known["device_bytes_freed"]
        self.statistics = {
            "device_bytes_peak": max(held, known["device_bytes_peak"]),
            "device_bytes_allocated": allocated,
            "device_bytes_freed": known["device_bytes_freed"] + 10,
        }


@dataclass(frozen=True)
class Accounted(Call):
    def _called(self) -> tuple[tuple[Array, ...], Mapping[str, int]]:
        self.device.allocator.call()
        return (), self.device.allocator.statistics


@pytest.mark.parametrize(("is_host", "counted", "calls"), [(False, 10, 2), (True, 1010, 1)])
def test_what_initializers_left_to_do_is_not_memory_of_a_call(
    is_host: bool, counted: int, calls: int
) -> None:
    account = Account()
    call = Accounted(SimpleNamespace(allocator=account), None, None, None, None, is_host)
    assert call.run_counted() == ((), counted)
    assert account.calls == calls
