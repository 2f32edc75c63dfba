"""Memory of a call by the accounts that devices keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from layoutopt.ir.types import Array
from layoutopt.runtime.binding import Call

MIB = 1 << 20


def account(peak: float, allocated: float, freed: float) -> dict[str, int]:
    names = ("device_bytes_peak", "device_bytes_allocated", "device_bytes_freed")
    return {name: round(n * MIB) for name, n in zip(names, (peak, allocated, freed), strict=True)}


@dataclass(frozen=True)
class Accounted(Call):
    after: Mapping[str, int] = field(default_factory=dict)

    def _called(self) -> tuple[tuple[Array, ...], Mapping[str, int]]:
        return (), self.after


@pytest.mark.parametrize(
    ("is_host", "before", "after", "held"),
    [
        # weights of 27 MiB and an argument of 0.19, as IREE 3.13 accounts for them on an H100
        (False, account(27.19, 0, 0), account(29.44, 2.25, 2.06), 2.25),
        (False, account(29.44, 2.25, 2.25), account(29.62, 4.5, 4.31), 2.25),
        # the same where IREE computes in the memory of the host
        (True, account(27.19, 27.19, 0), account(29.44, 29.44, 2.06), 2.25),
        (True, account(40, 27.19, 0), account(40, 29.44, 2.06), 2.25),
    ],
)
def test_weights_and_arguments_are_no_memory_of_a_call(
    is_host: bool, before: Mapping[str, int], after: Mapping[str, int], held: float
) -> None:
    device = SimpleNamespace(allocator=SimpleNamespace(has_statistics=True, statistics=before))
    call = Accounted(device, None, None, None, None, is_host, after)
    assert call.run_counted() == ((), held * MIB)
