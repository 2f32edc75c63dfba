"""Random selection problems: small ones for the oracle, networks for the clock."""

import random
from collections.abc import Iterable
from dataclasses import replace

from hypothesis import strategies as st

from layoutopt.solver import Candidate, Conversion, Demand, Memory, Pair, Place, Problem


@st.composite
def loose_problems(draw: st.DrawFn) -> Problem:
    """Anything goes, mostly without an answer: the corner cases of the definition."""
    tensors = draw(st.integers(1, 4))
    layouts = draw(st.integers(1, 3))
    pair = st.tuples(st.integers(0, tensors - 1), st.integers(0, layouts - 1))
    cost = st.one_of(st.integers(0, 12), st.just(100_003))
    some_pairs = st.lists(pair, max_size=2).map(tuple)
    made = st.lists(pair, min_size=1, max_size=2).map(tuple)
    candidate = st.builds(Candidate, st.integers(0, 3), cost, some_pairs, made)
    steps = [(t, p, q) for t in range(tensors) for p in range(layouts) for q in range(layouts)]
    step = st.sampled_from([*((t, p, q) for t, p, q in steps if p != q), None])
    size = st.sampled_from((0, 0, 1, 2, 5))
    demand = st.builds(
        Demand,
        st.integers(0, tensors - 1),
        st.lists(st.integers(0, layouts - 1), min_size=1, max_size=2, unique=True).map(tuple),
    )
    return Problem(
        tensors,
        draw(st.frozensets(pair, max_size=2)),
        tuple(draw(st.lists(demand, min_size=1, max_size=2))),
        tuple(draw(st.lists(candidate, max_size=6))),
        tuple(
            Conversion(*c, draw(cost), draw(size))
            for c in draw(st.lists(step, unique=True, max_size=6))
            if c is not None
        ),
        draw(st.none() | st.integers(0, 8)),
    )


def small_graph(seed: int, choices: int = 15) -> Problem:
    """A few operations in a row, mostly with an answer: circles, e-classes, sharing, budgets.

    At most `choices` candidates and conversions together.
    """
    r = random.Random(seed)
    tensors, layouts = r.randint(2, 4), r.randint(2, 3)
    circular = r.random() < 0.5
    most_ns = r.choice((3, 20, 200_000))
    candidates: list[Candidate] = []
    for op in range(r.randint(2, 5)):
        out = min(op + 1, tensors - 1) if op < tensors else r.randrange(1, tensors)
        sources = [t for t in range(tensors) if t != out] if circular else range(out)
        for _ in range(r.randint(1, 3)):
            needs = [(r.choice(sources), r.randrange(layouts)) for _ in range(r.choice((1, 1, 2)))]
            makes = [(out, r.randrange(layouts))]
            if r.random() < 0.2:
                makes.append((r.randrange(1, tensors), r.randrange(layouts)))
            candidates.append(Candidate(op, r.randint(0, most_ns), tuple(needs), tuple(makes)))
    candidates = candidates[: choices - 5]
    steps = [(t, p, q) for t in range(tensors) for p in range(layouts) for q in range(layouts)]
    steps = [(t, p, q) for t, p, q in steps if p != q]
    chosen = sorted(r.sample(steps, min(len(steps), choices - len(candidates))))
    sized = r.random() < 0.4
    dear = r.choice((1, 4))
    conversions = [
        Conversion(*c, r.choice((0, r.randint(0, dear * most_ns))), r.randint(0, 4) if sized else 0)
        for c in chosen
    ]
    demanded = [Demand(tensors - 1, (r.randrange(layouts),))]
    if r.random() < 0.4:
        anything = tuple(r.sample(range(layouts), 2))
        demanded.append(Demand(r.randrange(1, tensors), anything))
    given: set[Pair] = {(0, 0)}
    if r.random() < 0.2:
        given.add((r.randrange(tensors), r.randrange(layouts)))
    budget = r.randint(0, 8) if sized else None
    return Problem(
        tensors, frozenset(given), tuple(demanded), tuple(candidates), tuple(conversions), budget
    )


def small_graphs() -> st.SearchStrategy[Problem]:
    """Return small graphs by seed."""
    return st.integers(0, 1_000_000).map(small_graph)


def with_memory(problem: Problem, seed: int) -> Problem:
    """The same with a memory budget: tensors begin at random steps, some lie within others.

    What is given takes no memory. Conversions cost something: free ones lie in one place.
    """
    r = random.Random(seed)
    born = [r.randrange(5) for _ in range(problem.tensors)]
    pairs = {p for c in problem.candidates for p in (*c.inputs, *c.outputs)}
    pairs |= {(c.tensor, x) for c in problem.conversions for x in (c.source, c.target)}
    pairs |= {(d.tensor, x) for d in problem.demanded for x in d.layouts}
    taking = sorted(pairs - problem.given)
    of = {pair: place for place, pair in enumerate(taking)}
    places = tuple(Place(r.randint(0, 6), born[tensor]) for tensor, _ in taking)
    candidates = []
    for c in problem.candidates:
        made = [of[pair] for pair in dict.fromkeys(c.outputs) if pair in of]
        first = max((places[m].born for m in made), default=0)
        reads = [of.get(pair) for pair in c.inputs if pair not in c.outputs]
        within = [(m, r.choice(reads)) for m in made if reads and r.random() < 0.3]
        scratch = r.choice((0, 0, 3))
        candidates.append(
            replace(c, step=first + r.randrange(2), scratch_bytes=scratch, within=tuple(within))
        )
    conversions = tuple(replace(c, cost_ns=max(1, c.cost_ns)) for c in problem.conversions)
    memory = Memory(places, of, r.randint(0, 20))
    return replace(
        problem,
        demanded=tuple(replace(d, until=r.randrange(7)) for d in problem.demanded),
        candidates=tuple(candidates),
        conversions=conversions,
        memory=memory,
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


def residual_network(blocks: int = 16, layouts: int = 6, seed: int = 0) -> Problem:
    """Bottleneck blocks, as in ResNet-50: convolutions with constant weights, adds, activations.

    Weights are given row-major and copied for free; convolutions are fast in layouts 3, 4 and 5.
    """
    r = random.Random(seed)
    candidates: list[Candidate] = []
    conversions: list[Conversion] = []
    given: set[Pair] = {(0, 0)}
    tensors = [0]  # the last one made; a list so that the helpers share it
    ops = [0]

    def fresh(size: int) -> int:
        tensors[0] += 1
        for p in range(layouts):
            for q in range(layouts):
                if p != q:
                    conversions.append(Conversion(tensors[0], p, q, r.randint(size // 2, size)))
        return tensors[0]

    def convolution(x: int, size: int) -> int:
        weight = tensors[0] = tensors[0] + 1
        given.add((weight, 0))
        conversions.extend(Conversion(weight, 0, q, 0, 4096) for q in range(1, layouts))
        y = fresh(size)
        base = r.randint(100_000, 900_000)
        for p in range(layouts):
            for q in dict.fromkeys((p, 0, (p + 1) % layouts)):
                cost = int(base * (1.0 if p == 3 else 1.2 if p > 2 else 2.5) * r.uniform(1, 1.2))
                candidates.append(Candidate(ops[0], cost, ((x, p), (weight, p)), ((y, q),)))
        ops[0] += 1
        return y

    def elementwise(inputs: tuple[int, ...], size: int) -> int:
        y = fresh(size)
        for p in range(layouts):
            needs = tuple((x, p) for x in inputs)
            candidates.append(Candidate(ops[0], size + r.randint(0, 500), needs, ((y, p),)))
        ops[0] += 1
        return y

    conversions.extend(Conversion(0, 0, q, 30_000) for q in range(1, layouts))
    x = convolution(0, 60_000)
    for block in range(blocks):
        size = 60_000 >> (block // 4)
        skip = convolution(x, size) if block % 4 == 0 else x
        y = elementwise((convolution(x, size // 4),), size // 4)
        y = elementwise((convolution(y, size // 4),), size // 4)
        x = elementwise((elementwise((convolution(y, size), skip), size),), size)
    return Problem(
        tensors[0] + 1,
        frozenset(given),
        (Demand(x, (0,)),),
        tuple(candidates),
        tuple(conversions),
        weight_budget_bytes=4096 * 4 * blocks,
    )


def chained(seeds: list[int]) -> Problem:
    """Small graphs one behind another: an op between two makes what the next one starts from.

    Some have demands of their own, some are equal.
    """
    tensors, last = 0, -1
    given: set[Pair] = set()
    demanded: list[Demand] = []
    candidates: list[Candidate] = []
    conversions: list[Conversion] = []
    for seed in seeds:
        one = small_graph(seed, choices=11)
        number = {t: tensors + t for t in range(one.tensors)}
        if last >= 0:
            number[0] = last

        def pairs(of: Iterable[Pair], number: dict[int, int] = number) -> tuple[Pair, ...]:
            return tuple((number[t], x) for t, x in of)

        given |= {*pairs(p for p in sorted(one.given) if last < 0 or p[0])}
        candidates += [
            Candidate(tensors + c.op, c.cost_ns, pairs(c.inputs), pairs(c.outputs))
            for c in one.candidates
            if last < 0 or all(t for t, _ in c.outputs)
        ]
        known = {(c.tensor, c.source, c.target) for c in conversions}
        conversions += [
            replace(c, tensor=number[c.tensor], size_bytes=0)
            for c in one.conversions
            if (number[c.tensor], c.source, c.target) not in known
        ]
        end = one.demanded[0].tensor
        demanded += [replace(d, tensor=number[d.tensor]) for d in one.demanded[1:] if seed % 3 == 0]
        tensors, last, final = tensors + one.tensors + 1, tensors + one.tensors, one.demanded[0]
        r = random.Random(seed)
        layouts = r.sample(((0, 0), (0, 1), (1, 0), (1, 1)), 3)
        candidates += [
            Candidate(tensors, r.randint(0, 9), ((number[end], x),), ((last, y),))
            for x, y in layouts
        ]
    demanded.append(replace(final, tensor=number[end]))
    return Problem(
        tensors, frozenset(given), tuple(demanded), tuple(candidates), tuple(conversions)
    )
