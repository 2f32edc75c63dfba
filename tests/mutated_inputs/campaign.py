"""Cases by number: the same seed and number give the same damage and the same command line."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutated_inputs.contained import Running
from tests.mutated_inputs.kinds import KINDS, Kind
from tests.mutated_inputs.verdict import fault


@dataclass(frozen=True, slots=True)
class Case:
    """One damaged file and the command line that reads it."""

    number: int
    kind: Kind
    file: str
    damaged: bytes
    command: str

    @property
    def outputs(self) -> tuple[str, ...]:
        """What the command line writes where it ends well."""
        return tuple(name for name in self.kind.outputs if name in self.command)


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that did not end as it should."""

    case: Case
    fault: str

    def __str__(self) -> str:
        return f"case {self.case.number}, {self.case.kind.name}: {self.case.command}: {self.fault}"


def case_of(seed: int, number: int, kinds: Sequence[Kind], seeds: Path) -> Case:
    """A case, the same for the same arguments."""
    chance = random.Random(f"{seed} {number}")
    (kind,) = chance.choices(kinds, [k.weight for k in kinds])
    pattern = chance.choice(kind.files)
    path = chance.choice(sorted(seeds.glob(pattern)))
    data = path.read_bytes()
    for _ in range(chance.choice((1, 1, 1, 2))):
        data = chance.choice(kind.mutations)(data, chance)
    file = str(path.relative_to(seeds))
    command = chance.choice(kind.commands).replace("{stem}", path.name.split(".")[0])
    return Case(number, kind, file, data, command.replace("{}", file))


def known(names: Sequence[str], measured: bool) -> tuple[Kind, ...]:
    """The kinds of these names, or all."""
    return tuple(
        k for k in KINDS if (not names or k.name in names) and (measured or not k.measured)
    )


def run(cases: Iterator[Case], seeds: Path, work: Path, jobs: int) -> Iterator[Failure | None]:
    """Run cases side by side; None for each one that ends as it should."""
    running: list[tuple[Case, Running]] = []
    more = True
    while more or running:
        while more and len(running) < jobs:
            case = next(cases, None)
            more = case is not None
            if case is not None:
                running.append((case, _started(case, seeds, work / str(case.number))))
        for pair in list(running):
            case, process = pair
            ended = process.ended()
            if ended is None:
                continue
            running.remove(pair)
            found = fault(ended, process.folder, case.outputs)
            if found is None:
                shutil.rmtree(process.folder)
            yield None if found is None else Failure(case, found)
        time.sleep(0.005)


def _started(case: Case, seeds: Path, folder: Path) -> Running:
    shutil.copytree(seeds, folder)
    shutil.copy(folder / "prices.sqlite", folder / "undamaged.sqlite")
    (folder / case.file).write_bytes(case.damaged)
    return Running.start(case.command.split(), folder)
