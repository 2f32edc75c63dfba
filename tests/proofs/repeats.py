"""The graphs of contractions that repeat an operand, for proofs."""

from __future__ import annotations

from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    Reshape,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import contraction_body, copy_body
from tests.proofs.graphs import ZERO, P, R, size
from tests.proofs.paths import Paths


def repeated_operand(paths: Paths, along: str, first: bool = False, turned: bool = False) -> Graph:
    """A batch matmul, one operand of which repeats elements along its batches or its rows.

    ``along``: "b" or "m". ``first``: all elements come after each other, several times.
    ``turned``: the operand is transposed behind the repetition.
    """
    builder = GraphBuilder()
    b, m, n, k, times = (size(paths, x) for x in "bmnkg")
    parts = {x: [size_] for x, size_ in (("b", b), ("m", m), ("k", k))}
    parts[along] = [times, *parts[along]] if first else [*parts[along], times]
    wide = [size_ for x in "bmk" for size_ in parts[x]]
    repeats = ("bm".index(along)) + (not first)
    x, spread = builder.tensor((b, m, k), "f32"), builder.tensor(wide, "f32")
    rank = len(wide)
    read = plain_map(d for d in range(rank) if d != repeats)
    builder.add(
        Structured(
            (x,), (Uninitialized(),), (spread,), tuple(wide), (P,) * rank,
            (read, identity_map(rank)), copy_body("f32"),
        )
    )  # fmt: skip
    rows, batches = m * times if along == "m" else m, b * times if along == "b" else b
    operand, order = builder.tensor((batches, rows, k), "f32"), (0, 1, 3)
    builder.add(Reshape(spread, operand))
    if turned:
        other = builder.tensor((batches, k, rows), "f32")
        builder.add(
            Structured(
                (operand,), (Uninitialized(),), (other,), (batches, k, rows), (P,) * 3,
                (plain_map((0, 2, 1)), identity_map(3)), copy_body("f32"),
            )
        )  # fmt: skip
        operand, order = other, (0, 3, 1)
    w, y = builder.tensor((batches, k, n), "f32"), builder.tensor((batches, rows, n), "f32")
    maps = plain_map(order), plain_map((0, 3, 2)), plain_map((0, 1, 2))
    if along == "m":  # the other operand has rows too, or nothing would be read along the parts
        w = builder.tensor((batches, rows, k, n), "f32")
        maps = plain_map(order), plain_map((0, 1, 3, 2)), plain_map((0, 1, 2))
    body = contraction_body("f32", "f32", "f32")
    domain = (batches, rows, n, k)
    builder.add(Structured((operand, w), (Fill(ZERO),), (y,), domain, (P, P, P, R), maps, body))
    return builder.build((x, w), (y,))
