"""The two modules that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutopt.frontend.source import Source
from layoutopt.ir.graph import Graph
from layoutopt.verification.ahead import CompiledAhead
from layoutopt.verification.verified import Subject


@dataclass(frozen=True, slots=True)
class Modules:
    """Original and optimized module, and how the functions of both are called."""

    model: Path
    """What the user gave, for messages."""
    source: Source
    optimized: Path
    """The module as it is written: inputs and outputs in the plan's layouts."""
    flags: tuple[str, ...]
    """What the optimized module is compiled with."""
    subjects: tuple[Subject, ...]
    """The functions that are compared."""
    graphs: tuple[Graph, ...]
    """The planned functions as they came."""
    folder: Path
    """For intermediate files."""
    archives: Sequence[tuple[str, Path]] = ()
    """(scope, file) of the parameters that the modules leave outside."""
    ahead: CompiledAhead | None = None
    """What compiles the original already, if anything does."""
