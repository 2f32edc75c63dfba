"""Gaussian process regression: a number for a thing, from the numbers of things like it.

    y = mean + f + noise
    cov(f(a), f(b)) = sum of constant + nearby * near(a, b) over levels on which labels are equal
    near(a, b) = exp(-|a - b|^2 / (2 length^2))

Rasmussen and Williams, Gaussian Processes for Machine Learning (2006): equations 2.23 to 2.26.

What values elsewhere tell, of another model or machine, stands in for the mean and takes its part
of the covariance: one process for both, whose values here and there have a correlation
(Kennedy and O'Hagan, Predicting the output from a complex computer code, Biometrika 2000).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_OFFSET = 0.25
"""Variance of what all values here differ by from those elsewhere."""
_AT_ONCE = 2048
"""Points that are predicted in one go: the covariance with all samples takes memory."""


@dataclass(frozen=True, slots=True)
class Points:
    """Things, by the labels that they have on each level and by where they lie."""

    labels: npt.NDArray[np.int64]
    """Points by levels."""
    places: Floats
    """Points by coordinates."""

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, chosen: npt.NDArray[np.int64]) -> Points:
        """Some of them, by number."""
        return Points(self.labels[chosen], self.places[chosen])


@dataclass(frozen=True, slots=True)
class Level:
    """Variance that points with one label share: all of them, and those that lie near."""

    constant: float
    nearby: float


@dataclass(frozen=True, slots=True)
class Kernel:
    """How much the numbers of two points have in common."""

    levels: tuple[Level, ...]
    """One for each label."""
    length: float
    """How far apart points are that tell little of each other."""
    noise: float
    """Variance of what no other point tells."""

    def covariance(self, first: Points, second: Points) -> Floats:
        """Of each point of ``first`` with each of ``second``, without noise."""
        squares = [
            (first.places[:, None, axis] - second.places[None, :, axis]) ** 2
            for axis in range(first.places.shape[1])
        ]
        near: Floats = np.exp(-sum(squares, np.zeros((1, 1))) / (2 * self.length**2))
        found = np.zeros((len(first), len(second)))
        for place, level in enumerate(self.levels):
            same = first.labels[:, None, place] == second.labels[None, :, place]
            found += same * (level.constant + level.nearby * near)
        return found

    @property
    def variance(self) -> float:
        """Of a point of which nothing is known."""
        return sum(level.constant + level.nearby for level in self.levels)


@dataclass(frozen=True, slots=True)
class Before:
    """What values elsewhere tell of points, before any value is known here."""

    mean: Floats
    """Of each point."""
    factors: Floats
    """Points by values elsewhere: the covariance that is told is ``factors @ factors.T``."""

    def part(self, chosen: npt.NDArray[np.int64]) -> Before:
        """Of some of the points, by number."""
        return Before(self.mean[chosen], self.factors[chosen])

    def trusted(self, share: float) -> Before:
        """Where values here and there have that correlation, 0 to 1."""
        return Before(share * self.mean, share * self.factors)


def told_elsewhere(
    kernel: Kernel, points: Points, elsewhere: Points, values: Sequence[float]
) -> Before:
    """What ``values``, of points ``elsewhere``, tell of ``points`` where they are as good here."""
    own = kernel.covariance(elsewhere, elsewhere) + kernel.noise * np.eye(len(elsewhere))
    root = np.linalg.inv(np.linalg.cholesky(own))
    known = np.asarray(values, np.float64)
    ones = root @ np.ones(len(elsewhere))
    mean = float((ones @ root @ known) / (ones @ ones))
    factors = np.concatenate(
        [kernel.covariance(part, elsewhere) @ root.T for part in _parts_of(points)]
    )
    return Before(mean + factors @ root @ (known - mean), factors)


class Regression:
    """What ``values`` at ``points``, one or more, tell of other points.

    With what was known ``before`` of these points there may be none.
    """

    def __init__(
        self,
        kernel: Kernel,
        points: Points,
        values: Sequence[float],
        before: Before | None = None,
    ) -> None:
        self._kernel, self._points, self._before = kernel, points, before
        covariance = self._shared(points, points, before) + kernel.noise * np.eye(len(points))
        self._inverse = np.linalg.inv(covariance).astype(np.float64)
        known = np.asarray(values, np.float64)
        if before is None:
            ones = np.ones(len(points))
            self._mean = float((ones @ self._inverse @ known) / (ones @ self._inverse @ ones))
        else:
            self._mean = 0.0
            known = known - before.mean
        left = known - self._mean
        self._weights: Floats = self._inverse @ left
        self.log_likelihood = float(
            np.linalg.slogdet(self._inverse).logabsdet
            - left @ self._weights
            - len(points) * math.log(2 * math.pi)
        ) / 2  # fmt: skip
        """Of the values, by what is known before: equation 2.30."""

    def at(self, points: Points, before: Before | None = None) -> tuple[Floats, Floats]:
        """The expected value at each point, and its standard deviation."""
        found, start = [], 0
        for part in _parts_of(points):
            chosen = np.arange(start, start + len(part))
            found.append(self._some(part, None if before is None else before.part(chosen)))
            start += len(part)
        return np.concatenate([m for m, _ in found]), np.concatenate([d for _, d in found])

    def _some(self, points: Points, before: Before | None) -> tuple[Floats, Floats]:
        shared = self._shared(points, self._points, before)
        told = np.einsum("ij,ij->i", shared @ self._inverse, shared)
        left = self._kernel.variance + self._kernel.noise - told
        mean = self._mean + shared @ self._weights
        if before is not None:
            left += _OFFSET - np.einsum("ij,ij->i", before.factors, before.factors)
            mean += before.mean
        return mean, np.sqrt(np.maximum(left, self._kernel.noise))

    def _shared(self, first: Points, second: Points, before: Before | None) -> Floats:
        """Their covariance, by what is known before of the ``first`` ones and of the samples."""
        shared = self._kernel.covariance(first, second)
        if before is not None and self._before is not None:
            shared += _OFFSET - before.factors @ self._before.factors.T
        return shared


def _parts_of(points: Points) -> list[Points]:
    starts = range(0, len(points), _AT_ONCE)
    return [points.part(np.arange(s, min(s + _AT_ONCE, len(points)))) for s in starts]
