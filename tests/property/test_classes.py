"""A graph that grows by equal ways to compute its tensors stays closed under congruence."""

from __future__ import annotations

from random import Random

from layoutopt.candidates.classes import Classes
from layoutopt.ir.graph import Concat, Graph, Op, Reshape
from layoutopt.ir.renaming import renumbered
from layoutopt.ir.types import TensorType
from layoutopt.rules.rule import Expression

KIND = TensorType((4,), "f32")
OWN = 6


def value(op: Op, values: dict[int, int]) -> int:
    """What an op stands for here: numbers below 5, so that many ops make the same."""
    if isinstance(op, Reshape):
        return (2 * values[op.source] + 1) % 5
    assert isinstance(op, Concat)
    first, second = (values[t] for t in op.sources)
    return (first + 3 * second + op.axis) % 5


def drawn(random: Random, tensors: list[int], result: int) -> Op:
    if random.random() < 0.4:
        return Reshape(random.choice(tensors), result)
    sources = (random.choice(tensors), random.choice(tensors))
    return Concat(sources, result, random.randrange(2))


def model(random: Random) -> tuple[Graph, dict[int, int]]:
    """Own tensors, the first of which is given, and their values."""
    ops = [drawn(random, list(range(t)), t) for t in range(1, OWN)]
    values = {0: random.randrange(5)}
    for op in ops:
        values[op.outputs[0]] = value(op, values)
    return Graph((KIND,) * OWN, tuple(ops), (0,), tuple(range(1, OWN))), values


def grown(classes: Classes, random: Random, values: dict[int, int]) -> dict[int, int]:
    """Add an expression of up to three new ops to a class that has its value."""
    graph = classes.graph
    known = sorted({t for op in graph.ops for t in (*op.inputs, *op.outputs)})
    values, ops = {**values}, list[Op]()
    first = len(graph.types)
    for t in range(first, first + random.randint(0, 2)):
        ops.append(drawn(random, [*known, *(op.outputs[0] for op in ops)], t))
        values[t] = value(ops[-1], values)
    inner = [op.outputs[0] for op in ops]
    for _ in range(50):
        last = drawn(random, inner[-1:] or known, -1)
        same = [t for t in known if t and values[t] == value(last, values)]
        if not same:
            continue
        root = random.choice(same)
        op = renumbered(last, {t: t for t in last.inputs} | {-1: root})
        addition = classes.lacking(Expression((KIND,) * len(ops), (*ops, op)))
        kept = {t: v for t, v in values.items() if t < first}
        if not addition.is_empty:
            for new in addition.expression.ops:
                kept[new.outputs[0]] = value(new, kept)
            classes.add(addition, ["op"] * len(addition.expression.ops))
        return kept
    return {t: v for t, v in values.items() if t < first}


def test_equal_ops_over_equal_classes_make_one_class() -> None:
    united = 0
    for seed in range(300):
        random = Random(seed)
        graph, values = model(random)
        classes = Classes(graph)
        for _ in range(random.randint(1, 12)):
            values = grown(classes, random, values)
        of_type = len(classes.graph.types)
        made, place = classes.compacted()
        united += of_type - len(made.types)
        assert made.types[:OWN] == graph.types
        assert made.ops[: len(graph.ops)] == graph.ops, seed
        assert sorted({*place.values()}) == list(range(len(made.ops)))
        homes: dict[Op, int] = {}
        for index, op in enumerate(classes.graph.ops):
            assert value(op, values) == values[op.outputs[0]], seed
            made_by = renumbered(op, {t: t for t in op.inputs} | {op.outputs[0]: -1})
            home = homes.setdefault(made_by, op.outputs[0])
            assert home == op.outputs[0] or max(home, op.outputs[0]) < OWN, (seed, index)
    assert united > 50
