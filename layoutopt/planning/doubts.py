"""Tiles that deserve a price of their own, though what is known of others speaks against them.

One bad tile tells little of another one: what is fused behind it may not fit into registers. Where
a place takes a large share of the plan, a second tile of the same loops is looked at, and a first
one of loops that nothing was tried of there, if it is expected to be almost as fast as the fastest.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence

import numpy as np
import numpy.typing as npt

from layoutopt.pricing.learned import Described

_TRIED = 2
"""Tiles that tell of the others where they are heavy."""
_ALMOST = 1.15
"""Times as slow as the fastest.

Of SqueezeNet with everything priced, 175 pieces found the plan within 0.1 % of the fastest, where
no limit took 208; of BERT with 4 layers, 347 found the same plan as 359."""


def doubted(
    work: Sequence[Described],
    places: Sequence[Collection[Hashable]],
    told: Collection[int],
    usual_ns: Sequence[float],
    least_ns: float,
) -> npt.NDArray[np.bool_]:
    """Which pieces of work are such tiles.

    ``places``: what each piece can serve, of which only one can. ``told``: those that have prices,
    by number. ``usual_ns``: what each is expected to take. ``least_ns``: what its places take
    together, where that is a large share.
    """
    tried: dict[Hashable, set[Hashable]] = defaultdict(set)
    takes_ns: dict[Hashable, float] = {}
    for i, (each, own) in enumerate(zip(work, places, strict=True)):
        for place in own:
            takes_ns[place] = min(takes_ns.get(place, math.inf), usual_ns[i])
            if i in told:
                tried[place, each.loops].add(each.tile)

    def is_doubted(each: Described, own: Collection[Hashable], ns: float) -> bool:
        if not each.tile or sum(takes_ns[place] for place in own) < least_ns:
            return False
        fewest = min(len(tried[place, each.loops]) for place in own)
        near = _ALMOST * min(takes_ns[place] for place in own)
        return fewest < _TRIED if fewest else ns <= near

    return np.array([is_doubted(*each) for each in zip(work, places, usual_ns, strict=True)])
