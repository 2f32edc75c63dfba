"""Random shapes, layouts and small-integer arrays."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.types import Array, TensorType, numpy_dtype


@st.composite
def shapes(draw: st.DrawFn, most: int = 4, empty: bool = True) -> tuple[int, ...]:
    sizes = [*([0] * empty), 1, 2, 3, 4, 6, 8]
    return tuple(draw(st.lists(st.sampled_from(sizes), min_size=0, max_size=most)))


def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0] or [1]


@st.composite
def layouts(draw: st.DrawFn, shape: Sequence[int], dividing: bool = True) -> Layout:
    """Any layout of a tensor of ``shape``; ``dividing``: without padding."""
    perm = tuple(draw(st.permutations(range(len(shape)))))
    tiled = [d for d in draw(st.permutations(range(len(shape)))) if draw(st.booleans())]
    sizes = [
        draw(st.sampled_from(divisors(shape[d])) if dividing else st.integers(1, shape[d] + 2))
        for d in tiled
    ]
    padding = Padding.ZERO if dividing else _padding(draw)
    return Layout(perm, tuple(tiled), tuple(sizes), padding)


def _padding(draw: st.DrawFn) -> Padding:
    """Mostly zeros, which most ops want."""
    found: Padding = draw(st.sampled_from([Padding.ZERO, Padding.ZERO, *Padding]))
    return found


def small_integers(kind: TensorType, seed: int) -> Array:
    """Integers that every type holds and sums of which stay exact."""
    dtype = numpy_dtype(kind.element)
    assert dtype is not None
    low, high = (0, 2) if kind.element == "i1" else (-3, 4)
    return np.random.default_rng(seed).integers(low, high, kind.shape).astype(dtype)


def assert_close(found: Array, wanted: Array) -> None:
    """Equal up to a few roundings of the largest numbers."""
    scale = max(1.0, float(np.abs(wanted).max(initial=0)))
    limit = 200 * float(np.finfo(wanted.dtype).eps) * scale
    assert float(np.abs(found - wanted).max(initial=0)) <= limit
