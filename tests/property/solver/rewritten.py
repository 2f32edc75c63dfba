"""Random e-graphs as rewrites make them: alternatives of several operations for one tensor."""

import random

from hypothesis import strategies as st

from layoutopt.solver import Candidate, Conversion, Demand, Pair, Problem

Op = tuple[tuple[int, ...], tuple[int, ...]]  # the tensors that it reads, the tensors that it makes


def rewritten_ops(r: random.Random, classes: int) -> tuple[int, list[Op]]:
    """Return a tensor count and operations that make tensors 1 .. classes - 1 from tensor 0.

    Alternatives are chains of helpers, several helpers that read one tensor, helpers shared with
    another alternative or another tensor, helpers with two outputs, and helpers of which there are
    alternatives again.
    """
    tensors = classes
    ops: list[Op] = []
    helped: list[int] = []  # what helpers made, for others to share

    def fresh() -> int:
        nonlocal tensors
        tensors += 1
        return tensors - 1

    def alternative(sources: list[int], made: int, depth: int) -> None:
        x = r.choice(sources)
        kind = r.choice(("chain", "fan", "shared", "nested", "pair"))
        parts: list[int] = []
        if kind == "chain":
            for _ in range(r.randint(1, 2)):
                part = fresh()
                ops.append(((x,), (part,)))
                x = part
            parts = [x]
        elif kind == "fan":
            parts = [fresh() for _ in range(2)]
            ops.extend(((x,), (part,)) for part in parts)
        elif kind == "shared" and helped:
            parts = [r.choice(helped)]
        elif kind == "pair":
            parts = [fresh(), fresh()]
            ops.append(((x,), tuple(parts)))
        else:
            parts = [fresh()]
            ops.append(((x,), (parts[0],)))
            if depth:
                alternative([x], parts[0], depth - 1)
        helped.extend(parts)
        extra = [x for x in sources if x not in parts and r.random() < 0.2]
        ops.append(((*parts, *extra), (made,)))

    for made in range(1, classes):
        sources = [made - 1] if r.random() < 0.6 else list(range(made))
        helped = [t for t in helped if r.random() < 0.7]
        reads = {made - 1, r.choice(sources)}
        ops.append((tuple(sorted(reads)), (made,)))
        for _ in range(r.choice((0, 1, 1, 2))):
            alternative(sources, made, 1)
    return tensors, ops


def rewritten_graph(seed: int, choices: int = 20) -> Problem:
    """Return an e-graph in two layouts with at most `choices` candidates and conversions."""
    r = random.Random(seed)
    while True:
        tensors, ops = rewritten_ops(r, r.choice((2, 3, 3, 4)))
        if len(ops) <= choices - 6:
            break
    most_ns = r.choice((3, 20, 1000))
    candidates: list[Candidate] = []
    while len(candidates) < choices - 6:
        spread = r.random() < 0.3
        for op, (reads, makes) in enumerate(ops):
            x, y = r.randrange(2), r.randrange(2)
            needs: tuple[Pair, ...] = tuple((t, r.randrange(2) if spread else x) for t in reads)
            candidates.append(
                Candidate(op, r.randint(0, most_ns), needs, tuple((t, y) for t in makes))
            )
        if r.random() < 0.2:
            break
    steps = [(t, p, 1 - p) for t in range(tensors) for p in range(2)]
    chosen = sorted(r.sample(steps, min(len(steps), r.randint(3, 6))))
    sized = r.random() < 0.2
    conversions = [
        Conversion(*c, r.randint(0, most_ns), r.randint(0, 3) if sized else 0) for c in chosen
    ]
    last = max(t for _, makes in ops for t in makes)
    demanded = [Demand(ops[-1][1][0], (0, 1) if r.random() < 0.5 else (0,))]
    if r.random() < 0.2:
        demanded.append(Demand(last, (0, 1)))
    given: set[Pair] = {(0, 0)} if r.random() < 0.5 else {(0, 0), (0, 1)}
    return Problem(
        tensors,
        frozenset(given),
        tuple(demanded),
        tuple(candidates[: choices - 6]),
        tuple(conversions),
        r.randint(0, 8) if sized else None,
    )


def rewritten_graphs() -> st.SearchStrategy[Problem]:
    """Return rewritten graphs by seed."""
    return st.integers(0, 1_000_000).map(rewritten_graph)
