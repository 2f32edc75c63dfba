"""The loops that IREE names dispatches by."""

from __future__ import annotations

import math

from layoutopt.candidates.candidate import PhysicalForm
from layoutopt.compiler.installed import quirks
from layoutopt.ir.graph import Structured


def same_loops(loops: tuple[int, ...], kind: str, dispatch: str) -> bool:
    """Whether a dispatch runs these loops, unit ones and their order aside; any ``kind`` does."""
    others = loops_of(dispatch)
    return bool(others) and _plain(loops) == _plain(others)


def named_loops(form: PhysicalForm) -> tuple[int, ...]:
    """The loops that IREE names the dispatch of a form by."""
    structured = [op for op in form.graph.ops if isinstance(op, Structured)]
    root = next((op for op in structured if op.is_contraction), None)
    if root is not None:
        return root.domain
    if structured:
        return max((op.domain for op in structured), key=math.prod)
    return form.graph.types[form.outputs[0]].shape


def loops_of(dispatch: str) -> tuple[int, ...]:
    """Loop sizes in the name of a dispatch, as ``main_dispatch_3_matmul_256x1024x64_f32``."""
    name = dispatch.partition(quirks().names.mark)[2].partition("_")[2]
    found = quirks().names.sizes.findall(f"_{name}")
    return tuple(int(size) for size in found[-1].split("x")) if found else ()


def _plain(loops: tuple[int, ...]) -> list[int]:
    return sorted(size for size in loops if size != 1)
