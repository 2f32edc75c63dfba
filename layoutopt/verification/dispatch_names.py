"""The loops that IREE names dispatches by."""

from __future__ import annotations

import math

from layoutopt.candidates.candidate import PhysicalForm
from layoutopt.compiler.installed import quirks
from layoutopt.ir.graph import Structured
from layoutopt.ir.size import Size, planned

OPEN = -1
"""A loop whose size is known at run time only."""


def same_loops(loops: tuple[int, ...], dispatch: str) -> bool:
    """Whether a dispatch runs these loops, unit ones and their order aside."""
    others = loops_of(dispatch)
    return bool(others) and _plain(loops) == _plain(others)


def kernel_name(dispatch: str) -> str:
    """What IREE calls a dispatch by what it computes, without the function and the number."""
    encoded = quirks().names.encoding.match(dispatch)
    return encoded[1] if encoded else _behind_number(dispatch)


def _behind_number(dispatch: str) -> str:
    return dispatch.partition(quirks().names.mark)[2].partition("_")[2]


def named_loops(form: PhysicalForm) -> tuple[int, ...]:
    """The loops that IREE names the dispatch of a form by; `OPEN` for an open size."""
    structured = [op for op in form.graph.ops if isinstance(op, Structured)]
    root = next((op for op in structured if op.is_contraction), None)
    if root is not None:
        return closed(root.domain)
    if structured:
        return closed(max((op.domain for op in structured), key=_points))
    return closed(form.graph.types[form.outputs[0]].shape)


def _points(domain: tuple[int, ...]) -> int:
    return math.prod(map(planned, domain))


def closed(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Loop sizes as dispatches are named by them."""
    return tuple(OPEN if isinstance(n, Size) else n for n in sizes)


def loops_of(dispatch: str) -> tuple[int, ...]:
    """Loop sizes in the name of a dispatch, as ``main_dispatch_3_matmul_256x1024x64_f32``."""
    found = quirks().names.sizes.findall(f"_{_behind_number(dispatch)}")
    sizes = found[-1].split("x") if found else ()
    return tuple(OPEN if size == "D" else int(size) for size in sizes)


def _plain(loops: tuple[int, ...]) -> list[int]:
    return sorted(size for size in loops if size != 1)
