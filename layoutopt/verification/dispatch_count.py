"""Count dispatches in what iree-compile makes of a module.

Read from the flow phase, where constants are folded and dispatches are formed. Those of
initializers run when the module is loaded and are not part of a call, so they are left out. One in
a loop counts once: the text does not tell how often it runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.runtime.compile import Phase, compile_to

_LONGEST = 4_000
"""Characters of a line that are looked at: constants are printed in one line."""


@dataclass(frozen=True, slots=True)
class Dispatches:
    """Dispatches of one call before and after, both counted in the same way."""

    before: int | None
    after: int | None
    how: str
    """How they were counted, or why they were not."""


def dispatches_in(path: Path, flags: tuple[str, ...], folder: Path, timeout_s: float) -> int | None:
    """Dispatches of all functions of a module; None where it does not compile."""
    flow = folder / f"{path.stem}.flow.mlir"
    flags = (*flags, *quirks().flags.without_values)
    if not compile_to(path, Phase.FLOW, flow, flags, timeout_s).ok:
        return None
    with flow.open(encoding="utf-8", errors="replace") as lines:
        return count_dispatches(lines)


def count_dispatches(lines: Iterable[str]) -> int:
    """Dispatches of functions, in text of the flow phase."""
    found = 0
    at_load = False
    names = quirks().names
    for line in lines:
        text = line[:_LONGEST]
        outer = names.outer.match(text)
        if outer:
            at_load = outer[1] == "initializer"
        found += not at_load and names.call.search(text) is not None
    return found
