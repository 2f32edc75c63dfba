"""The kinds of steps that programs are made of, and how often each is tried."""

from __future__ import annotations

from tests.fuzz.kinds import (
    algebra,
    calls,
    contractions,
    convolutions,
    elementwise,
    movement,
    packs,
    reductions,
    resizes,
    sources,
)
from tests.fuzz.program import Kind

WEIGHTED: dict[str, tuple[Kind, int]] = {
    "argument": (sources.argument, 2),
    "image": (sources.image, 6),
    "constant": (sources.constant, 1),
    "filled": (sources.filled, 1),
    "elementwise": (elementwise.elementwise, 8),
    "contraction": (contractions.contraction, 6),
    "matmul": (contractions.matmul, 4),
    "quantized-matmul": (contractions.quantized_matmul, 1),
    "convolution": (convolutions.convolution, 8),
    "pooling": (reductions.pooling, 3),
    "reduction": (reductions.reduction, 3),
    "long-rows": (reductions.long_rows, 1),
    "two-results": (reductions.two_results, 1),
    "pad": (movement.pad, 4),
    "slice": (movement.cut, 4),
    "concat": (movement.concat, 3),
    "insert": (movement.insert, 2),
    "interior-pad": (movement.interior_pad, 5),
    "collapse": (movement.collapse, 2),
    "expand": (movement.expand, 2),
    "transpose": (movement.transpose, 3),
    "broadcast": (movement.broadcast, 1),
    "pack": (movement.pack, 1),
    "over-tiles": (packs.over_tiles, 2),
    "packed-matmul": (packs.packed_matmul, 2),
    "gather-rows": (movement.gather_rows, 2),
    "flip": (movement.flip, 2),
    "diagonal": (movement.diagonal, 1),
    "call": (calls.call, 1),
    "softmax": (calls.softmax, 1),
    "sibling-matmuls": (contractions.sibling_matmuls, 3),
    "expanded-contraction": (contractions.expanded_contraction, 3),
    "repeated-operand": (contractions.repeated_operand, 3),
    "wide-matmul": (contractions.wide_matmul, 1),
    "wide-convolution": (convolutions.wide_convolution, 2),
    "long-matmul": (contractions.long_matmul, 2),
    "product-chain": (algebra.product_chain, 1),
    "scaled-matmul": (algebra.scaled_matmul, 1),
    "summed-matmuls": (algebra.summed_matmuls, 1),
    "branches": (algebra.branches, 1),
    "side-by-side": (algebra.side_by_side, 1),
    "resize": (resizes.linear, 1),
    "attention": (algebra.attention, 1),
    "attention-parts": (algebra.attention_parts, 1),
}

KINDS: dict[str, Kind] = {name: kind for name, (kind, _) in WEIGHTED.items()}
OFTEN: list[str] = [name for name, (_, weight) in WEIGHTED.items() for _ in range(weight)]
