"""Fit a few positive parameters to measured times: robust least squares of the logarithms.

The loss of a row grows as that of a Cauchy distribution, so that rows of another kernel than the
one that is looked at do not drag the others along: Barron, A general and adaptive robust loss
function (CVPR 2019), alpha = 0. A weak prior keeps a parameter near its data-sheet value where the
data say nothing about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.optimize import least_squares

from layoutopt.ir.types import Array

Parameters = Mapping[str, float]
Predict = Callable[[Parameters], Sequence[float]]
SCALE = 0.3
"""Errors of the logarithm beyond this count less and less."""
FTOL = 1e-6
"""Relative gain of a step below which the fit is done."""


def fit(
    prior: Parameters,
    predict: Predict,
    measured: Sequence[float],
    weights: Sequence[float],
    least: Parameters,
    prior_weight: float,
) -> dict[str, float]:
    """Parameters that bring ``predict`` close to ``measured``, both positive and in the same unit.

    Minimizes sum(weight * loss(log(predicted / measured))) + (prior_weight * log(parameter /
    prior))^2 with loss(e) = SCALE^2 * log(1 + (e / SCALE)^2). ``least``: no parameter is below it.
    """
    names = tuple(prior)
    logs, roots = np.log(measured), np.sqrt(weights)

    def parameters(x: Array) -> dict[str, float]:
        return {name: prior[name] * float(np.exp(v)) for name, v in zip(names, x, strict=True)}

    def residuals(x: Array) -> Array:
        errors = np.log(predict(parameters(x))) - logs
        kept = SCALE * np.sqrt(np.log1p((errors / SCALE) ** 2))
        return np.concatenate([roots * np.copysign(kept, errors), prior_weight * x])

    low = [np.log(least[name] / prior[name]) if name in least else -np.inf for name in names]
    start = np.zeros(len(names))
    return parameters(least_squares(residuals, start, bounds=(low, np.inf), ftol=FTOL).x)
