"""What makes the operands of odd graphs: moved, padded (inside too), broadcast or constant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

from layoutopt.ir.affine import dim, identity_map
from layoutopt.ir.graph import (
    Constant,
    GraphBuilder,
    Insert,
    IteratorType,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, fill_body
from layoutopt.ir.types import is_float

P = IteratorType.PARALLEL


@dataclass(frozen=True, slots=True)
class Operands:
    """New tensors of a graph, and the ops that make them."""

    random: Random
    builder: GraphBuilder

    def zero(self, element: str, most: int = 0) -> str:
        value = self.random.choice((0, 0, 0, most))
        return f"{value}{'.0' * is_float(element)} : {element}"

    def made(self, shape: tuple[int, ...], element: str, depth: int = 2) -> int:
        """A tensor of a shape: an input, or made from a smaller or larger one."""
        random, builder = self.random, self.builder
        if not depth or random.random() < 0.3:
            return builder.tensor(shape, element)
        way = random.choice(("scatter", "scatter", "insert", "insert", "pad", "slice", "reshape",
                             "fill", "copy", "constant", "two"))  # fmt: skip
        if way in ("scatter", "insert", "two"):
            return self._interior_padded(way, shape, element, depth)
        result = builder.tensor(shape, element)
        if way == "pad":
            inner, low = self._parts(shape)
            high = tuple(n - m - a for n, m, a in zip(shape, inner, low, strict=True))
            source = self.made(inner, element, depth - 1)
            builder.add(Pad(source, result, low, high, self.zero(element, 3)))
        elif way == "slice":
            strides = tuple(random.choice((1, 1, 2)) for _ in shape)
            offsets = tuple(random.choice((0, 0, 1)) for _ in shape)
            whole = tuple(
                o + max(0, n - 1) * s + (1 if n else 0) + random.choice((0, 1))
                for o, n, s in zip(offsets, shape, strides, strict=True)
            )
            builder.add(Slice(self.made(whole, element, depth - 1), result, offsets, strides))
        elif way == "reshape":
            other = (math.prod(shape),) if random.random() < 0.5 else (1, *shape)
            builder.add(Reshape(self.made(other, element, depth - 1), result))
        elif way == "constant":
            value = None if random.random() < 0.5 else self.zero(element, 2)
            builder.add(Constant(result, value))
        elif way == "fill":
            self.fill(result, self.zero(element, 2))
        else:
            rank = len(shape)
            kept = [d for d in range(rank) if random.random() < 0.7]
            random.shuffle(kept)
            source = self.made(tuple(shape[d] for d in kept), element, depth - 1)
            builder.add(
                Structured(
                    (source,),
                    (Uninitialized(),),
                    (result,),
                    shape,
                    (P,) * rank,
                    (tuple(map(dim, kept)), identity_map(rank)),
                    Body((element, element), (), (0,)),
                )
            )
        return result

    def fill(self, result: int, value: str) -> None:
        kind = self.builder.types[result]
        rank = len(kind.shape)
        body = fill_body(value, kind.element)
        maps = (identity_map(rank),)
        self.builder.add(
            Structured((), (Uninitialized(),), (result,), kind.shape, (P,) * rank, maps, body)
        )

    def _parts(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        inner, low = [], []
        for n in shape:
            inner.append(self.random.randint(0 if self.random.random() < 0.05 else min(1, n), n))
            low.append(self.random.randint(0, n - inner[-1]))
        return tuple(inner), tuple(low)

    def _interior_padded(self, way: str, shape: tuple[int, ...], element: str, depth: int) -> int:
        """Sources at strided places of a tensor that holds one value."""
        random, builder = self.random, self.builder
        strides, offsets, sizes = [], [], []
        for n in shape:
            stride = random.choice((1, 2, 2, 3))
            offset = random.choice((0, 0, 1)) if n > 1 else 0
            if stride == 1 and random.random() < 0.7:
                offset = 0
            most = max(0, -(-(n - offset) // stride))
            size = most if random.random() < 0.7 else random.randint(min(1, most), most)
            strides.append(stride)
            offsets.append(offset)
            sizes.append(size)
        result = builder.tensor(shape, element)
        source = self.made(tuple(sizes), element, depth - 1)
        value = self.zero(element, 5)
        if way == "insert":
            into = builder.tensor(shape, element)
            if random.random() < 0.9:
                self.fill(into, value)
            builder.add(Insert(source, into, result, tuple(offsets), tuple(strides)))
            return result
        sources, places = [source], [tuple(offsets)]
        wide = [d for d, s in enumerate(strides) if s > 1 and offsets[d] + 1 < shape[d]]
        if way == "two" and wide:
            axis = random.choice(wide)
            place = [o + (d == axis) for d, o in enumerate(offsets)]
            most = -(-(shape[axis] - place[axis]) // strides[axis])
            smaller = [min(n, most) if d == axis else n for d, n in enumerate(sizes)]
            sources.append(self.made(tuple(smaller), element, depth - 1))
            places.append(tuple(place))
        if random.random() < 0.05:
            sources.reverse()
            places.reverse()
        covered = sum(builder.types[t].elements for t in sources) == math.prod(shape)
        background = None if covered and random.random() < 0.5 else value
        builder.add(Scatter(tuple(sources), result, tuple(places), tuple(strides), background))
        return result
