"""Loops of a control-flow graph: blocks that a path leads back to.

Natural loops, as in Aho, Lam, Sethi, Ullman, "Compilers", 9.6. Reducible graphs only, which is what
a structured kernel gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Region:
    """Blocks in an order in which each stands behind those that lead to it; of a loop, the header
    first. Where a block is the header of an inner loop, that loop is run in its place."""

    header: str
    order: tuple[str, ...]
    """Blocks of the region that are in no inner loop, and headers of inner loops."""
    inner: dict[str, Region] = field(default_factory=dict)
    """Inner loops by header."""
    members: frozenset[str] = frozenset()
    """All blocks, those of inner loops too."""

    def loops(self) -> list[Region]:
        """It and all loops in it, outer ones first, in the order in which they run."""
        found = [self]
        for name in self.order:
            if name in self.inner:
                found += self.inner[name].loops()
        return found


def regions(entry: str, successors: Mapping[str, Sequence[str]]) -> Region:
    """The whole graph as a region with its loops."""
    order, back = _search(entry, successors)
    predecessors: dict[str, list[str]] = {}
    for name in order:
        for after in successors[name]:
            predecessors.setdefault(after, []).append(name)
    bodies: dict[str, set[str]] = {}
    for latch, header in back:
        body = bodies.setdefault(header, {header})
        left = [latch]
        while left:
            name = left.pop()
            if name not in body:
                body.add(name)
                left += predecessors.get(name, [])
    return _region(entry, set(order), bodies, order)


def _search(
    entry: str, successors: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[tuple[str, str]]]:
    """Blocks in reverse postorder, and the edges that lead back."""
    done: list[str] = []
    seen, open_now = {entry}, {entry}
    back: list[tuple[str, str]] = []
    stack = [(entry, iter(successors[entry]))]
    while stack:
        name, left = stack[-1]
        after = next(left, None)
        if after is None:
            done.append(name)
            open_now.discard(name)
            stack.pop()
        elif after in open_now:
            back.append((name, after))
        elif after not in seen:
            seen.add(after)
            open_now.add(after)
            stack.append((after, iter(successors[after])))
    return done[::-1], back


def _region(
    header: str, members: set[str], bodies: Mapping[str, set[str]], order: Sequence[str]
) -> Region:
    own = {h: body for h, body in bodies.items() if h in members and h != header}
    if header in bodies and members != bodies[header]:  # the entry is itself the header of a loop
        own[header] = bodies[header]
    outermost = {
        h: body for h, body in own.items() if not any(h in b and h != o for o, b in own.items())
    }
    inside = {name: h for h, body in outermost.items() for name in body}
    kept = [n for n in order if n in members and inside.get(n, n) == n]
    inner = {h: _region(h, body, bodies, order) for h, body in outermost.items()}
    return Region(header, tuple(kept), inner, frozenset(members))
