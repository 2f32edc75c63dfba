"""Random attentions: as one op, and as the parts that exporters write."""

from __future__ import annotations

import math
from random import Random

from layoutopt.ir.affine import Affine, IndexMap, dim, identity_map, plain_map
from layoutopt.ir.extensions.attention import Attention
from layoutopt.ir.graph import (
    Constant,
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Reshape,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body, scalar_constant
from layoutopt.ir.types import TensorType

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION
Shape = tuple[int, ...]


def attention(random: Random) -> Graph:
    """One of the op's own examples, or a head of sizes that no tile divides."""
    if random.random() < 0.5:
        op, types = random.choice(Attention.examples())
        return Graph(types, (op,), op.sources, op.results)
    rows, columns = random.choice((17, 32, 40)), random.choice((20, 32, 33))
    n, k = random.choice((1, 3)), random.choice((2, 4))
    maps: list[Shape] = [(0, 2), (3, 2), (3, 1), (0, 1)]
    shapes: list[Shape] = [(rows, k), (columns, k), (columns, n), (rows, n)]
    kinds = ["f32"] * 4
    if random.random() < 0.6:
        loops = random.choice(((3,), (0, 3), (3, 0)))
        maps.insert(3, loops)
        shapes.insert(3, tuple({0: rows, 3: columns}[d] for d in loops))
        kinds.insert(3, random.choice(("f32", "i1")))
    types = tuple(TensorType(s, e) for s, e in zip(shapes, kinds, strict=True))
    count = len(types) - 1
    one = Attention(tuple(range(count)), (count,), tuple(maps), "5.000000e-01 : f32")
    return Graph(types, (one,), one.sources, one.results)


def attention_parts(random: Random) -> Graph:
    """Heads in one dim or in several, masks along some dims, factors, orders of dims."""
    return _Parts(random).graph()


class _Parts:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.builder = GraphBuilder()
        self.given: list[int] = []
        self.heads = tuple(random.choice((1, 2, 3)) for _ in range(random.randint(0, 2)))
        self.m, self.n, self.k, self.l = (random.choice((1, 2, 3, 5)) for _ in range(4))
        merged = len(self.heads) == 2 and random.random() < 0.6
        self.batch = (math.prod(self.heads),) if merged else self.heads

    def graph(self) -> Graph:
        pick, size = self.random.choice, {"m": self.m, "n": self.n, "k": self.k, "l": self.l}
        orders = [pick((pair, pair[::-1])) for pair in ("mk", "lk", "ln", "mn")]
        query, key, value = (
            self._argument((*self.batch, *(size[d] for d in order))) for order in orders[:3]
        )
        factors, maps = (query, key), orders[:2]
        if self.random.random() < 0.2:
            factors, maps = (key, query), maps[::-1]
        scores = self._product(factors, (maps[0], maps[1], "ml"))
        shape = (*self.heads, self.m, self.l)
        scores = self._reshaped(scores, shape)
        scores = self._scaled(scores, shape)
        scores = self._masked(scores, shape)
        shares = self._numbers(self._softmax(scores, shape), shape)
        shares = self._reshaped(shares, (*self.batch, self.m, self.l))
        result = self._product((shares, value), ("ml", orders[2], orders[3]))
        return self.builder.build(self.given, (result,))

    def _argument(self, shape: Shape) -> int:
        self.given.append(self.builder.tensor(shape, "f32"))
        return self.given[-1]

    def _product(self, factors: tuple[int, int], dims: tuple[str, str, str]) -> int:
        """Over the batch, with two dims each."""
        count = len(self.batch)
        size = {"m": self.m, "n": self.n, "k": self.k, "l": self.l}
        loops = (*dims[2], *sorted({*dims[0], *dims[1]} - {*dims[2]}))
        domain = (*self.batch, *(size[d] for d in loops))
        made = self.builder.tensor(domain[:-1], "f32")
        maps = tuple(
            plain_map((*range(count), *(count + loops.index(d) for d in own))) for own in dims
        )
        kinds = (P,) * (len(domain) - 1) + (R,)
        body = contraction_body("f32", "f32", "f32")
        self.builder.add(
            Structured(factors, (Fill("0.0 : f32"),), (made,), domain, kinds, maps, body)
        )
        return made

    def _reshaped(self, source: int, shape: Shape) -> int:
        if self.builder.types[source].shape == shape:
            return source
        made = self.builder.tensor(shape, "f32")
        self.builder.add(Reshape(source, made))
        return made

    def _point(
        self, sources: tuple[int, ...], maps: tuple[IndexMap, ...], shape: Shape, body: Body
    ) -> int:
        made = self.builder.tensor(shape, body.ops[-1].type)
        maps = (*maps, identity_map(len(shape)))
        kinds = (P,) * len(shape)
        self.builder.add(Structured(sources, (Uninitialized(),), (made,), shape, kinds, maps, body))
        return made

    def _scaled(self, scores: int, shape: Shape) -> int:
        if self.random.random() < 0.5:
            return scores
        ops = (scalar_constant("5.000000e-01 : f32", "f32"), ScalarOp("arith.mulf", (0, 2), "f32"))
        return self._point(
            (scores,), (identity_map(len(shape)),), shape, Body(("f32", "f32"), ops, (3,))
        )

    def _masked(self, scores: int, shape: Shape) -> int:
        if self.random.random() < 0.4:
            return scores
        there = [self.random.random() < 0.6 for _ in shape]
        one = [self.random.random() < 0.5 for _ in shape]
        forms: list[Affine] = []
        sizes: list[int] = []
        for d, size in enumerate(shape):
            if there[d]:
                forms.append(dim(d))
                sizes.append(size)
            elif one[d]:
                sizes.append(self.random.choice((1, 1, 2)))
                forms.append(Affine((), self.random.randrange(sizes[-1])))
        mask = self._argument(tuple(sizes))
        whole = identity_map(len(shape))
        return self._point((scores, mask), (whole, tuple(forms)), shape, _binary("arith.addf"))

    def _softmax(self, scores: int, shape: Shape) -> int:
        whole, last = identity_map(len(shape)), len(shape) - 1
        highest, rows = self._along("arith.maximumf", "0xFF800000 : f32", scores, shape)
        less = self._point((scores, highest), (whole, rows), shape, _binary("arith.subf"))
        raised = Body(("f32", "f32"), (ScalarOp("math.exp", (0,), "f32"),), (2,))
        powers = self._point((less,), (whole,), shape, raised)
        total, rows = self._along("arith.addf", "0.0 : f32", powers, shape)
        assert last >= 0
        return self._point((powers, total), (whole, rows), shape, _binary("arith.divf"))

    def _along(self, name: str, start: str, source: int, shape: Shape) -> tuple[int, IndexMap]:
        """A fold of the last dim, which stays as a dim of one or goes; how rows read it."""
        rank = len(shape)
        kept = plain_map(range(rank - 1))
        size = shape[:-1]
        if self.random.random() < 0.5:
            kept, size = (*kept, Affine((), 0)), (*size, 1)
        made = self.builder.tensor(size, "f32")
        body = Body(("f32", "f32"), (ScalarOp(name, (0, 1), "f32"),), (2,))
        kinds = (P,) * (rank - 1) + (R,)
        maps = (identity_map(rank), kept)
        self.builder.add(Structured((source,), (Fill(start),), (made,), shape, kinds, maps, body))
        return made, kept

    def _numbers(self, shares: int, shape: Shape) -> int:
        """Zeros in the place of what is not a number, or nothing of the kind."""
        if self.random.random() < 0.5:
            return shares
        whole = identity_map(len(shape))
        test = ScalarOp("arith.cmpf", (0, 1), "i1", (("predicate", "13 : i64"),))
        told = self._point(
            (shares, shares), (whole, whole), shape, Body(("f32", "f32", "i1"), (test,), (3,))
        )
        zero = self.builder.tensor((), "f32")
        self.builder.add(Constant(zero, "0.0 : f32"))
        chosen = Body(
            ("i1", "f32", "f32", "f32"), (ScalarOp("arith.select", (0, 1, 2), "f32"),), (4,)
        )
        return self._point((told, zero, shares), (whole, (), whole), shape, chosen)


def _binary(name: str) -> Body:
    return Body(("f32",) * 3, (ScalarOp(name, (0, 1), "f32"),), (3,))


ATTENTIONS = (attention, attention_parts)
