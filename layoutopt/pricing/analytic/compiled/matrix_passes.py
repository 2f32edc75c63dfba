"""How long the matrix instructions of AMD CDNA 3 and CDNA 4 occupy the matrix unit of a SIMD.

From LLVM's scheduling models SIDPGFX942FullSpeedModel and SIDPGFX950FullSpeedModel
(llvm/lib/Target/AMDGPU/SISchedule.td); a pass is 4 cycles.
"""

from __future__ import annotations

import re

CYCLES_OF_PASS = 4
_NAME = re.compile(r"v_(s?mfmac?)_(?:scale_)?([fi]\d+)_(\d+)x\d+x(\d+)(.*)")


def matrix_cycles(name: str) -> int | None:
    """Cycles of one instruction by its mnemonic; None where the table does not have it."""
    found = _NAME.match(name)
    if found is None:
        return None
    kind, result, rows, k = found[1], found[2], int(found[3]), int(found[4])
    passes = _passes(kind, result, rows, k, found[5])
    return None if passes is None else passes * CYCLES_OF_PASS


def _passes(kind: str, result: str, rows: int, k: int, suffix: str) -> int | None:
    if result == "f64":
        return {4: 4, 16: 8}.get(rows)
    if kind == "smfmac":
        return {16: 4, 32: 8}.get(rows)
    if suffix.startswith("_f8f6f4"):  # twice as long where an operand has 8 bits, which is usual
        return {16: 8, 32: 16}.get(rows)
    if rows == 4:
        return 2
    if rows == 16:
        return 4 if k >= 8 else 8
    long = k >= 8 or suffix.startswith("_xf")
    return {True: 8, False: 16}[long] if rows == 32 else None
