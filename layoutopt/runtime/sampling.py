"""How often to call, and when to stop: pure decisions over times in nanoseconds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

AGREEING = 3
"""The fastest samples that make a price."""
FEWEST = 6
"""Samples that tell whether the fastest agree; of long calls, those few do."""
LONG = 5
"""Samples of so many times their usual length are long: nothing short gets in their way."""

FAR_OVER = 5
"""One that spent so many times its budget is done with what samples it has: a call takes as long as
many do, and what makes others longer is little of it."""


class WeightsFrom(StrEnum):
    """Where a candidate finds its weights when it is timed."""

    CACHES = "caches"
    """As near as they may be: it was just called."""
    LAST_CACHE = "last-cache"
    """In the last cache, and in none before it."""
    MEMORY = "memory"
    """In no cache."""


@dataclass(frozen=True, slots=True)
class Launching:
    """Which candidates are launched many times in one submission, and how often.

    What calling, submitting and waiting cost is shared by all launches then. Only calls shorter
    than `below_ns` are, of candidates that read and write no more than `most_bytes` (None: of any):
    of a longer call it is little.
    """

    count: int = 1
    below_ns: int = 1_000_000
    most_bytes: int | None = None

    def of(self, moved_bytes: int | None) -> int:
        """Launches in one submission of a candidate that reads and writes so much, if known."""
        if self.most_bytes is None:
            return self.count
        return self.count if moved_bytes is not None and moved_bytes <= self.most_bytes else 1


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a candidate is timed.

    One sample is the mean of enough calls to fill `sample_ns`. Samples of all candidates of a
    module alternate in random order, so that a slow moment of the machine affects all.
    Sampling ends when the `agreeing` fastest samples are within `precision` of each other (with 0:
    when the 95 % confidence interval of the median is narrower than `precision` of it), when the
    candidate used `budget_ns`, its share of driving weights out included, after `most_samples`, at
    once where it used `FAR_OVER` times that, or, for a cliff, as soon as its fastest sample
    is `cliff` times the best price of its group. A candidate that reads weights from elsewhere than
    the nearest caches is called once in a sample: `evict_bytes` of other memory drive its weights
    out, then the same candidate with another copy of its weights brings back all the rest. Where a
    submission launches it many times, each launch reads a copy of its own, or that of a launch
    `evict_bytes` of weights ago, and other memory is written before each sample.
    """

    precision: float = 0.02
    budget_ns: int = 150_000_000
    sample_ns: int = 1_000_000
    fewest_samples: int = 3
    most_samples: int = 41
    cliff: float = 2.0
    cliff_samples: int = 3
    agreeing: int = AGREEING
    untimed_ns: int = 0
    """A sample of calls shorter than this begins with as many more as fill it, which do not count:
    what ran before it in turn left its own tensors in the caches."""
    launching: Launching = Launching()
    weights_from: WeightsFrom = WeightsFrom.CACHES
    evict_bytes: int = 0
    seed: int = 0

    @property
    def reads_copies(self) -> bool:
        """Whether all candidates may be launched often, and so read copies of weights in turn.

        Where only small ones may, a call of another module's comes before each sample of any.
        """
        often = self.launching.count > 1 and self.launching.most_bytes is None
        return often and self.weights_from is not WeightsFrom.CACHES


def calls_per_sample(call_ns: float, protocol: Protocol) -> int:
    """Calls that fill one sample; one where a call is long enough by itself."""
    return max(1, math.ceil(protocol.sample_ns / max(call_ns, 100.0)))


def calls_ahead(call_ns: float, protocol: Protocol) -> int:
    """Calls that begin a sample and do not count; none where one is long."""
    if call_ns >= protocol.untimed_ns:
        return 0
    return math.ceil(protocol.untimed_ns / max(call_ns, 100.0))


def launching_on(device: str) -> Launching:
    """What is launched many times in one submission on a device.

    A call of a GPU takes some 20 to 60 microseconds to submit and to wait for, and varies by some;
    of 32 launches each is off by a thirtieth of that. IREE 3.13 hands no events of CUDA or HIP out,
    which would tell a kernel's own time. A call on a CPU takes some microseconds: its arguments are
    checked, and memory is found for its results. A model pays that once, not in each dispatch, and
    those of a small one take less.
    """
    if device.startswith("local"):
        return Launching(16, below_ns=100_000, most_bytes=1 << 20)
    return Launching(32)


@dataclass(frozen=True, slots=True)
class EmptyCall:
    """Nanoseconds of a call with no dispatch in it."""

    one_ns: float
    """As calls of one dispatch are made."""
    more_ns: float
    """As calls of more are made, or of one if that is less."""


def empty_call_ns(one_ns: float, two_ns: float, several_ns: float, several: int) -> EmptyCall:
    """Extrapolate from calls of one, of two and of ``several`` tiny dispatches.

    What a dispatch itself costs to launch stays in the price: a model pays it too. It is what each
    of several takes more than two: with the second comes memory for what the first one makes, and
    some drivers submit one dispatch alone in another way.
    """
    launch_ns = max(0.0, (several_ns - two_ns) / (several - 2))
    one_less_ns = max(0.0, one_ns - launch_ns)
    return EmptyCall(one_less_ns, max(0.0, min(one_less_ns, two_ns - 2 * launch_ns)))


def fastest_ns(samples: Sequence[float]) -> float:
    """Mean of the three fastest samples: what a candidate costs where nothing gets in its way.

    What else a machine does makes samples longer, never shorter, so the fastest repeat where
    medians do not: Chen and Revels, Robust benchmarking in noisy environments (HPEC 2016). Three,
    since one alone may be a glitch of the clock.
    """
    return statistics.fmean(sorted(samples)[:AGREEING])


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """95 % confidence interval of the median, from order statistics.

    Hahn and Meeker, Statistical Intervals (1991), section 5.2, in normal approximation. Fewer than
    six samples give no interval of that confidence: their range is returned.
    """
    ordered = sorted(samples)
    count = len(ordered)
    if count < 6:
        return ordered[0], ordered[-1]
    half = 1.96 * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - half))
    high = min(count - 1, math.ceil(count / 2 + half) - 1)
    return ordered[low], ordered[high]


def is_precise(
    samples: Sequence[float], precision: float, agreeing: int = 0, fewest: int = FEWEST
) -> bool:
    """The fastest samples agree, or the interval of the median is narrow: see `Protocol`."""
    if len(samples) < fewest:
        return False
    if agreeing:
        ordered = sorted(samples)
        return ordered[agreeing - 1] - ordered[0] <= precision * ordered[0]
    low, high = median_interval(samples)
    return high - low <= precision * statistics.median(samples)


def is_beaten(samples: Sequence[float], best_ns: float | None, protocol: Protocol) -> bool:
    """Whether a candidate is so slow that its exact price does not matter."""
    enough = len(samples) >= max(1, protocol.cliff_samples)
    return enough and best_ns is not None and min(samples) > protocol.cliff * best_ns


def is_finished(
    samples: Sequence[float], spent_ns: float, best_ns: float | None, protocol: Protocol
) -> bool:
    """Whether a candidate needs no more samples; `best_ns` is the best price of its group."""
    count = len(samples)
    if is_beaten(samples, best_ns, protocol) or (
        count and spent_ns >= FAR_OVER * protocol.budget_ns
    ):
        return True
    if count == 0 or count < protocol.fewest_samples:
        return False
    if spent_ns >= protocol.budget_ns or count >= protocol.most_samples:
        return True
    is_long = min(samples) >= LONG * protocol.sample_ns
    fewest = protocol.agreeing if is_long and protocol.agreeing else FEWEST
    return is_precise(samples, protocol.precision, protocol.agreeing, fewest)
