"""The dispatches that each piece of work of a plan has where it is compiled alone, as when priced.

All pieces are functions of one module, which is compiled as far as dispatches are formed. IREE
gives a dispatch the same name there as inside of a model, but for the function's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.files.sealed import sealed, unsealed
from layoutopt.files.written import write_text
from layoutopt.pricing.measure.batch import function_name, make_batches, write_module
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.runtime.compile import Phase, compile_to

_LONGEST = 4_000
"""Characters of a line that are looked at: constants are printed in one line."""
_FUNCTION = re.compile(r"@([\w$.]+)\(")


def planned_dispatches(
    pieces: Sequence[Benchmark], folder: Path, timeout_s: float, memory: Path | None = None
) -> dict[str, tuple[str, ...]]:
    """Names of dispatches in order of execution, by the text of a piece.

    What does not compile together with the others is left out. ``memory``: folder of what was found
    before, if any.
    """
    distinct = list({piece.text: piece for piece in pieces}.values())
    kept = None if memory is None else memory / f"dispatches-{_digest(distinct)}.json"
    known = None if kept is None else unsealed(kept, dict[str, tuple[str, ...]])
    if known is not None:
        return known
    unranked = [0] * len(distinct)
    found: dict[str, tuple[str, ...]] = {}
    batches = make_batches(distinct, unranked, unranked, max(1, len(distinct)))
    for number, batch in enumerate(batches):
        source, flow = folder / f"planned_{number}.mlir", folder / f"planned_{number}.flow.mlir"
        source.write_text(write_module(batch).text, encoding="utf-8")
        flags = (*batch.benchmarks[0].flags, *quirks().flags.without_values)
        if compile_to(source, Phase.FLOW, flow, flags, timeout_s).ok:
            with flow.open(encoding="utf-8", errors="replace") as lines:
                names = dispatches_by_function(lines)
            for place, piece in enumerate(batch.benchmarks):
                name = function_name(place)
                wrapped = quirks().names.inner.format(name)
                found[piece.text] = (*names.get(name, ()), *names.get(wrapped, ()))
    if kept is not None and len(found) == len(distinct):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, sealed(found))
    return found


def _digest(pieces: Sequence[Benchmark]) -> str:
    digest = hashlib.sha256(repr(quirks().version).encode())
    for piece in pieces:
        digest.update("\0".join((piece.text, *piece.flags)).encode())
    return digest.hexdigest()


def dispatches_by_function(lines: Iterable[str]) -> dict[str, list[str]]:
    """Names of the dispatches that each function calls, in text of the flow phase."""
    names = quirks().names
    found: dict[str, list[str]] = {}
    here: list[str] = []
    for line in lines:
        text = line[:_LONGEST]
        outer = names.outer.match(text)
        if outer:
            name = _FUNCTION.search(text)
            here = found.setdefault(name[1], []) if name and outer[1] == "func" else []
        call = names.call.search(text)
        if call:
            here.append(call[1])
        encode = names.encode.search(text)
        if encode:
            here.append(f"_encoding_0_encode_{encode[1]}_to_{encode[2]}")
    return found
