"""Random small graphs of many ops: diagonals, unit dims, no dims, several results and readers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from layoutopt.ir.affine import Affine, IndexMap, affine, identity_map, plain_map
from layoutopt.ir.graph import (
    Concat,
    Constant,
    Fill,
    FromTensor,
    Gather,
    Graph,
    GraphBuilder,
    Init,
    Insert,
    IteratorType,
    Opaque,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body, copy_body

SIZES = (1, 1, 2, 3, 4, 5, 6, 8)
_MOST_POINTS = 3000
_MOST_RANK = 4
_P, _R = IteratorType.PARALLEL, IteratorType.REDUCTION
_BINARY = ("arith.addf", "arith.subf", "arith.maximumf", "arith.minimumf")
_FOLDS = ("arith.addf", "arith.maximumf", "arith.minimumf", "arith.subf")


def random_graph(random: Random, most_ops: int = 6) -> Graph:
    """A graph over f32; no op multiplies but contractions, so that small integers stay exact."""
    return _Growing(random).grown(random.randint(1, most_ops))


class _Growing:
    def __init__(self, random: Random) -> None:
        self.r = random
        self.g = GraphBuilder()
        self.inputs: list[int] = []
        self.live: list[int] = []
        self.outputs: dict[int, None] = {}

    def grown(self, ops: int) -> Graph:
        steps = (
            self.contraction, self.contraction, self.convolution, self.pooling, self.elementwise,
            self.elementwise, self.reduction, self.copied, self.moved, self.moved, self.opaque,
        )  # fmt: skip
        self.given()
        for _ in range(ops):
            self.r.choice(steps)()
        read = {t for op in self.g.ops for t in op.inputs}
        made = [t for t in self.live if t not in self.inputs]
        for tensor in made or self.live[:1]:
            if tensor not in read or not self.r.randint(0, 5):
                self.outputs[tensor] = None
        if not self.r.randint(0, 8):
            self.outputs[self.r.choice(self.live)] = None
        if not self.outputs:
            self.outputs[self.live[-1]] = None
        return self.g.build(self.inputs, self.outputs)

    def given(self, shape: Sequence[int] | None = None) -> int:
        """An input or a constant."""
        if shape is None:
            rank = self.r.choice((0, 1, 2, 2, 2, 3, 3, 4))
            shape = [self.r.choice(SIZES) for _ in range(rank)]
        tensor = self.g.tensor(shape, "f32")
        kind = self.r.randint(0, 5) if self.inputs else 5
        if kind < 2:
            self.g.add(Constant(tensor, "2.000000e+00 : f32" if kind else None))
        else:
            self.inputs.append(tensor)
        self.live.append(tensor)
        return tensor

    def shape(self, tensor: int) -> tuple[int, ...]:
        return self.g.types[tensor].shape

    def any(self, least: int = 0) -> int:
        fitting = [t for t in self.live if len(self.shape(t)) >= least]
        if fitting and self.r.randint(0, 6):
            return self.r.choice(fitting[-4:])
        return self.given([self.r.choice(SIZES) for _ in range(max(least, self.r.randint(0, 3)))])

    def made(self, shape: Sequence[int]) -> int:
        tensor = self.g.tensor(shape, "f32")
        self.live.append(tensor)
        return tensor

    def loops(self, tensor: int, domain: list[int]) -> list[int]:
        """A loop for each dim; dims of one size may share one, so that a diagonal is read."""
        own: list[int] = []
        for size in self.shape(tensor):
            same = [d for d in own if domain[d] == size]
            if same and not self.r.randint(0, 6):
                own.append(self.r.choice(same))
            else:
                domain.append(size)
                own.append(len(domain) - 1)
        return own

    def shuffled(self, items: Sequence[int]) -> list[int]:
        found = list(items)
        self.r.shuffle(found)
        return found

    def structured(
        self,
        sources: Sequence[int],
        maps: Sequence[IndexMap],
        results: Sequence[IndexMap],
        domain: Sequence[int],
        body: Body,
    ) -> None:
        if math.prod(domain) > _MOST_POINTS:
            return
        made, inits = [], []
        for position, index_map in enumerate(results):
            shape = [domain[form.dims[0]] for form in index_map]
            used = body.used(len(sources) + position)
            inits.append(self.init(shape) if used else Uninitialized())
            made.append(self.g.tensor(shape, "f32"))
        written = {d for form in results[0] for d in form.dims}
        self.g.add(
            Structured(
                tuple(sources),
                tuple(inits),
                tuple(made),
                tuple(domain),
                tuple(_P if d in written else _R for d in range(len(domain))),
                (*maps, *results),
                body,
            )
        )
        self.live += made

    def init(self, shape: Sequence[int]) -> Init:
        fitting = [t for t in self.live if self.shape(t) == tuple(shape)]
        kind = self.r.randint(0, 5)
        if kind < 4:
            return Fill(f"{0 if kind else 2}.0 : f32")
        return FromTensor(self.r.choice(fitting) if fitting else self.given(shape))

    def contraction(self) -> None:
        x = self.any(1)
        domain: list[int] = []
        left = self.loops(x, domain)
        own = list(dict.fromkeys(left))
        reduced = self.r.sample(own, self.r.randint(1, len(own)))
        batch = [d for d in own if d not in reduced and not self.r.randint(0, 3)]
        wide = [self.r.choice(SIZES) for _ in range(self.r.choice((0, 1, 1, 1, 2)))]
        columns = list(range(len(domain), len(domain) + len(wide)))
        domain += wide
        right = self.shuffled([*reduced, *batch, *columns])
        if not self.r.randint(0, 8):
            right.append(self.r.choice(right))
        y = self.fitting([domain[d] for d in right])
        kept = self.shuffled([d for d in range(len(domain)) if d not in reduced])
        if len(kept) > _MOST_RANK or len(right) > _MOST_RANK:
            return
        maps = [plain_map(left), plain_map(right)]
        body = contraction_body("f32", "f32", "f32")
        pair = [x, y]
        if not self.r.randint(0, 5):
            pair, maps = pair[::-1], maps[::-1]
        self.structured(pair, maps, [plain_map(kept)], domain, body)

    def fitting(self, shape: Sequence[int]) -> int:
        """A tensor of a shape, there already or new."""
        found = [t for t in self.live if self.shape(t) == tuple(shape)]
        return self.r.choice(found) if found and self.r.randint(0, 2) else self.given(shape)

    def windows(self, image: int) -> tuple[list[int], list[int], list[int]] | None:
        """Sizes of the outputs and windows of some dims, and the strides."""
        sizes = self.shape(image)[1:]
        filters = [self.r.randint(1, n) for n in sizes]
        strides = [self.r.randint(1, 2) for _ in sizes]
        out = [(n - f) // s + 1 for n, f, s in zip(sizes, filters, strides, strict=True)]
        return (out, filters, strides) if sizes else None

    def convolution(self) -> None:
        """The first dim is channels or batch, the others an image."""
        x = self.any(2)
        found = self.windows(x)
        if found is None or len(self.shape(x)) > 3:
            return
        out, filters, strides = found
        spatial = len(out)
        channels = self.r.randint(0, 1)
        domain = [self.shape(x)[0], *out, *filters, self.r.choice(SIZES)]
        image, inside = range(1, 1 + spatial), range(1 + spatial, 1 + 2 * spatial)
        last = len(domain) - 1
        steps = [affine([(i, s), (k, 1)]) for i, k, s in zip(image, inside, strides, strict=True)]
        read = (*plain_map([0]), *steps)
        weights = self.shuffled([*inside, last, *([0] if channels else [])])
        written = self.shuffled([*image, last, *([] if channels else [0])])
        if len(weights) > _MOST_RANK + 1 or len(written) > _MOST_RANK:
            return
        w = self.fitting([domain[d] for d in weights])
        body = contraction_body("f32", "f32", "f32")
        self.structured([x, w], [read, plain_map(weights)], [plain_map(written)], domain, body)

    def pooling(self) -> None:
        x = self.any(2)
        found = self.windows(x)
        if found is None:
            return
        out, filters, strides = found
        spatial = len(out)
        domain = [self.shape(x)[0], *out, *filters]
        image, inside = range(1, 1 + spatial), range(1 + spatial, 1 + 2 * spatial)
        steps = [affine([(i, s), (k, 1)]) for i, k, s in zip(image, inside, strides, strict=True)]
        read = (*plain_map([0]), *steps)
        body = Body(("f32",) * 3, (ScalarOp(self.r.choice(_FOLDS[:3]), (2, 0), "f32"),), (3,))
        written = plain_map([0, *image])
        self.structured(
            [x, self.given(filters)], [read, plain_map(inside)], [written], domain, body
        )

    def operand(self, domain: Sequence[int]) -> tuple[int, IndexMap]:
        """Any tensor whose dims are loops, or are read at one place."""
        for tensor in self.shuffled(self.live)[:4]:
            forms: list[Affine] = []
            for size in self.shape(tensor):
                same = [d for d, n in enumerate(domain) if n == size]
                if same and self.r.randint(0, 9):
                    forms.append(affine([(self.r.choice(same), 1)]))
                else:
                    forms.append(affine([], self.r.randint(0, size - 1)))
            if forms or not self.r.randint(0, 2):
                return tensor, tuple(forms)
        kept = self.r.sample(range(len(domain)), self.r.randint(0, len(domain)))
        return self.given([domain[d] for d in kept]), plain_map(kept)

    def elementwise(self) -> None:
        x = self.any()
        domain = list(self.shape(x))
        y, other = self.operand(domain)
        out = plain_map(self.shuffled(range(len(domain))))
        ops = [ScalarOp(self.r.choice(_BINARY), (0, 1), "f32")]
        if domain and not self.r.randint(0, 5):
            dim = (("dim", str(self.r.randint(0, len(domain) - 1))),)
            ops += [
                ScalarOp("linalg.index", (), "index", dim),
                ScalarOp("arith.index_cast", (4,), "i32"),
                ScalarOp("arith.sitofp", (5,), "f32"),
                ScalarOp("arith.addf", (3, 6), "f32"),
            ]
        elif not self.r.randint(0, 5):
            ops.append(ScalarOp("arith.addf", (3, 2), "f32"))
        yields: tuple[int, ...] = (2 + len(ops),)
        results = [out]
        arguments = ["f32"] * 3
        if len(ops) == 1 and not self.r.randint(0, 5):
            results.append(plain_map(self.shuffled(range(len(domain)))))
            arguments.append("f32")
            ops = [ScalarOp(ops[0].name, (0, 1), "f32"), ScalarOp("arith.addf", (4, 0), "f32")]
            yields = (4, 5)
        body = Body(tuple(arguments), tuple(ops), yields)
        self.structured([x, y], [identity_map(len(domain)), other], results, domain, body)

    def reduction(self) -> None:
        x = self.any(1)
        domain: list[int] = []
        read = self.loops(x, domain)
        kept = [d for d in self.shuffled(range(len(domain))) if self.r.randint(0, 1)]
        if len(kept) == len(domain):
            kept.pop()
        if self.r.randint(0, 2):
            body = Body(("f32",) * 2, (ScalarOp(self.r.choice(_FOLDS), (0, 1), "f32"),), (2,))
            results = [plain_map(kept)]
        else:
            folds = [ScalarOp("arith.addf", (1, 0), "f32"), ScalarOp(_FOLDS[1], (2, 0), "f32")]
            body = Body(("f32",) * 3, tuple(folds), (3, 4))
            results = [plain_map(kept), plain_map(self.shuffled(kept))]
        self.structured([x], [plain_map(read)], results, domain, body)

    def copied(self) -> None:
        """A transpose, a diagonal, a broadcast, or several of them in one."""
        x = self.any()
        domain: list[int] = []
        read = self.loops(x, domain)
        if len(domain) < _MOST_RANK and not self.r.randint(0, 2):
            domain.append(self.r.choice(SIZES))
        out = plain_map(self.shuffled(range(len(domain))))
        self.structured([x], [plain_map(read)], [out], domain, copy_body("f32"))

    def moved(self) -> None:
        steps = (
            self.padded, self.sliced, self.inserted, self.joined, self.reshaped, self.gathered,
            self.scattered,
        )  # fmt: skip
        self.r.choice(steps)()

    def padded(self) -> None:
        x = self.any()
        low, high = (tuple(self.r.choice((0, 0, 1, 2, 4)) for _ in self.shape(x)) for _ in "lh")
        sizes = [a + n + b for a, n, b in zip(low, self.shape(x), high, strict=True)]
        if math.prod(sizes) <= _MOST_POINTS:
            value = self.r.choice(("0.0", "7.0"))
            self.g.add(Pad(x, self.made(sizes), low, high, f"{value} : f32"))

    def ranges(self, shape: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        found = []
        for n in shape:
            stride, offset = self.r.choice((1, 1, 2)), self.r.choice((0, 0, n // 2, n - 1))
            whole = stride == 1 and not offset and self.r.randint(0, 1)
            most = -(-(n - offset) // stride)
            found.append((offset, most if whole else self.r.randint(1, most), stride))
        offsets, sizes, strides = zip(*found, strict=True) if found else ((), (), ())
        return offsets, sizes, strides

    def sliced(self) -> None:
        x = self.any()
        offsets, sizes, strides = self.ranges(self.shape(x))
        self.g.add(Slice(x, self.made(sizes), offsets, strides))

    def inserted(self) -> None:
        into = self.any()
        offsets, sizes, strides = self.ranges(self.shape(into))
        source = self.fitting(sizes)
        self.g.add(Insert(source, into, self.made(self.shape(into)), offsets, strides))

    def scattered(self) -> None:
        shape = self.shape(self.any())
        offsets, sizes, strides = self.ranges(shape)
        source = self.fitting(sizes)
        self.g.add(Scatter((source,), self.made(shape), (offsets,), strides, "0.0 : f32"))

    def joined(self) -> None:
        x = self.any(1)
        axis = self.r.randint(0, len(self.shape(x)) - 1)
        pieces = [x]
        for _ in range(self.r.randint(0, 2)):
            shape = list(self.shape(x))
            shape[axis] = self.r.choice(SIZES)
            pieces.append(self.fitting(shape))
        total = list(self.shape(x))
        total[axis] = sum(self.shape(t)[axis] for t in pieces)
        self.g.add(Concat(tuple(pieces), self.made(total), axis))

    def reshaped(self) -> None:
        x = self.any()
        factors = {1: [], 4: [2, 2], 6: [2, 3], 8: [2, 4]}
        pieces = [f for n in self.shape(x) for f in factors.get(n, [n])]
        while len(pieces) > 1 and self.r.randint(0, 1):
            at = self.r.randint(0, len(pieces) - 2)
            pieces[at : at + 2] = [pieces[at] * pieces[at + 1]]
        for _ in range(self.r.randint(0, 2)):
            pieces.insert(self.r.randint(0, len(pieces)), 1)
        if len(pieces) <= _MOST_RANK + 1:
            self.g.add(Reshape(x, self.made(pieces)))

    def gathered(self) -> None:
        """Rows of a table; indices are an input of integers. Some read a part of each row."""
        table = self.any(1)
        shape = self.shape(table)
        axis = self.r.randint(0, len(shape) - 1)
        counts = [self.r.choice(SIZES) for _ in range(self.r.randint(0, 2))]
        indices = self.g.tensor(counts, "i64")
        self.inputs.append(indices)
        kept = [
            self.r.randint(1, n) if not self.r.randint(0, 3) else n
            for d, n in enumerate(shape)
            if d != axis
        ]
        sizes = [*kept, *counts]
        order = self.shuffled(range(len(sizes)))
        place = [order.index(d) for d in range(len(sizes))]
        dims: list[int | None] = [*place[: len(kept)]]
        dims.insert(axis, None)
        made = self.made([sizes[d] for d in order])
        self.g.add(Gather(table, indices, made, tuple(place[len(kept) :]), tuple(dims)))

    def opaque(self) -> None:
        """An op that the graph cannot see through: it reads outputs and makes an input."""
        x = self.any()
        made = self.made([self.r.choice(SIZES) for _ in range(self.r.randint(0, 3))])
        self.outputs[x] = None
        self.inputs.append(made)
        self.g.add(Opaque("test.unknown", (x,), (made,), "expected a known op"))
