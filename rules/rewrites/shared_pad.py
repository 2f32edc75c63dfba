"""One pad for several reads of a tensor that reach over its edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from layoutopt.ir.affine import Affine, IndexMap
from layoutopt.ir.graph import Pad
from layoutopt.rules.rewrites.loops import Rewriting


@dataclass(frozen=True, slots=True)
class PadRead:
    """A tensor, read forwards at ``forms`` by loops of ``domain``."""

    tensor: int
    forms: IndexMap
    domain: tuple[int, ...]


def padded_once(reads: Sequence[PadRead], rewriting: Rewriting, value: str) -> list[PadRead]:
    """The same reads of one tensor; where several leave it, they read one wider tensor."""
    shape = rewriting.type_of(reads[0].tensor).shape
    ends = [[_ends(form, read.domain) for form in read.forms] for read in reads]
    leaves = [
        any(first < 0 or last >= n for (first, last), n in zip(read, shape, strict=True))
        for read in ends
    ]
    if sum(leaves) < 2:
        return list(reads)
    axes = [list(axis) for axis in zip(*ends, strict=True)]
    low = tuple(max(0, -min(first for first, _ in axis)) for axis in axes)
    high = tuple(
        max(0, max(last for _, last in axis) - n + 1) for axis, n in zip(axes, shape, strict=True)
    )
    kind = rewriting.type_of(reads[0].tensor)
    size = tuple(a + n + b for a, n, b in zip(low, shape, high, strict=True))
    wide = rewriting.tensor(size, kind.element)
    rewriting.builder.add(Pad(reads[0].tensor, wide, low, high, value))
    return [
        PadRead(wide, tuple(replace(f, offset=f.offset + a) for f, a in zip(read.forms, low,
                         strict=True)), read.domain) if leaves_it else read
        for read, leaves_it in zip(reads, leaves, strict=True)
    ]  # fmt: skip


def _ends(form: Affine, domain: tuple[int, ...]) -> tuple[int, int]:
    """The first and the last place that a form reads."""
    return form.offset, form.offset + sum(c * (domain[d] - 1) for d, c in form.terms)
