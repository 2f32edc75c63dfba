"""Random products whose loops are those of a matmul, each of them one or several, in any order."""

from __future__ import annotations

from random import Random

from layoutopt.ir.graph import Graph, GraphBuilder
from layoutopt.rules.rewrites.product import contraction
from tests.property.rules.siblings import counted

Loops = tuple[int, ...]


def short_product(random: Random) -> Graph:
    """Loops of a few points; the second factor is constant in half of all."""
    rows, terms, columns = (
        tuple(random.choice((1, 2, 3, 4, 6)) for _ in range(random.randint(1, 2))) for _ in range(3)
    )
    return _product(random, rows, terms, columns, constant=random.random() < 0.5)


def long_product(random: Random) -> Graph:
    """64 rows or more, 512 terms and 512 columns; the second factor is constant."""
    rows = random.choice(((64,), (65,), (8, 9)))
    terms, columns = (random.choice(((512,), (16, 32))) for _ in range(2))
    return _product(random, rows, terms, columns, constant=True)


def _product(random: Random, rows: Loops, terms: Loops, columns: Loops, *, constant: bool) -> Graph:
    batches = (random.choice((1, 2)),) if random.random() < 0.3 else ()
    kinds = (batches, rows, terms, columns)
    sizes = dict(enumerate(size for kind in kinds for size in kind))
    numbers = iter(sizes)
    batch, row, term, column = ([next(numbers) for _ in kind] for kind in kinds)
    orders = [[*batch, *row, *term], [*batch, *term, *column], [*batch, *row, *column]]
    if random.random() < 0.5:
        for order in orders:
            random.shuffle(order)
    first, second, result = map(tuple, orders)
    builder = GraphBuilder()
    shapes = [tuple(sizes[d] for d in order) for order in orders]
    x = builder.tensor(shapes[0], "f32")
    w = counted(builder, shapes[1], 1) if constant else builder.tensor(shapes[1], "f32")
    y = builder.tensor(shapes[2], "f32")
    builder.add(contraction((x, w), (first, second, result), y, sizes, ("f32",) * 3))
    return builder.build([x] if constant else [x, w], [y])
