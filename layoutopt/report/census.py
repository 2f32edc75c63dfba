"""Hold what the plan lists against what moves data in the module that was written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from layoutopt.mlir.module import exported_name
from layoutopt.mlir.read.census import ModuleCensus, Move
from layoutopt.report.report import ConversionReport

_NOWHERE: Mapping[str, str] = MappingProxyType({})
_KINDS = ("pack", "unpack", "transpose")


def came_with_the_model(moves: Iterable[Move], kept: bool = False) -> list[ConversionReport]:
    """A row for each of the model's own ops that move data and stay as they are.

    ``kept``: the original was written, so that all of them stay; else those that no plan reaches.
    """
    return [
        ConversionReport(
            exported_name(move.function),
            move.source,
            move.kind,
            move.source,
            move.result,
            move.size_bytes,
            None,
            _where(move),
            (move.kind,),
        )
        for move in moves
        if kept or not move.reached
    ]


def _where(move: Move) -> str:
    if move.inside:
        return f"in the input, inside a barrier ({move.inside})"
    if move.reached:
        return "it came with the model, and the model was kept"
    return f"it came with the model: no plan reaches this {move.op}"


def discrepancies(
    written: ModuleCensus, rows: Sequence[ConversionReport], within: Mapping[str, str] = _NOWHERE
) -> Iterator[str]:
    """Where the rows do not add up to what is in the module, a sentence for each kind.

    ``within``: the function that a block of control flow stands in, by name.
    """
    found = Counter((exported_name(m.function), m.kind) for m in written.runs)
    listed = Counter((within.get(r.function, r.function), kind) for r in rows for kind in r.moves)
    for function in dict.fromkeys(name for name, _ in (*found, *listed)):
        for kind in _KINDS:
            there, told = found[function, kind], listed[function, kind]
            if there != told:
                yield (
                    f"function '{function}': the report lists {told} {kind} ops, but the module "
                    f"has {there}; the counts of the module hold"
                )
