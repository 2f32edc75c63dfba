"""Run the address arithmetic of a kernel for some workgroups: which bytes lanes touch, how often.

Only what addresses and branches depend on is computed. Of each loop the first iterations are run;
how many there are follows from how far the exit condition moves in one, as it is linear in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutopt.pricing.analytic.compiled.lane_values import (
    Env,
    Lanes,
    Rule,
    Value,
    difference_of,
    operands_of,
    rule_of,
    typed,
)
from layoutopt.pricing.analytic.compiled.launch import Call, Geometry, starting_values
from layoutopt.pricing.analytic.compiled.llvm_ir import (
    Function,
    Instruction,
    UnreadableError,
    split_operands,
    take_type,
)
from layoutopt.pricing.analytic.compiled.loops import Region, regions
from layoutopt.pricing.analytic.compiled.memory_instructions import (
    MemoryInstruction,
    address_names,
    memory_of,
)

Mask = NDArray[np.bool_]
SAMPLED = 2
"""Iterations of a loop that are run."""
MOST_ITERATIONS = 256
"""Iterations that are run where the number does not follow from the first ones."""


@dataclass(frozen=True, slots=True)
class Access:
    """One instruction that reads or writes memory, in one iteration that was run."""

    loop: int
    """Number of the loop that it stands in, outer ones first; 0 is the kernel outside of loops."""
    sample: tuple[int, ...]
    """Which iteration of each loop around it."""
    weight: float
    """Iterations that this one stands for."""
    space: str
    """``global`` or ``lds``."""
    writes: bool
    lane_bytes: int
    addresses: Lanes | None
    """First byte for each (workgroup, lane); None where it is not known."""
    mask: Mask
    """Lanes that take part."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What came of a run."""

    accesses: tuple[Access, ...]
    trips: tuple[float, ...]
    """How often each loop's body runs in one wave, in all; 1 for the kernel outside of loops."""
    depths: tuple[int, ...]
    """How many loops are around the body of each, itself included."""


def trace(
    function: Function, shared: dict[str, int], geometry: Geometry, call: Call
) -> Trace:  # fmt: skip
    """Run a function. Raises UnreadableError where it is beyond this model."""
    return _Run(function, geometry, starting_values(function, shared, geometry, call)).result()


class _Run:
    def __init__(self, function: Function, geometry: Geometry, env: Env) -> None:
        self._function = function
        self._geometry = geometry
        self._env = env
        self._shape = (len(geometry.workgroups), geometry.lanes)
        self._blocks = function.blocks
        self._defined = {
            i.result: i for b in function.blocks.values() for i in b.instructions if i.result
        }
        entry = next(iter(function.blocks))
        successors = {name: block.successors for name, block in function.blocks.items()}
        self._whole = regions(entry, successors)
        loops = self._whole.loops()
        self._numbers = {id(region): number for number, region in enumerate(loops)}
        self._memory = {
            id(i): found
            for block in function.blocks.values()
            for i in block.instructions
            for found in [memory_of(i)]
            if found
        }
        self._rules = self._needed_rules()
        self._accesses: list[Access] = []
        self._counts: list[tuple[int, float]] = []
        self._depths = tuple(sum(r.members <= o.members for o in loops) - 1 for r in loops)

    def result(self) -> Trace:
        x, y, z = self._geometry.size
        inside = np.broadcast_to(self._env["linear"] < x * y * z, self._shape)
        with np.errstate(over="ignore"):  # integers of a kernel wrap
            self._region(self._whole, np.array(inside), ())
        trips = [1.0, *(0.0 for _ in self._depths[1:])]
        for number, rounds in self._counts:
            trips[number] += rounds
        return Trace(tuple(self._accesses), tuple(trips), self._depths)

    def _needed_rules(self) -> dict[int, Rule]:
        """Of the instructions that addresses and branches depend on."""
        wanted: list[str] = []
        for block in self._blocks.values():
            for i in block.instructions:
                if id(i) in self._memory:
                    wanted += address_names(i)
            wanted += operands_of(block.instructions[-1])
        found: dict[int, Rule] = {}
        seen: set[str] = set()
        while wanted:
            name = wanted.pop()
            if name in seen or name not in self._defined:
                continue
            seen.add(name)
            made = self._defined[name]
            rule = _phi if made.opcode == "phi" else rule_of(made)
            if rule is not None:
                found[id(made)] = rule
                wanted += operands_of(made)
        return found

    def _region(
        self, region: Region, mask: Mask, sample: tuple[int, ...]
    ) -> dict[tuple[str, str], Mask]:
        """Run the blocks of a region once; masks of the edges that leave it, or lead back."""
        place = self._numbers[id(region)], sample
        into: dict[str, list[tuple[str, Mask]]] = {}
        left: dict[tuple[str, str], Mask] = {}
        for name in region.order:
            arrived = into.get(name, [])
            own = mask if name == region.header else _union(arrived, self._shape)
            if not own.any():
                continue
            if name in region.inner:
                out = self._loop(region.inner[name], own, arrived, sample)
            else:
                out = self._block(name, own, arrived, place)
            for (source, goal), held in out.items():
                if goal in region.members and goal != region.header:
                    into.setdefault(goal, []).append((source, held))
                else:
                    left[source, goal] = held
        return left

    def _block(
        self, name: str, mask: Mask, arrived: list[tuple[str, Mask]],
        place: tuple[int, tuple[int, ...]],
    ) -> dict[tuple[str, str], Mask]:  # fmt: skip
        block = self._blocks[name]
        for i in block.instructions:
            for memory in self._memory.get(id(i), ()):
                self._touch(memory, mask, place)
            rule = self._rules.get(id(i))
            if rule is None:
                continue
            if i.opcode != "phi":
                self._env[i.result] = rule(self._env)
            elif arrived:  # of the header of a loop, they are set already
                self._env[i.result] = self._merged(i, arrived)
        return self._out(name, block.instructions[-1], mask)

    def _out(self, name: str, end: Instruction, mask: Mask) -> dict[tuple[str, str], Mask]:
        goals = self._blocks[name].successors
        if end.opcode == "switch":
            raise UnreadableError("a switch in the kernel")
        if len(goals) < 2:
            return {(name, goal): mask for goal in goals}
        condition = typed(split_operands(end.rest)[0])[1](self._env)
        if condition is None:  # it depends on what is in memory: both ways are taken
            return {(name, goal): mask for goal in goals}
        taken = np.broadcast_to(np.asarray(condition, bool), self._shape)
        return {(name, goals[0]): mask & taken, (name, goals[1]): mask & ~taken}

    def _merged(self, phi: Instruction, into: list[tuple[str, Mask]]) -> Value:
        """The value of a phi: of each lane, from where it came."""
        sources = _phi_sources(phi)
        found: Any = None
        for source, mask in into:
            if source not in sources or not mask.any():
                continue
            value = sources[source](self._env)
            if value is None:
                return None
            found = value if found is None else _chosen(mask, value, found)
        return found

    def _touch(
        self, memory: MemoryInstruction, mask: Mask, place: tuple[int, tuple[int, ...]]
    ) -> None:
        parts: list[Any] = [part(self._env) for part in memory.parts]
        known = all(part is not None and not isinstance(part, tuple) for part in parts)
        addresses = np.broadcast_to(sum(parts), self._shape) if known else None
        number, sample = place
        taking = None if memory.elements is None else memory.elements(self._env)
        if isinstance(taking, tuple):
            some = np.logical_or.reduce([np.broadcast_to(one, self._shape) for one in taking])
            mask = mask & some
        self._accesses.append(
            Access(number, sample, 1.0, memory.space, memory.writes, memory.lane_bytes,
                   addresses, mask)
        )  # fmt: skip

    def _loop(
        self, region: Region, mask: Mask, into: list[tuple[str, Mask]], sample: tuple[int, ...]
    ) -> dict[tuple[str, str], Mask]:  # fmt: skip
        """Run the first iterations and count them all; masks of the edges that leave it."""
        number = self._numbers[id(region)]
        first_access, first_count = len(self._accesses), len(self._counts)
        left: dict[tuple[str, str], Mask] = {}
        differences: list[dict[str, Value]] = []
        now, arrived, total = mask, into, 0.0
        while now.any():
            if len(differences) >= MOST_ITERATIONS:
                raise UnreadableError("a loop whose length does not follow from its first rounds")
            self._enter(region.header, arrived)
            out = self._region(region, now, (*sample, len(differences)))
            total += self._waves(now)
            differences.append(self._differences(region))
            arrived = [(s, m) for (s, goal), m in out.items() if goal == region.header]
            for edge, held in out.items():
                if edge[1] != region.header:
                    left[edge] = left[edge] | held if edge in left else held
            now = _union(arrived, self._shape)
            if len(differences) == SAMPLED and now.any():
                rounds = self._rounds(region, *differences)
                if rounds is not None:
                    total += self._waves(now) * max(0.0, rounds - SAMPLED)
                    left = dict.fromkeys(self._exits(region), mask)
                    break
        rounds = total / max(self._waves(mask), 1)
        self._scale(first_access, first_count, rounds / max(len(differences), 1))
        self._counts.append((number, total / self._waves(np.ones(self._shape, bool))))
        return left

    def _enter(self, header: str, arrived: list[tuple[str, Mask]]) -> None:
        """Set the phis of a loop's header, all from the values before."""
        phis = [i for i in self._blocks[header].instructions if id(i) in self._rules]
        merged = {i.result: self._merged(i, arrived) for i in phis if i.opcode == "phi"}
        self._env.update(merged)

    def _scale(self, access: int, count: int, share: float) -> None:
        """Let each iteration that was run stand for as many as there are."""
        for place in range(access, len(self._accesses)):
            found = self._accesses[place]
            self._accesses[place] = replace(found, weight=found.weight * share)
        for place in range(count, len(self._counts)):
            number, rounds = self._counts[place]
            self._counts[place] = number, rounds * share

    def _waves(self, mask: Mask) -> int:
        """Waves with some lane in a mask."""
        return int(mask.reshape(-1, self._geometry.wave_size).any(axis=1).sum())

    def _exits(self, region: Region) -> Iterator[tuple[str, str]]:
        for name in sorted(region.members):
            for goal in self._blocks[name].successors:
                if goal not in region.members:
                    yield name, goal

    def _differences(self, region: Region) -> dict[str, Value]:
        """Left side less right side of the comparison that each exit depends on."""
        found: dict[str, Value] = {}
        for name, _ in self._exits(region):
            compared = self._comparison(name)
            difference = None if compared is None else difference_of(compared.rest)
            if difference is not None:
                found[name] = difference(self._env)
        return found

    def _comparison(self, name: str) -> Instruction | None:
        """What decides where a block goes on; None where that is no comparison."""
        condition = re.match(r"i1 (%[\w.$-]+)", self._blocks[name].instructions[-1].rest)
        made = None if condition is None else self._defined.get(condition[1])
        return made if made is not None and made.opcode == "icmp" else None

    def _rounds(
        self, region: Region, first: dict[str, Value], second: dict[str, Value]
    ) -> float | None:  # fmt: skip
        """Iterations until the exit that comes first; None where that does not follow."""
        found = []
        for name in first.keys() & second.keys():
            start, then, compared = first[name], second[name], self._comparison(name)
            if start is None or then is None or compared is None:
                continue
            predicate = compared.rest.removeprefix("samesign ").split(" ")[0][-2:]
            if self._blocks[name].successors[0] not in region.members:
                predicate = _OPPOSITE[predicate]
            passed = rounds_until(predicate, start, then - start)
            if passed is not None:
                found.append(passed + 1)
        return min(found, default=None)


_OPPOSITE = {"eq": "ne", "ne": "eq", "gt": "le", "le": "gt", "lt": "ge", "ge": "lt"}


def rounds_until(predicate: str, start: Lanes, step: Lanes) -> float | None:
    """Steps until `start + steps * step`, compared with zero, is no longer as the predicate says.

    The mean over lanes; None where it never comes to that.
    """
    towards = step > 0 if predicate in ("lt", "le") else step < 0
    if predicate == "eq" or (predicate != "ne" and not np.all(towards)) or np.any(step == 0):
        return None
    steps = -start / step
    if predicate in ("le", "ge"):
        steps = np.floor(steps) + 1
    found = float(np.mean(np.ceil(steps)))
    return found if found >= 0 else None


def _phi(env: Any) -> Value:
    """Phis are merged where control meets, not computed."""
    return env.get("")


def _phi_sources(phi: Instruction) -> dict[str, Rule]:
    kind, rest = take_type(phi.rest)
    found = {}
    for part in split_operands(rest):
        value, source = (text.strip() for text in part.strip("[] ").rsplit(",", 1))
        found[source] = typed(f"{kind} {value}")[1]
    return found


def _chosen(mask: Mask, new: Any, old: Any) -> Any:
    if isinstance(new, tuple):
        return tuple(np.where(mask, a, b) for a, b in zip(new, old, strict=True))
    return np.where(mask, new, old)


def _union(parts: Iterable[tuple[str, Mask]], shape: tuple[int, int]) -> Mask:
    found = np.zeros(shape, bool)
    for _, mask in parts:
        found |= mask
    return found
