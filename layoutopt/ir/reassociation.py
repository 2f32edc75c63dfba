"""Which dims of one shape are those of another with fewer dims, in row-major order."""

from __future__ import annotations

from layoutopt.ir.size import Size

Shape = tuple[int, ...]


def reassociation(coarse: Shape, fine: Shape) -> list[list[int]] | None:
    """Which dims of ``fine`` make each dim of ``coarse``; None where it is not a collapse of it."""
    if len(coarse) >= len(fine):
        return None
    groups: list[list[int]] = []
    at = 0
    for n in coarse:
        group: list[int] = []
        size = 1
        while at < len(fine) and (not group or _lacks(size, n)):
            group.append(at)
            size *= fine[at]
            at += 1
        if size != n or not group:
            return None
        groups.append(group)
    rest = list(range(at, len(fine)))
    if any(fine[d] != 1 for d in rest):
        return None
    if groups:
        groups[-1] += rest
    return groups


def _lacks(size: int, whole: int) -> bool:
    """Whether more dims may be needed to make ``whole``; open sizes only by not being equal."""
    known = not isinstance(size, Size) and not isinstance(whole, Size)
    return size < whole if known else size != whole
