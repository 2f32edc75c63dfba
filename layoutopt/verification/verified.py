"""What is compared, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout
from layoutopt.ir.size_range import Ranges
from layoutopt.planning.chosen_sizes import Point
from layoutopt.verification.discrepancy import Allowed
from layoutopt.verification.input_kinds import Integers

ORIGINAL = "IREE on the original"
ORACLE = "the NumPy oracle on the original"
ON_CPU = "IREE on the original, on this machine's CPU"


@dataclass(frozen=True, slots=True)
class Subject:
    """A function that a module exports, and what is known about calling it."""

    name: str
    allowed: Allowed
    arguments: tuple[str, ...] | None = None
    """MLIR types of its arguments in the model; of buffer views, those of the tensors inside. None
    where the model does not tell."""
    integers: Mapping[int, Integers] = field(default_factory=dict)
    """What integer arguments stand for, by position."""
    shapes: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Sizes of arguments, by position, where some are known at run time only."""
    graph: Graph | None = None
    """What it computes, which tells what sizes go together; None where that is not known."""
    points: tuple[Point, ...] = ()
    """The sizes that are planned for, where these were chosen."""
    bodies: tuple[Ranges, ...] = ()
    """The sizes that each of its plans serves, where these are several."""
    taken: Mapping[int, Layout] = field(default_factory=dict)
    """Layouts in which the memory of arguments is taken, by position; row-major for the others."""
    given: Mapping[int, Layout] = field(default_factory=dict)
    """The same of results."""

    def lying(self, taken: Mapping[int, Layout], given: Mapping[int, Layout]) -> Subject:
        """The same function with other layouts of arguments and results."""
        return replace(self, taken=taken, given=given)


@dataclass(frozen=True, slots=True)
class FunctionVerified:
    """What came of comparing one function."""

    name: str
    inputs: tuple[str, ...] = ()
    """Kinds of inputs that it was compared on."""
    skipped: tuple[tuple[str, str], ...] = ()
    """Kinds of inputs that it was not compared on, with the reason."""
    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    tolerance: float = 0.0
    failure: str = ""
    """What differs by more than is allowed; empty where nothing does."""
    unverified: str = ""
    """Why it was not compared at all; empty where it was."""
    original_fails: bool = False
    """Whether that is since the original runs on none of the inputs."""
    weak: str = ""
    """Why it says little that the results agree; empty where it says much."""
    tipped: int = 0
    """Integers that are off by one, since a float beside the middle was rounded the other way."""
    excuses: tuple[str, ...] = ()
    """Of the kinds left out, those on which it differs from the original by no more than that does
    from itself: how that comes."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of comparing all functions."""

    reference: str
    """What results are compared with: IREE on the original, or the NumPy oracle."""
    functions: tuple[FunctionVerified, ...]
    place: str = ""
    """Where that was, if not on the target."""
    reference_reason: str = ""
    """Why the reference is not IREE on the original; empty where it is."""
    more_flags: tuple[str, ...] = ()
    """What both were compiled with as well, since the original does not run without."""

    @property
    def passed(self) -> bool:
        """Whether all that was compared agrees."""
        return not any(f.failure for f in self.functions)

    @property
    def is_in_doubt(self) -> bool:
        """Whether something differs from the original, and the fault may be the original's own."""
        return self.reference == ORIGINAL and any(f.failure or f.excuses for f in self.functions)

    def tells_more_than(self, doubted: Verification) -> bool:
        """Whether another reference tells more than one that is in doubt did."""
        if not doubted.passed:
            return self.passed
        return not self.passed or self._compared > doubted._compared

    @property
    def _compared(self) -> int:
        return sum(len(f.inputs) for f in self.functions)

    @property
    def original_fails(self) -> bool:
        """Whether some function could not be compared since the original does not run."""
        return any(f.original_fails for f in self.functions)

    @property
    def max_abs_error(self) -> float:
        """The largest error of a result."""
        return max((f.max_abs_error for f in self.functions), default=0.0)

    @property
    def max_rel_error(self) -> float:
        """The same relative to the size of the result."""
        return max((f.max_rel_error for f in self.functions), default=0.0)

    @property
    def tolerance(self) -> float:
        """The largest relative error that some function was allowed."""
        return max((f.tolerance for f in self.functions), default=0.0)

    @property
    def unverified(self) -> tuple[tuple[str, str], ...]:
        """Functions that were not compared, with the reason."""
        return tuple((f.name, f.unverified) for f in self.functions if f.unverified)

    @property
    def weak(self) -> tuple[tuple[str, str], ...]:
        """Functions whose agreement says little, with the reason."""
        return tuple((f.name, f.weak) for f in self.functions if f.weak)


def not_run(subjects: tuple[Subject, ...], reason: str) -> Verification:
    """Nothing was compared, for one reason."""
    return Verification("", tuple(FunctionVerified(s.name, unverified=reason) for s in subjects))
