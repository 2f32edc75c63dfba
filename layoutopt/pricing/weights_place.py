"""Where a model finds its weights when it runs, and what drives a candidate's own out of there."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from layoutopt.files.sealed import sealed, unsealed
from layoutopt.files.written import write_text
from layoutopt.ir.weights import WeightReuse
from layoutopt.profiles.host import Caches, caches_of_this_machine
from layoutopt.profiles.target import Target
from layoutopt.runtime.memory_rate import CacheLeft, cache_left
from layoutopt.runtime.sampling import WeightsFrom

_PASSES = 2
"""A cache is filled this often: what is replaced first is not quite what was used last."""

_TRIES = 5


@dataclass(frozen=True, slots=True)
class CachesLeft:
    """Caches with what others on a shared machine leave of the last one."""

    usual: Caches
    most: Caches
    kept_s: float | None = None
    """How long others leave there what is not used; None where nothing drives it out."""

    def keeps(self, run_s: float) -> bool:
        """Whether a weight is still there when it is used again, that much later."""
        return self.kept_s is None or run_s <= self.kept_s


def caches_left(place: str, kept: Path | None = None) -> CachesLeft:
    """This machine's.

    The middle one of a few tries tells what is found again in a cache: what others leave comes and
    goes by a half. The most tells what other memory has to fill.
    ``kept``: the file that tells what was found before, by place; where it does not, it will. Found
    anew in each run, a model between two caches had prices of either kind in turn, and two plans.
    Where others left nothing there for any time at all, it is found anew: it was a bad moment.
    """
    caches = caches_of_this_machine()
    known = {} if kept is None else unsealed(kept, dict[str, CacheLeft]) or {}
    if place not in known or known[place].kept_s == 0:
        known[place] = _cache_left(caches.last_bytes)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_text(kept, sealed({name: asdict(found) for name, found in known.items()}))
    left = known[place]
    usual, most = (replace(caches, last_bytes=n) for n in (left.usual_bytes, left.most_bytes))
    return CachesLeft(usual, most, left.kept_s)


@functools.cache
def _cache_left(size_bytes: int) -> CacheLeft:
    """What others leave of a last cache of so many bytes: a process finds out once."""
    return cache_left(size_bytes, _TRIES)


def caches_of(target: Target) -> Caches | None:
    """Of the device that a target measures on; None where they are not known.

    On a GPU, the last one is all that counts: what stands before it does not outlast a kernel.
    """
    if target.device.startswith("local"):
        return caches_of_this_machine()
    levels = target.machine.levels
    return Caches(0, levels[-1].size_bytes) if levels else None


def weights_of_a_run(weight_reuse: WeightReuse, caches: Caches | None) -> WeightsFrom:
    """Where the weights of a model are when one run after another reaches them.

    ``caches``: those that a run has. Where they are not known, weights stay as near as they are.
    What comes between two uses of a weight is to fit into half of a core's own cache: caches do not
    replace quite what was used last. Of the last one, into all that others leave: until a plan's
    own copies are counted, weights that images are convolved with count twice, since Winograd's
    take a multiple of them. On a GPU, whose cache serves nothing else, into three quarters: on an
    H100 (50 MiB), 33 MiB were found there again (BERT, 2 layers), and 50 were not (ResNet-18).
    """
    size = weight_reuse.size_bytes
    if caches is None:
        return WeightsFrom.CACHES
    if not caches.core_bytes:
        fits = size <= caches.last_bytes * 3 // 4
        return WeightsFrom.CACHES if fits else WeightsFrom.MEMORY
    if size <= caches.core_bytes // (1 if weight_reuse.planned else 2):
        return WeightsFrom.CACHES
    grows = not (weight_reuse.planned or weight_reuse.in_loop)
    if size + grows * weight_reuse.in_windows_bytes <= caches.last_bytes:
        return WeightsFrom.LAST_CACHE
    return WeightsFrom.MEMORY


def evicted_bytes(weights_from: WeightsFrom, caches: Caches | None) -> int:
    """Bytes of other memory that leave no weight in a cache that it would not be in."""
    if caches is None:
        return 0
    match weights_from:
        case WeightsFrom.CACHES:
            return 0
        case WeightsFrom.LAST_CACHE:
            return _PASSES * caches.core_bytes
        case WeightsFrom.MEMORY:
            return _PASSES * caches.last_bytes
