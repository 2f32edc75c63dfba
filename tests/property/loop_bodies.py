"""Random bodies of loops: slices at the step, contractions, and what is computed of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    Concat,
    Fill,
    FromTensor,
    GraphBuilder,
    Init,
    IteratorType,
    Pad,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.loop_distribution import LoopBody
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body
from layoutopt.ir.size import MOST, symbol, symbols
from layoutopt.ir.steps import Steps

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION
ADD = Body(("f32",) * 3, (ScalarOp("arith.addf", (0, 1), "f32"),), (3,))
INDEXED = Body(
    ("f32",) * 2,
    (
        ScalarOp("linalg.index", (), "index", (("dim", "0"),)),
        ScalarOp("arith.index_cast", (2,), "i32"),
        ScalarOp("arith.sitofp", (3,), "f32"),
        ScalarOp("arith.addf", (0, 4), "f32"),
    ),
    (5,),
)


@dataclass
class RandomLoop:
    """A loop's body with what of its inputs is carried."""

    random: Random
    builder: GraphBuilder = field(default_factory=GraphBuilder)
    inputs: list[int] = field(default_factory=list)
    carried: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    """Tensors of shape (rows, columns) that are computed by now."""

    sizes: dict[str, int] = field(default_factory=dict)
    """Of symbols, but for the step."""

    def build(self) -> LoopBody:
        """The loop; its sizes may be open."""
        random, builder = self.random, self.builder
        is_open = random.random() < 0.4
        first, by = random.randint(0, 2), 1 if is_open else random.randint(1, 2)
        count = self._size("n", random.randint(2, 4), is_open)
        steps = Steps(first, by, count)
        high = first + by * 3
        self.step = symbol("step", low=first, high=MOST if is_open else high)
        (step,) = symbols(self.step)
        self.columns = random.randint(2, 3)
        self.tall = random.choice((1, 1, 2))
        self.height = self._size("b", self.tall, random.random() < 0.2)
        self.weight = self._given((self.columns, self.columns))
        self.rows.append(self._given((self.height, self.columns)))
        self.carried.append(self.rows[-1])
        if random.random() < 0.4:
            self.rows.append(self._given((self.height, self.columns)))
        for _ in range(random.randint(1, 2)):
            self.rows.append(self._slice(steps))
        for _ in range(random.randint(2, 6)):
            make = random.choice(
                (self._product, self._product, self._sum, self._view, self._cut, self._other)
            )
            self.rows.append(make())
        outputs = random.sample(self.rows, random.randint(1, 2))
        graph = builder.build(self.inputs, dict.fromkeys([*outputs, self.rows[-1]]))
        return LoopBody(graph, step, steps, tuple(self.carried), tuple(self.sizes))

    def _size(self, name: str, number: int, is_open: bool) -> int:
        """A number, or a symbol that is one."""
        if not is_open:
            return number
        self.sizes[name] = number
        return symbol(name)

    def _given(self, shape: tuple[int, ...]) -> int:
        self.inputs.append(self.builder.tensor(shape, "f32"))
        return self.inputs[-1]

    def _row(self) -> int:
        return self.random.choice(self.rows)

    def _made(self) -> int:
        return self.builder.tensor((self.height, self.columns), "f32")

    def _slice(self, steps: Steps) -> int:
        """Rows at the step along some dim, forwards or from the end."""
        random = self.random
        times, more = random.choice((1, 1, 2)), random.randint(0, 1)
        reach: int = times * steps.last + more
        place = times * self.step + more if random.random() < 0.7 else reach - times * self.step
        axis = random.randint(0, 2)
        shape = [self.height, self.columns]
        shape.insert(axis, 1)
        whole = tuple(reach + 1 if a == axis else n for a, n in enumerate(shape))
        source = self._given(whole)
        if random.random() < 0.1:
            self.carried.append(source)
        one = self.builder.tensor(tuple(shape), "f32")
        offsets = tuple(place if a == axis else 0 for a in range(3))
        self.builder.add(Slice(source, one, offsets, (1,) * 3))
        made = self._made()
        self.builder.add(Reshape(one, made))
        return made

    def _product(self) -> int:
        random = self.random
        made, row = self._made(), self._row()
        other = self.weight
        init: Init = Fill("0.0 : f32")
        if random.random() < 0.2:
            init = FromTensor(self._row())
        maps = (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1)))
        domain = (self.height, self.columns, self.columns)
        self.builder.add(
            Structured(
                (row, other),
                (init,),
                (made,),
                domain,
                (P, P, R),
                maps,
                contraction_body("f32", "f32", "f32"),
            )
        )
        return made

    def _sum(self) -> int:
        made = self._made()
        sources = (self._row(), self._row())
        domain = (self.height, self.columns)
        maps = (identity_map(2),) * 3
        self.builder.add(
            Structured(sources, (Uninitialized(),), (made,), domain, (P, P), maps, ADD)
        )
        return made

    def _view(self) -> int:
        flat = self.builder.tensor((self.height * self.columns,), "f32")
        made = self._made()
        self.builder.add(Reshape(self._row(), flat))
        self.builder.add(Reshape(flat, made))
        return made

    def _cut(self) -> int:
        """A pad, and a slice of it."""
        wide = self.builder.tensor((self.height, self.columns + 1), "f32")
        made = self._made()
        low = self.random.randint(0, 1)
        self.builder.add(Pad(self._row(), wide, (0, low), (0, 1 - low), "2.0 : f32"))
        self.builder.add(Slice(wide, made, (0, self.random.randint(0, 1)), (1, 1)))
        return made

    def _other(self) -> int:
        """What is not computed for all steps at once: it reads its place, or is a concat."""
        made = self._made()
        if self.random.random() < 0.5:
            domain = (self.height, self.columns)
            maps = (identity_map(2),) * 2
            row = (self._row(),)
            self.builder.add(
                Structured(row, (Uninitialized(),), (made,), domain, (P, P), maps, INDEXED)
            )
            return made
        twice = self.builder.tensor((self.height * 2, self.columns), "f32")
        self.builder.add(Concat((self._row(), self._row()), twice, 0))
        self.builder.add(Slice(twice, made, (self.random.randint(0, self.tall), 0), (1, 1)))
        return made
