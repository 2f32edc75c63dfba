"""How selection grows with the model: ``python -m tests.benchmarks.selection_scale``.

Layers of a transformer one after the other, lifted from a model file, and blocks of a CNN with four
branches each, on a GPU that is not here, priced by its roofline. Prints seconds of each stage, the
gap that is left, and memory; the last line is the exponent of the solver's seconds over ops.
"""

from __future__ import annotations

import argparse
import math
import resource
import time
from dataclasses import replace

import layoutopt
from layoutopt.ir.affine import affine, dim, identity_map, plain_map
from layoutopt.ir.graph import (
    Concat,
    Constant,
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Pad,
    Structured,
    Uninitialized,
)
from layoutopt.ir.renaming import renumbered
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION
PROFILE = "mi355x"


def repeated(graph: Graph, times: int) -> Graph:
    """A graph so often, each time on its own first result."""
    (first, *rest), (last, *_) = graph.inputs, graph.outputs
    if graph.types[first] != graph.types[last]:
        raise SystemExit("expected a model whose first input is like its first output")
    types, ops, names = list(graph.types), list(graph.ops), [*graph.names]
    shared = {op.result for op in graph.ops if isinstance(op, Constant)}
    shared |= graph.constants
    at = last
    for _ in range(times - 1):
        number = {t: t for t in (*shared, *rest)} | {first: at}
        for t, kind in enumerate(graph.types):
            if t not in number:
                number[t] = len(types)
                types.append(kind)
        for op, name in zip(graph.ops, graph.names, strict=True):
            if not all(t in shared for t in op.outputs):
                ops.append(renumbered(op, number))
                names.append(name)
        at = number[last]
    return replace(graph, types=tuple(types), ops=tuple(ops), names=tuple(names), outputs=(at,))


class Branches:
    """Blocks of four branches that are joined along the channels, with a sum around each."""

    def __init__(self) -> None:
        self.builder = GraphBuilder()

    def graph(self, blocks: int, channels: int = 64, image: int = 28) -> Graph:
        """So many blocks; each has 22 ops."""
        shape = (1, channels, image, image)
        x = start = self.builder.tensor(shape, "f32")
        for _ in range(blocks):
            part = channels // 4
            branches = [self._convolution(x, part, 1)]
            branches += [
                self._convolution(self._convolution(x, part, 1), part, size) for size in (3, 3, 5)
            ]
            joined = self.builder.tensor(shape, "f32")
            self.builder.add(Concat(tuple(branches), joined, 1))
            x = self._elementwise((x, joined), "arith.addf")
        return self.builder.build((start,), (x,))

    def _convolution(self, x: int, filters: int, size: int) -> int:
        batch, channels, *image = self.builder.types[x].shape
        if size > 1:
            low = (0, 0, size // 2, size // 2)
            wide = (batch, channels, *(n + size - 1 for n in image))
            padded = self.builder.tensor(wide, "f32")
            self.builder.add(Pad(x, padded, low, low, "0.0 : f32"))
            x = padded
        w = self.builder.tensor((filters, channels, size, size), "f32")
        self.builder.add(Constant(w))
        y = self.builder.tensor((batch, filters, *image), "f32")
        windows = tuple(affine([(i, 1), (k, 1)]) for i, k in ((2, 5), (3, 6)))
        self.builder.add(
            Structured(
                (x, w),
                (Fill("0.0 : f32"),),
                (y,),
                (batch, filters, *image, channels, size, size),
                (P, P, P, P, R, R, R),
                ((dim(0), dim(4), *windows), plain_map((1, 4, 5, 6)), plain_map((0, 1, 2, 3))),
                contraction_body("f32", "f32", "f32"),
            )
        )
        return self._elementwise((y, y), "arith.maximumf")

    def _elementwise(self, sources: tuple[int, int], name: str) -> int:
        shape = self.builder.types[sources[0]].shape
        y = self.builder.tensor(shape, "f32")
        body = Body(("f32", "f32", "f32"), (ScalarOp(name, (0, 1), "f32"),), (3,))
        self.builder.add(
            Structured(
                sources,
                (Uninitialized(),),
                (y,),
                shape,
                (P,) * len(shape),
                (identity_map(len(shape)),) * 3,
                body,
            )
        )
        return y


def measured(name: str, graph: Graph, limit_s: float) -> tuple[int, float]:
    """Print one row; the ops and the seconds of selection."""
    options = layoutopt.Options(compile_candidates=False, time_limit_s=limit_s)
    ops = sum(not isinstance(op, Constant) for op in graph.ops)
    begin = time.perf_counter()
    space = layoutopt.enumerate(graph, PROFILE, options)
    enumerated = time.perf_counter()
    with layoutopt.prices(PROFILE, options) as pricer:
        priced = layoutopt.price(space, pricer, options)
    known = time.perf_counter()
    plan = layoutopt.select(space, priced, options)
    solved = time.perf_counter()
    found = plan.solution
    gap = math.inf
    if found.objective_ns:
        gap = (found.objective_ns - found.bound_ns) / found.objective_ns
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{name:12} {ops:7} ops {len(space.candidates):7} candidates  enumerate "
        f"{enumerated - begin:6.1f} s  price {known - enumerated:6.1f} s  select "
        f"{solved - known:6.2f} s  {found.status.value} gap {100 * gap:.3f} %  {memory:.2f} GiB",
        flush=True,
    )
    return ops, solved - known


def main() -> None:
    """Print a row for each size of both kinds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a model whose first input is like its first output")
    parser.add_argument("--ops", type=int, nargs="+", default=[1000, 2500, 5000])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for the solver")
    chosen = parser.parse_args()
    (function,) = layoutopt.lift(layoutopt.read(chosen.model, PROFILE))
    layer = sum(not isinstance(op, Constant) for op in function.graph.ops)
    rows: dict[str, list[tuple[int, float]]] = {"transformer": [], "branches": []}
    for ops in chosen.ops:
        graph = repeated(function.graph, max(1, round(ops / layer)))
        rows["transformer"].append(measured("transformer", graph, chosen.limit))
        graph = Branches().graph(max(1, round(ops / 22)))
        rows["branches"].append(measured("branches", graph, chosen.limit))
    for name, found in rows.items():
        (few, first_s), (many, last_s) = found[0], found[-1]
        if many > few:
            exponent = math.log(last_s / first_s) / math.log(many / few)
            print(f"{name}: seconds of selection grow with ops to the power of {exponent:.2f}")


if __name__ == "__main__":
    main()
