"""What comes with layoutopt of prices on kinds of processors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from layoutopt.compiler.processor import Processor
from layoutopt.options import Options
from layoutopt.planning.explored import Explored
from layoutopt.planning.plan_space import plan_space
from layoutopt.pricing.analytic.lower_bound import roofs_of
from layoutopt.pricing.learned import LOOPS, by_size, described, names_of
from layoutopt.profiles.experience import FILES, Experience, experiences_of
from tests.models import CONVOLUTIONS, chain_of_matmuls
from tests.parsing import lifted
from tests.planning import HOST

SHIPPED = [
    (processor, number) for processor, names in FILES.items() for number in range(len(names))
]


def shipped(processor: Processor, number: int) -> Experience:
    found = experiences_of(replace(HOST, registers=processor.registers))
    assert len(found) == len(FILES[processor])
    return found[number]


@pytest.mark.parametrize(("processor", "number"), SHIPPED)
def test_rows_are_whole_and_reasonable(processor: Processor, number: int) -> None:
    experience = shipped(processor, number)
    assert len(experience.rows) >= 500
    assert {len(row.labels) for row in experience.rows} == {5}
    assert {len(row.place) for row in experience.rows} == {6}
    assert all(-4 < row.log_ratio < 12 for row in experience.rows)
    assert all(len(experience.names_of(row)) == 5 for row in experience.rows)


@pytest.mark.parametrize(("processor", "number"), SHIPPED)
@pytest.mark.parametrize("model", [CONVOLUTIONS, chain_of_matmuls(128, [64, 128, 96])])
def test_its_names_are_those_of_candidates_today(
    model: str, processor: Processor, number: int
) -> None:
    """Else it tells nothing: make it anew where what labels are made of changes."""
    target = replace(HOST, registers=processor.registers)
    space = plan_space(lifted(model), Explored(target, Options()), estimated=False)
    roofs = roofs_of(target.rates)
    loops = [
        names_of(described(work, by_size(work, target), roofs, None))[LOOPS]
        for work in space.candidates.values()
    ]
    names = shipped(processor, number).names(LOOPS)
    assert sum(name in names for name in loops) > 0.6 * len(loops)


def test_other_targets_have_none() -> None:
    avx512 = replace(HOST, registers=Processor.AVX512.registers)
    assert not experiences_of(replace(avx512, measurable=False))
    assert not experiences_of(replace(HOST, registers=None))
    assert not experiences_of(replace(HOST, registers=Processor.NEON.registers))
