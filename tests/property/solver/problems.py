"""Random selection problems: small ones for the oracle, networks for the clock."""

import random

from hypothesis import strategies as st

from layoutopt.solver import Candidate, Conversion, Demand, Pair, Problem


@st.composite
def tiny_problems(draw: st.DrawFn, choices: int = 11) -> Problem:
    """Anything goes: e-classes, circles, several outputs, shared tensors, budgets, no answer."""
    tensors = draw(st.integers(1, 4))
    layouts = draw(st.integers(1, 3))
    pair = st.tuples(st.integers(0, tensors - 1), st.integers(0, layouts - 1))
    cost = st.one_of(st.integers(0, 12), st.just(100_003))
    candidates = draw(
        st.lists(
            st.builds(
                Candidate,
                st.integers(0, 3),
                cost,
                st.lists(pair, max_size=2).map(tuple),
                st.lists(pair, min_size=1, max_size=2).map(tuple),
            ),
            max_size=choices - 3,
        )
    )
    steps = [(t, p, q) for t in range(tensors) for p in range(layouts) for q in range(layouts)]
    steps = [(t, p, q) for t, p, q in steps if p != q]
    chosen = []
    if steps:
        chosen = draw(
            st.lists(
                st.sampled_from(steps), unique=True, max_size=min(choices - len(candidates), 7)
            )
        )
    conversions = [Conversion(*c, draw(cost), draw(st.sampled_from((0, 0, 1, 2, 5)))) for c in chosen]
    demand = st.builds(
        Demand,
        st.integers(0, tensors - 1),
        st.lists(st.integers(0, layouts - 1), min_size=1, max_size=2, unique=True).map(tuple),
    )
    return Problem(
        tensors,
        draw(st.frozensets(pair, max_size=2)),
        tuple(draw(st.lists(demand, min_size=1, max_size=2))),
        tuple(candidates),
        tuple(conversions),
        draw(st.none() | st.integers(0, 8)),
    )


def network(ops: int, seed: int = 0, layouts: int = 6, anchor: float = 0.3) -> Problem:
    """A chain with skips: anchors prefer some layouts, the rest run in any; all convert."""
    r = random.Random(seed)
    candidates: list[Candidate] = []
    live = [0]
    for op in range(ops):
        inputs = [live[-1]]
        if r.random() < 0.3 and len(live) > 1:
            inputs.append(r.choice(live[-8:-1]))
        out = live[-1] + 1
        anchored = r.random() < anchor
        base = r.randint(50_000, 2_000_000) if anchored else r.randint(2_000, 60_000)
        forms: list[tuple[int, int, int]] = []
        for x in range(layouts):
            factor = r.choice([1, 1.05, 1.3, 2, 10]) if anchored else r.choice([1, 1, 1.2])
            forms.append((x, x, int(base * factor)))
        for _ in range(6 if anchored else 0):
            cost = int(base * r.uniform(1, 1.4))
            forms.append((r.randrange(layouts), r.randrange(layouts), cost))
        for a, b, cost in forms:
            needs: tuple[Pair, ...] = tuple((t, a) for t in dict.fromkeys(inputs))
            candidates.append(Candidate(op, cost, needs, ((out, b),)))
        live.append(out)
    conversions = tuple(
        Conversion(t, p, q, r.randint(5_000, 80_000))
        for t in live
        for p in range(layouts)
        for q in range(layouts)
        if p != q
    )
    demanded = (Demand(live[-1], (0,)),)
    return Problem(len(live), frozenset({(0, 0)}), demanded, tuple(candidates), conversions)
