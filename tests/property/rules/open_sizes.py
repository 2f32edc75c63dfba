"""What rules do for open sizes, at random numbers: ``python -m tests.property.rules.open_sizes``.

Every propagation rule and every rewrite rule meets graphs with symbols for sizes. What it makes of
them is compared with the graph as it came, at numbers in place of the symbols; what is propagated
also with what is propagated at these numbers.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from layoutopt.ir.concrete import concrete
from layoutopt.ir.extensions import EXTENSIONS
from layoutopt.ir.extensions.attention import Attention
from layoutopt.ir.graph import (
    Extension,
    FusionBarrier,
    Gather,
    Graph,
    GraphBuilder,
    Op,
    Pack,
    Structured,
)
from layoutopt.ir.layout import Layout, row_major, same_memory
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.size import Size, symbol, symbols
from layoutopt.ir.types import Array
from layoutopt.oracle import evaluate
from layoutopt.rules.propagation import RULES, propagate, relayout
from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rule import Expression, apply
from tests.extension_inputs import random_inputs
from tests.parsing import verified
from tests.property.layouts import assert_close, small_integers
from tests.property.rules.algebra import ALGEBRA
from tests.property.rules.expanded import expanded
from tests.property.rules.interior_padded import (
    backward_convolutions,
    scatter_consumers,
    scatters,
    sliced,
    weight_gradients,
)
from tests.property.rules.moves import MOVES
from tests.property.rules.opened import opened_together
from tests.property.rules.ops import STRUCTURED, convolutions, elementwise, long_matmuls, matmuls
from tests.property.rules.products import short_product
from tests.property.rules.quantized import QUANTIZED
from tests.property.rules.repeating import repeating
from tests.property.rules.rewritten import rewritten
from tests.property.rules.short_splits import RULES as RULES_OF_SHORT_LOOPS
from tests.property.rules.siblings import behind_slices, siblings
from tests.property.rules.symbolic import MOST, opened
from tests.property.rules.windowed import dense_convolutions, padded_convolutions

Draw = Callable[..., Any]
"""Hypothesis' ``draw``."""
_MOST_POINTS = 100_000
_NUMBERS = st.fixed_dictionaries({f"s{d}": st.integers(1, MOST) for d in range(40)})


def _barriers() -> st.SearchStrategy[Graph]:
    def barrier(sizes: list[int]) -> Graph:
        builder = GraphBuilder()
        x, y = (builder.tensor(sizes, "f32") for _ in range(2))
        builder.add(FusionBarrier(x, y))
        return builder.build((x,), (y,))

    return st.lists(st.sampled_from([1, 2, 4, 6]), min_size=1, max_size=3).map(barrier)


@st.composite
def _packs(draw: st.DrawFn) -> Graph:
    """A pack as it came, of a symbol that its tile may not divide."""
    size = symbol("s0", 1, MOST, planned=4)
    layout = Layout((0, 1), (0,), (draw(st.sampled_from([1, 2, 4])),))
    builder = GraphBuilder()
    x = builder.tensor((size, 3), "f32")
    y = builder.tensor(layout.physical_shape((size, 3)), "f32")
    builder.add(Pack(x, y, layout, "0.0 : f32"))
    return builder.build((x,), (y,))


def _examples(kind: type[Extension]) -> st.SearchStrategy[Graph]:
    found = [Graph(tuple(types), (op,), op.inputs, op.outputs) for op, types in kind.examples()]
    return st.sampled_from(found)


PROPAGATED: Mapping[str, Callable[[], st.SearchStrategy[Graph]]] = {
    **STRUCTURED,
    **QUANTIZED,
    **MOVES,
    "barrier": _barriers,
    "pack": _packs,
    **{kind.mlir_name: partial(_examples, kind) for kind in EXTENSIONS},
}
"""Graphs of one op, to propagate layouts through."""
REWRITTEN: Mapping[str, st.SearchStrategy[Graph]] = {
    "convolution": convolutions(),
    "unit filters": convolutions(filters=st.just(1)),
    "unit filters and batch": convolutions(filters=st.just(1), unit_batch=True),
    "dense convolution": dense_convolutions(),
    "padded convolution": padded_convolutions(),
    "long sums": long_matmuls(),
    "short products": st.randoms(use_true_random=False).map(short_product),
    "siblings": siblings(),
    "behind slices": behind_slices(),
    "expanded": expanded(),
    "repeating": repeating(),
    **{made.__name__: st.randoms(use_true_random=False).map(made) for made in ALGEBRA},
    "backward convolution": backward_convolutions(),
    "backward convolution, unit filters": backward_convolutions(filters=1),
    "weight gradient": weight_gradients(),
    "scatter and consumer": scatter_consumers(),
    "scatter and reshape": scatter_consumers(kinds=("reshape",)),
    "slice of an op": sliced(st.one_of(convolutions(), matmuls(), elementwise())),
    "slice of a scatter": sliced(scatters()),
    "lone scatter": MOVES["scatter"](),
    "lone pad": MOVES["pad"](),
}
"""Graphs for rewrite rules."""
NAMES = (*PROPAGATED, *REWRITTEN)


def rules() -> set[str]:
    """Every rule of both tables, and every extension, by name."""
    extensions = {kind.mlir_name for kind in EXTENSIONS}
    propagated = {rule.name for rule in RULES.values()}
    return extensions | propagated | {rule.name for rule in REWRITES}


def run(name: str, cases: int, covered: Counter[str], started_from: int | None = None) -> None:
    """Draw cases of a kind. Raises AssertionError at the first that is wrong, made small.

    ``covered``: how often each rule met open sizes. ``started_from``: a seed, the same each time
    by default.
    """

    def hold(data: st.DataObject, numbers: dict[str, int]) -> None:
        if name in PROPAGATED:
            _propagated(data.draw, PROPAGATED[name](), numbers, covered)
        else:
            _rewritten(data.draw, REWRITTEN[name], numbers, covered)

    chosen = settings(
        max_examples=cases,
        database=None,
        deadline=None,
        derandomize=started_from is None,
        suppress_health_check=list(HealthCheck),
    )
    case = given(data=st.data(), numbers=_NUMBERS)(hold)
    chosen(case if started_from is None else seed(started_from)(case))()


@st.composite
def _any_layout(draw: st.DrawFn, shape: Sequence[int]) -> Layout:
    """A layout of a tensor: tiles divide its dims, or pad, or are all of a dim."""
    rank = len(shape)
    outer = tuple(draw(st.permutations(range(rank))))
    tiled = [d for d in draw(st.permutations(range(rank))) if draw(st.booleans())]
    sizes = [[1, 2, 3, 4, 8, *([] if isinstance(shape[d], Size) else [shape[d]])] for d in tiled]
    tiles = tuple(draw(st.sampled_from(own)) for own in sizes)
    return Layout(outer, tuple(tiled), tiles, draw(st.sampled_from(Padding)))


def _rule_of(op: Op) -> str:
    return op.mlir_name if isinstance(op, Extension) else RULES[type(op)].name


def _propagated(
    draw: Draw, graphs: st.SearchStrategy[Graph], numbers: dict[str, int], covered: Counter[str]
) -> None:
    static = draw(graphs)
    alone = opened(draw, static) if draw(st.booleans()) else None
    graph = alone or opened_together(draw, static)
    if len(graph.ops) != 1 or not _is_open(graph):
        return
    (op,) = graph.ops
    tensor = draw(st.sampled_from([*op.inputs, *op.outputs]))
    shape = graph.types[tensor].shape
    layout = draw(st.one_of(_any_layout(shape), st.just(row_major(len(shape)))))
    values = _at_symbols(numbers)
    known = concrete(graph, values)
    if _points(known) > _MOST_POINTS:
        return
    chosen = propagate(op, graph.types, tensor, layout)
    there = propagate(known.ops[0], known.types, tensor, layout)
    if isinstance(chosen, Refusal):
        if isinstance(op, FusionBarrier):
            covered[_rule_of(op)] += isinstance(there, Refusal)
        return
    longest = max(layout.inner_tiles, default=1) if isinstance(op, Attention) else 1
    shapes = zip(graph.types, known.types, strict=True)
    dims = [(n, size) for a, b in shapes for n, size in zip(a.shape, b.shape, strict=True)]
    if all(
        size >= longest and all(values[s.name] > 1 for s in symbols(n))
        for n, size in dims
        if isinstance(n, Size)
    ):
        # at 1 a dim may stand anywhere, or be refused where only more of it could have tiles;
        # around attention a tile that is longer than a known dim is left out
        assert not isinstance(there, Refusal), f"at {values} refused: {there.reason}"
        for t, other in there.items():  # what fills padding may be known at numbers alone
            places = [layout.padded_with(Padding.ANY) for layout in (chosen[t], other)]
            assert same_memory(known.types[t].shape, *places), f"{t}: {chosen[t]}, {other}"
    if assert_right_at(graph, chosen, values) is None or isinstance(op, FusionBarrier):
        covered[_rule_of(op)] += 1


def _is_open(graph: Graph) -> bool:
    return any(not kind.is_static for kind in graph.types)


def _points(graph: Graph) -> int:
    """Points of the largest iteration domain, or elements of the largest tensor."""
    domains = (math.prod(op.domain) for op in graph.ops if isinstance(op, Structured))
    return max(*domains, 0, *(kind.elements for kind in graph.types))


def _at_symbols(numbers: dict[str, int]) -> dict[str, int]:
    """The numbers by the names that symbols have, those with divisors among them."""
    return {f"{s}{by}": n for s, n in numbers.items() for by in ("", "/2", "/4")}


def assert_right_at(graph: Graph, chosen: Assignment, numbers: dict[str, int]) -> Refusal | None:
    """Write the op for open sizes, and compare it with the op itself at these numbers."""
    (op,) = graph.ops
    physical = Physical(graph.types)
    refusal = relayout(op, chosen, physical)
    if refusal is not None:
        return refusal
    place = {t: physical.tensor(t, chosen[t]) for t in (*op.inputs, *op.outputs)}
    built = physical.builder.build([place[t] for t in op.inputs], [place[t] for t in op.outputs])
    built, known = concrete(built, numbers), concrete(graph, numbers)
    values = _inputs(known)
    found = evaluate(built, {place[t]: chosen[t].apply(v) for t, v in values.items()})
    wanted = evaluate(known, values)
    for t in op.outputs:
        memory = found[place[t]]
        assert memory.shape == chosen[t].physical_shape(known.types[t].shape)
        required = chosen[t].apply(wanted[t])
        if chosen[t].padding is Padding.ANY:
            kept = chosen[t].apply(np.ones(wanted[t].shape, bool), False)
            memory, required = memory[kept], required[kept]
        _assert_equal(memory, required, rounds=isinstance(op, Extension))
    return None


def _inputs(graph: Graph) -> dict[int, Array]:
    (op, *_) = graph.ops
    if isinstance(op, Extension):
        return random_inputs(op, graph.types, 0)
    values = {t: small_integers(graph.types[t], t) for t in graph.inputs}
    if isinstance(op, Gather):
        values[op.indices] %= graph.types[op.table].shape[op.axis]
    return values


def _assert_equal(found: Array, wanted: Array, rounds: bool) -> None:
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    if rounds and wanted.dtype.kind == "f":
        assert np.array_equal(np.isnan(found), np.isnan(wanted))  # a row that is masked all along
        assert_close(np.nan_to_num(found), np.nan_to_num(wanted))
    else:
        assert np.array_equal(found, wanted)


def _rewritten(
    draw: Draw, graphs: st.SearchStrategy[Graph], numbers: dict[str, int], covered: Counter[str]
) -> None:
    static = draw(graphs)
    alone = opened(draw, static) if len(static.ops) == 1 and draw(st.booleans()) else None
    graph = alone or opened_together(draw, static)
    values = _at_symbols(numbers)
    known = concrete(graph, values)
    if len(graph.ops) != len(static.ops) or not _is_open(graph) or _points(known) > _MOST_POINTS:
        return
    for number in range(len(graph.ops)):
        for rule in RULES_OF_SHORT_LOOPS:
            found = apply(rule, graph, number)
            if isinstance(found, Expression):
                covered[rule.name] += 1
                _assert_rewritten(graph, number, found, values)


def _assert_rewritten(graph: Graph, number: int, found: Expression, values: dict[str, int]) -> None:
    """What a rule makes is MLIR, and the op's own results at these numbers."""
    other = rewritten(graph, number, found)
    verified(other)
    known = concrete(graph, values)
    inputs = _inputs(known)
    there, here = evaluate(concrete(other, values), inputs), evaluate(known, inputs)
    for tensor in other.outputs:
        _assert_equal(there[tensor], here[tensor], found.rounds)


def main() -> None:
    """Print how often each rule met open sizes; exit with 1 where one did not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="of all kinds together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", action="append", choices=NAMES, default=[])
    chosen = parser.parse_args()
    names = chosen.kind or NAMES
    covered: Counter[str] = Counter()
    for name in names:
        run(name, -(-chosen.cases // len(names)), covered, chosen.seed)
        print(name, flush=True)
    for rule in sorted(rules()):
        print(f"{covered[rule]:7} {rule}")
    missing = rules() - {*covered}
    print(f"{chosen.cases} cases, seed {chosen.seed}; rules that met no open size: {len(missing)}")
    sys.exit(1 if missing and not chosen.kind else 0)


if __name__ == "__main__":
    main()
