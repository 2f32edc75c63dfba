"""What the user may choose; the defaults serve most."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from layoutopt.errors import InputError
from layoutopt.ir.size import MOST
from layoutopt.rules.rewrites import every_rule
from layoutopt.rules.rule import EVERY_EXACTNESS, Exactness, RewriteRule
from layoutopt.runtime.sampling import WeightsFrom
from layoutopt.solver import Search


class Objective(StrEnum):
    """What a plan is to have the least of."""

    LATENCY = "latency"  # time
    CONVERSIONS = "conversions"  # conversions at run time, with every contraction packed


class Resource(StrEnum):
    """What a plan may have less of for more time."""

    MEMORY = "memory"  # of tensors while a call runs
    WEIGHTS = "weights"  # copies of weights in other layouts


class Effort(StrEnum):
    """How much is priced before a plan is taken to be the cheapest."""

    QUICK = "quick"  # what is expected to be in the plan, by the prices of candidates like it
    NORMAL = "normal"  # also what may be cheaper, as far as those prices tell
    THOROUGH = "thorough"  # all that could be cheaper at the best rates that were seen


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one optimization."""

    threads: int = 1
    """Threads that the model runs with; prices are measured with as many."""
    time_limit_s: float = 60.0
    """Seconds for solving, all functions and rounds of a run together; then the best plan known."""
    free_io_layout: bool = False
    """Inputs and outputs may take any layout; the report says which."""
    free_state_layout: bool = False
    """Private mutable globals may take any layout that all functions agree on; the report says
    which."""
    weight_budget: Budget | None = None
    """What copies of weights in other layouts may take; a share is of the model's weights, None
    for no bound."""
    memory_budget: Budget | None = None
    """What tensors may take in memory while a call runs, weights and arguments aside; a share is of
    what the model takes as it came, None for no bound."""
    trade_offs: frozenset[Resource] = frozenset()
    """What to plan with several budgets of, to tell what a plan with less of it costs."""
    search: Search = Search.ILP
    """An algorithm, or its name."""
    effort: Effort = Effort.NORMAL
    """How much is priced, or its name."""
    objective: Objective = Objective.LATENCY
    """The least time, or the fewest run-time conversions with every contraction packed; or its
    name."""
    lower_packs: bool = False
    """Write all packs and unpacks as reshapes and transposes, not only where those cost less."""
    tolerance: float | None = None
    """Largest difference from the original's results, relative to the size of each; None for what
    rounding explains, by the types inside and the lengths of sums."""
    exact: bool = False
    """Only forms that sum in another order, none that rounds in another way (Winograd's)."""
    rules: tuple[RewriteRule[Any], ...] = field(default_factory=every_rule)
    """The rewrite rules that make alternatives, in the order that they are tried."""
    sizes: tuple[PlannedSize, ...] = ()
    """Sizes that are planned for, of those that are known at run time only."""
    size_ranges: tuple[SizeRange, ...] = ()
    """What is known of such sizes beside what the model says; written modules check it."""
    specializations: int = 4
    """Bodies that a function may have at most, each for a range of its sizes; 1 for one plan."""
    trip_counts: tuple[TripCount, ...] = ()
    """How often blocks of control flow run that do not tell."""
    verify: bool = True
    """Where the target is not here, compile and run the plan on this machine's CPU."""
    parameters: tuple[ParameterFile, ...] = ()
    """Files with the parameters that the model leaves outside: it is run with them."""
    weights_from: WeightsFrom | None = None
    """Where a candidate finds its weights while it is priced, or its name; None for where a run of
    the model finds them, by how many bytes they are."""
    device: str | None = None
    """Device to measure on; None for the target's own."""
    cache: Path | str | None = None
    """Folder of prices and converted models; None for the user's cache folder."""
    compile_timeout_s: float = 900.0
    """Seconds for compiling a whole model once."""
    peers: tuple[str, ...] = ()
    """Other runtimes that the same ONNX model is timed with, in the same turns."""
    remember: bool = True
    """Take the times of whole models from the cache where these very modules were run before."""
    compile_candidates: bool = True
    """For a GPU that is not here: price candidates by their compiled kernels, by no roofline."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "search", _named(Search, "search", self.search))
        object.__setattr__(self, "effort", _named(Effort, "effort", self.effort))
        if self.weights_from is not None:
            named = _named(WeightsFrom, "weights_from", self.weights_from)
            object.__setattr__(self, "weights_from", named)
        object.__setattr__(self, "objective", _named(Objective, "objective", self.objective))
        if self.specializations < 1:
            raise InputError(
                "Options.specializations",
                "1 or more",
                str(self.specializations),
                "correct the option",
            )

    @property
    def admitted(self) -> frozenset[Exactness]:
        """How far the numbers of two forms of an op may differ for both to be candidates."""
        if not self.exact:
            return EVERY_EXACTNESS
        return frozenset((Exactness.BIT_EXACT, Exactness.REASSOCIATES))


def rules_without(names: Iterable[str]) -> tuple[RewriteRule[Any], ...]:
    """The rewrite rules but for these. Raises InputError for a name that none has."""
    left_out = set(names)
    rules = every_rule()
    for name in sorted(left_out - {rule.name for rule in rules}):
        raise InputError(
            "--without-rule",
            "the name of a rewrite, as `layoutopt rules` lists them",
            f"'{name}'",
            "correct the option",
        )
    return tuple(rule for rule in rules if rule.name not in left_out)


_Choice = TypeVar("_Choice", bound=StrEnum)


def _named(choices: type[_Choice], option: str, name: str) -> _Choice:
    """The choice of a name. Raises InputError where there is none."""
    if name not in set(choices):
        raise InputError(
            f"Options.{option}", f"one of {', '.join(choices)}", f"'{name}'", "correct the option"
        )
    return choices(name)


@dataclass(frozen=True, slots=True)
class ParameterFile:
    """A file and the scope that its parameters are for; None for the only one that there is."""

    path: Path
    scope: str | None = None

    @classmethod
    def parse(cls, text: str) -> ParameterFile:
        """``FILE`` or ``SCOPE=FILE``."""
        scope, sign, path = text.partition("=")
        if not sign or "/" in scope:
            return cls(Path(text))
        return cls(Path(path), scope)


@dataclass(frozen=True, slots=True)
class PlannedSize:
    """A size that is known at run time only, and what is planned for in its place."""

    name: str
    """As the report names it: ``arg0.1`` is dim 1 of the first argument."""
    sizes: tuple[int, ...]
    """The whole model is timed at the first."""
    weights: tuple[float, ...] = ()
    """How much the time at each size counts; empty where all count the same."""

    @classmethod
    def parse(cls, text: str) -> PlannedSize:
        """``NAME=SIZE[,SIZE..][:WEIGHT,..]``. Raises InputError for anything else."""
        name, _, rest = text.partition("=")
        sizes, sign, weights = rest.partition(":")
        counts = [weights.count(",") + 1] if sign else []
        if (
            not name
            or not all(size.isdecimal() for size in sizes.split(","))
            or any(count != sizes.count(",") + 1 for count in counts)
            or not all(map(_is_weight, weights.split(",") if sign else ()))
        ):
            raise InputError(
                "--dim",
                "NAME=SIZE[,SIZE..][:WEIGHT,..] such as arg0.1=128 or arg0.1=1,128:3,1",
                f"'{text}'",
                "correct the option",
            )
        return cls(
            name,
            tuple(map(int, sizes.split(","))),
            tuple(map(float, weights.split(","))) if sign else (),
        )

    @property
    def shares(self) -> tuple[tuple[int, float], ...]:
        """Each size with its weight."""
        return tuple(zip(self.sizes, self.weights or (1.0,) * len(self.sizes), strict=True))


@dataclass(frozen=True, slots=True)
class SizeRange:
    """What the user knows of a size that is known at run time only."""

    name: str
    """As the report names it."""
    low: int
    high: int
    """The largest, inclusive."""
    divisor: int = 1

    @classmethod
    def parse(cls, text: str) -> SizeRange:
        """``NAME=[LOW]..[HIGH][%DIVISOR]``. Raises InputError for anything else."""
        found = re.fullmatch(r"([^=]+)=(\d*)\.\.(\d*)(?:%(\d+))?", text)
        if found is None:
            raise InputError(
                "--dim-range",
                "NAME=[LOW]..[HIGH][%DIVISOR] such as arg0.1=1..2048 or arg0.1=8..%8",
                f"'{text}'",
                "correct the option",
            )
        name, low, high, divisor = found.groups()
        wanted = cls(name, int(low or 0), int(high or MOST), int(divisor or 1))
        if (
            not wanted.divisor
            or not -(-wanted.low // wanted.divisor) <= wanted.high // wanted.divisor
        ):
            raise InputError(
                f"--dim-range {name}",
                "a size in the range",
                f"none in '{text}'",
                "correct the option",
            )
        return wanted


def _is_weight(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)?", text) is not None and float(text) > 0


@dataclass(frozen=True, slots=True)
class TripCount:
    """How often a block of control flow runs each time that the block around it does."""

    name: str
    """As the report names it: ``main/while.0.body``."""
    count: int

    @classmethod
    def parse(cls, text: str) -> TripCount:
        """``NAME=N``. Raises InputError for anything else."""
        name, _, count = text.rpartition("=")
        if not name or not count.isdecimal():
            raise InputError(
                "--trip-count",
                "NAME=N such as main/while.0.body=16",
                f"'{text}'",
                "correct the option",
            )
        return cls(name, int(count))


_UNITS = {
    "": 1,
    "b": 1,
    **{f"{prefix}b": 1000**n for n, prefix in enumerate("kmgt", start=1)},
    **{f"{prefix}ib": 1024**n for n, prefix in enumerate("kmgt", start=1)},
}


_TEXT = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*|%)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Budget:
    """A number of bytes, or a share of what the model has as it came."""

    amount: float
    percent: bool = False

    @classmethod
    def parse(cls, text: str, option: str) -> Budget:
        """``2GiB``, ``500 MB``, ``4096`` or ``150%``. Raises InputError for anything else.

        ``option``: whose value it is.
        """
        found = _TEXT.fullmatch(text.strip())
        if found is not None and found[2] == "%":
            return cls(float(found[1]), percent=True)
        if found is None or found[2].lower() not in _UNITS:
            raise InputError(
                option,
                "bytes such as 2GiB, or a share of what the model has as it came such as 50%",
                f"'{text}'",
                "correct the option",
            )
        return cls(float(found[1]) * _UNITS[found[2].lower()])

    def part(self, share: float) -> Budget:
        """A share of it."""
        return replace(self, amount=self.amount * share)

    def size_bytes(self, whole_bytes: int) -> int:
        """The budget in bytes of a model that has ``whole_bytes``."""
        return int(self.amount * whole_bytes / 100 if self.percent else self.amount)
