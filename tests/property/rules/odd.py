"""Random small graphs that no importer writes, but that linalg allows.

Diagonals, constant indices, shared and reversed window loops, strides, dilations, loops of no or
one step, tensors without dims, several results, bodies that look at their position, any start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from layoutopt.ir.affine import Affine, IndexMap, affine, dim, identity_map
from layoutopt.ir.graph import (
    Fill,
    FromTensor,
    Graph,
    GraphBuilder,
    Init,
    IteratorType,
    Pad,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.ir.types import is_float
from tests.property.rules.algebra import ALGEBRA
from tests.property.rules.odd_bodies import any_body, with_dead_argument
from tests.property.rules.odd_operands import Operands
from tests.property.rules.siblings import add_siblings, loops_of_weights

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION
_FACTORS = (
    *(("f32", "f32"),) * 4,
    ("i8", "i32"),
    ("f16", "f32"),
    ("f16", "f16"),
    ("f64", "f64"),
    ("i32", "i32"),
)


def odd_graph(random: Random) -> Graph:
    """One structured op with odd maps, what makes its operands, and what reads its result.

    Seldom several with plain ones, for rules that look for these.
    """
    if random.random() < 0.08:
        return random.choice(ALGEBRA)(random)
    return _Graph(random).build()


@dataclass(frozen=True, slots=True)
class _Loops:
    """The loops of an op, and the maps that make it a convolution or contraction to start with."""

    sizes: tuple[int, ...]
    parallel: tuple[int, ...]
    maps: tuple[tuple[Affine, ...], ...]


@dataclass
class _Graph:
    random: Random
    builder: GraphBuilder = field(default_factory=GraphBuilder)

    @property
    def operands(self) -> Operands:
        return Operands(self.random, self.builder)

    def build(self) -> Graph:
        results = self._structured()
        outputs = [self._behind(t) for t in results]
        kept = [t for t in results if t not in outputs and self.random.random() < 0.1]
        kept += self._siblings()
        made = {t for op in self.builder.ops for t in op.outputs}
        inputs = [t for t in range(len(self.builder.types)) if t not in made]
        return self.builder.build(inputs, (*outputs, *kept))

    def _siblings(self) -> list[int]:
        """The op twice more, with constants along one of its loops; seldom, and few can be."""
        builder = self.builder
        found = [(op, loops_of_weights(op, builder.types)) for op in self._contractions()]
        ways = [(op, loop) for op, loops in found for loop in loops]
        if not ways or self.random.random() < 0.7:
            return []
        op, loop = self.random.choice(ways)
        sizes = [self.random.randint(1, 3) for _ in range(2)]
        return add_siblings(builder, op, builder.types, loop, sizes)

    def _contractions(self) -> list[Structured]:
        return [op for op in self.builder.ops if isinstance(op, Structured) and op.is_contraction]

    def _structured(self) -> list[int]:
        factor, out = self.random.choice(_FACTORS)
        loops = self._convolution() if self.random.random() < 0.7 else self._any_loops()
        body, sources, results = any_body(self.random, factor, out)
        maps = list(loops.maps[:sources])
        while len(maps) < sources:
            maps.append(self._any_map(len(loops.sizes)))
        maps = [self._mutated(m, loops) for m in maps]
        written = self._result_map(loops)
        result_maps = [written] * results
        seen = {f.plain_dim for m in (*maps, *result_maps) for f in m}
        lacking = [d for d in range(len(loops.sizes)) if d not in seen]
        if lacking:  # linalg takes the size of every loop from a tensor
            self.random.shuffle(lacking)
            maps.append(tuple(map(dim, lacking)))
            body = with_dead_argument(body, sources, factor)
        tensors: list[int] = []
        for m, element in zip(maps, body.arguments, strict=False):
            tensors.append(self._operand(m, element, loops.sizes, tensors))
        made, inits = [], []
        for m, element in zip(result_maps, body.arguments[len(maps) :], strict=True):
            shape = self._extents(m, loops.sizes)
            made.append(self.builder.tensor(shape, element))
            inits.append(self._init(made[-1], tensors, loops, m, body, len(maps)))
        iterators = tuple(P if d in loops.parallel else R for d in range(len(loops.sizes)))
        self.builder.add(
            Structured(
                tuple(tensors),
                tuple(inits),
                tuple(made),
                loops.sizes,
                iterators,
                (*maps, *result_maps),
                body,
            )
        )
        return made

    def _size(self) -> int:
        return self.random.choice((0,) + (1,) * 20 + (2,) * 20 + (3,) * 20 + (4,) * 10)

    def _convolution(self) -> _Loops:
        """Batch, group, filters, image | channels, window: some of each."""
        random = self.random
        spatial = random.choice((0, 1, 1, 1, 2))
        roles = ["n"] * random.randint(0, 1) + ["g"] * (random.random() < 0.3)
        roles += ["f"] * random.randint(0, 1) + ["c"] * random.randint(0, 1)
        roles += ["o"] * spatial + ["k"] * spatial
        sizes = tuple(self._size() for _ in roles)
        unit = random.random() < 0.3
        sizes = tuple(1 if unit and r == "k" else n for n, r in zip(sizes, roles, strict=True))
        at = {r: [d for d, x in enumerate(roles) if x == r] for r in "ngfcok"}
        windows = []
        dense = random.random() < 0.4
        for o, k in zip(at["o"], at["k"], strict=True):
            stride = 1 if dense else random.choice((1, 2, 3, sizes[k] or 1))
            windows.append(affine([(o, stride), (k, 1 if dense else random.choice((1, 1, 2)))]))
        image = [*map(dim, at["n"] + at["g"] + at["c"]), *windows]
        weights = [*map(dim, at["g"] + at["f"] + at["c"] + at["k"])]
        random.shuffle(image)
        random.shuffle(weights)
        maps = [tuple(image), tuple(weights)]
        if random.random() < 0.2:
            maps.reverse()
        parallel = tuple(sorted(at["n"] + at["g"] + at["f"] + at["o"]))
        return _Loops(sizes, parallel, tuple(maps))

    def _any_loops(self) -> _Loops:
        rank = self.random.randint(0, 4)
        sizes = tuple(self._size() for _ in range(rank))
        parallel = tuple(d for d in range(rank) if self.random.random() < 0.6)
        return _Loops(sizes, parallel, ())

    def _any_map(self, rank: int) -> IndexMap:
        loops = [d for d in range(rank) if self.random.random() < 0.75]
        self.random.shuffle(loops)
        return tuple(map(dim, loops))

    def _mutated(self, forms: IndexMap, loops: _Loops) -> IndexMap:
        """Some dims read in another way: offsets, constants, diagonals, reversed, shared loops."""
        random = self.random
        found = list(forms)
        rank = len(loops.sizes)
        for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
            way = random.randrange(7)
            at = random.randrange(len(found)) if found else None
            if way == 0:
                found.insert(random.randint(0, len(found)), affine([], random.choice((0, 0, 1, 2))))
            elif way == 1 and rank and len(found) < 5:  # a diagonal, or one more dim
                found.insert(random.randint(0, len(found)), dim(random.randrange(rank)))
            elif at is not None and way == 2:
                del found[at]
            elif at is not None and way == 3 and rank:
                more = (random.randrange(rank), random.choice((1, 1, 2, -1)))
                found[at] = affine([*found[at].terms, more], found[at].offset)
            elif at is not None and way == 4 and found[at].terms:
                turned = [(d, random.choice((1, -1, -2)) * c) for d, c in found[at].terms]
                found[at] = affine(turned, found[at].offset)
            elif at is not None and way == 5:
                found[at] = affine(found[at].terms, found[at].offset + random.choice((1, 2)))
            elif at is not None and way == 6:
                found[at] = affine([], random.choice((0, 1)))
        return tuple(self._inside(f, loops.sizes) for f in found)

    @staticmethod
    def _inside(form: Affine, sizes: tuple[int, ...]) -> Affine:
        """The form moved so that its least place is no less than zero."""
        least = form.offset + sum(min(0, c * max(0, sizes[d] - 1)) for d, c in form.terms)
        return affine(form.terms, form.offset - min(0, least))

    def _result_map(self, loops: _Loops) -> IndexMap:
        random = self.random
        found: list[Affine] = [*map(dim, loops.parallel)]
        random.shuffle(found)
        if random.random() < 0.15:
            found.insert(random.randint(0, len(found)), affine([], random.choice((0, 0, 1))))
        if found and random.random() < 0.1:
            at = random.randrange(len(found))
            turned = [(d, random.choice((1, 2, -1)) * c) for d, c in found[at].terms]
            found[at] = affine(turned, random.choice((0, 1)))
        if loops.parallel and random.random() < 0.04:
            found.insert(random.randint(0, len(found)), dim(random.choice(loops.parallel)))
        return tuple(self._inside(f, loops.sizes) for f in found)

    def _extents(self, forms: IndexMap, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """The least shape that holds all that is read, with a margin where linalg allows one."""
        found = []
        for form in forms:
            if form.plain_dim is not None:
                found.append(sizes[form.plain_dim])
                continue
            last = form.offset + sum(max(0, c * (sizes[d] - 1)) for d, c in form.terms)
            found.append(last + 1 + self.random.choice((0, 0, 1, 2)))
        return tuple(found)

    def _init(
        self,
        result: int,
        sources: list[int],
        loops: _Loops,
        written: IndexMap,
        body: Body,
        count: int,
    ) -> Init:
        random = self.random
        kind = self.builder.types[result]
        whole = {f.plain_dim for f in written} >= {*loops.parallel} and all(
            f.plain_dim is not None for f in written
        )
        whole = whole and len({f.plain_dim for f in written}) == len(written)
        if whole and not any(body.used(count + i) for i in range(len(body.arguments) - count)):
            return Uninitialized()
        twins = [t for t in sources if self.builder.types[t] == kind]
        if twins and random.random() < 0.5:
            return FromTensor(random.choice(twins))
        if random.random() < 0.3:
            return FromTensor(self.operands.made(kind.shape, kind.element))
        value = random.choice(("0", "0", "0", "2"))
        return Fill(f"{value}{'.0' * is_float(kind.element)} : {kind.element}")

    def _operand(
        self, forms: IndexMap, element: str, sizes: tuple[int, ...], known: list[int]
    ) -> int:
        shape = self._extents(forms, sizes)
        twins = [
            t
            for t in known
            if self.builder.types[t].element == element and self.builder.types[t].shape == shape
        ]
        if twins and self.random.random() < 0.5:
            return self.random.choice(twins)
        return self.operands.made(shape, element)

    def _behind(self, tensor: int) -> int:
        random, builder = self.random, self.builder
        kind = builder.types[tensor]
        for _ in range(random.choice((0, 0, 1, 1, 2))):
            way = random.choice(("slice", "slice", "reshape", "point", "pad"))
            if way == "slice":
                tensor = self._slice(tensor)
            elif way == "reshape":
                shape = random.choice(((kind.elements,), (1, *kind.shape), (*kind.shape, 1)))
                made = builder.tensor(shape, kind.element)
                builder.add(Reshape(tensor, made))
                tensor = made
            elif way == "pad":
                low, high = (tuple(random.choice((0, 1)) for _ in kind.shape) for _ in range(2))
                shape = tuple(a + n + b for a, n, b in zip(low, kind.shape, high, strict=True))
                made = builder.tensor(shape, kind.element)
                builder.add(Pad(tensor, made, low, high, self.operands.zero(kind.element, 3)))
                tensor = made
            else:
                tensor = self._point(tensor)
            kind = builder.types[tensor]
        return tensor

    def _slice(self, tensor: int) -> int:
        kind = self.builder.types[tensor]
        strides = tuple(self.random.choice((1, 2, 3)) for _ in kind.shape)
        offsets = tuple(self.random.randint(0, max(0, n - 1)) for n in kind.shape)
        sizes = tuple(
            self.random.randint(min(1, n - o), -(-(n - o) // s)) if n > o else 0
            for n, o, s in zip(kind.shape, offsets, strides, strict=True)
        )
        made = self.builder.tensor(sizes, kind.element)
        self.builder.add(Slice(tensor, made, offsets, strides))
        return made

    def _point(self, tensor: int) -> int:
        """An elementwise op over the tensor, itself once more, or another."""
        random, builder = self.random, self.builder
        kind = builder.types[tensor]
        rank = len(kind.shape)
        order = list(range(rank))
        random.shuffle(order)
        written = tuple(map(dim, order))
        made = builder.tensor(tuple(kind.shape[d] for d in order), kind.element)
        suffix = "f" if is_float(kind.element) else "i"
        ops = [
            ScalarOp(f"arith.{random.choice(('add', 'mul', 'sub'))}{suffix}", (0, 1), kind.element)
        ]
        if random.random() < 0.15 and rank and suffix == "f":
            ops += [
                ScalarOp("linalg.index", (), "index", (("dim", str(random.randrange(rank))),)),
                ScalarOp("arith.index_cast", (4,), "i32"),
                ScalarOp("arith.sitofp", (5,), kind.element),
                ScalarOp("arith.addf", (3, 6), kind.element),
            ]
        body = Body((kind.element,) * 3, tuple(ops), (2 + len(ops),))
        other = tensor if random.random() < 0.4 else self.operands.made(kind.shape, kind.element, 1)
        second = identity_map(rank)
        if (
            other == tensor
            and rank > 1
            and kind.shape[0] == kind.shape[1]
            and random.random() < 0.5
        ):
            second = (dim(1), dim(0), *second[2:])
        maps = (identity_map(rank), second, written)
        builder.add(
            Structured(
                (tensor, other), (Uninitialized(),), (made,), kind.shape, (P,) * rank, maps, body
            )
        )
        return made
