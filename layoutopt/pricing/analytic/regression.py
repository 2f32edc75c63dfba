"""Gaussian process regression: a number for a thing, from the numbers of things like it.

    y = mean + f + noise
    cov(f(a), f(b)) = sum of constant + nearby * near(a, b) over levels on which labels are equal
    near(a, b) = exp(-|a - b|^2 / (2 length^2))

Rasmussen and Williams, Gaussian Processes for Machine Learning (2006): equations 2.23 to 2.26.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

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


class Regression:
    """What ``values`` at ``points``, one or more, tell of other points."""

    def __init__(self, kernel: Kernel, points: Points, values: Sequence[float]) -> None:
        self._kernel, self._points = kernel, points
        covariance = kernel.covariance(points, points) + kernel.noise * np.eye(len(points))
        self._inverse = np.linalg.inv(covariance).astype(np.float64)
        known = np.asarray(values, np.float64)
        ones = np.ones(len(points))
        self._mean = float((ones @ self._inverse @ known) / (ones @ self._inverse @ ones))
        self._weights: Floats = self._inverse @ (known - self._mean)

    def at(self, points: Points) -> tuple[Floats, Floats]:
        """The expected value at each point, and its standard deviation."""
        parts = [
            self._some(points.part(np.arange(start, min(start + _AT_ONCE, len(points)))))
            for start in range(0, len(points), _AT_ONCE)
        ]
        return np.concatenate([m for m, _ in parts]), np.concatenate([d for _, d in parts])

    def _some(self, points: Points) -> tuple[Floats, Floats]:
        shared = self._kernel.covariance(points, self._points)
        told = np.einsum("ij,ij->i", shared @ self._inverse, shared)
        left = self._kernel.variance + self._kernel.noise - told
        return self._mean + shared @ self._weights, np.sqrt(np.maximum(left, self._kernel.noise))
