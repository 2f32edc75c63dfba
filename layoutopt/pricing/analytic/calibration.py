"""Fit a few positive parameters to measured times: least squares of the logarithms.

Levenberg (1944), Marquardt (1963). A weak prior keeps a parameter near its data-sheet value where
the data say nothing about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from layoutopt.ir.types import Array

Parameters = Mapping[str, float]
Predict = Callable[[Parameters], Sequence[float]]
STEP = 1e-5
ITERATIONS = 80
CONVERGED = 1e-7
"""Relative gain of a step below which the fit is done."""


def fit(
    prior: Parameters, predict: Predict, measured: Sequence[float], prior_weight: float
) -> dict[str, float]:
    """Parameters that bring `predict` close to `measured`, both positive and in the same unit.

    Minimizes sum(log(predicted / measured)^2) + prior_weight^2 * sum(log(parameter / prior)^2).
    """
    names = tuple(prior)

    def parameters(x: Array) -> dict[str, float]:
        return {name: prior[name] * float(np.exp(v)) for name, v in zip(names, x, strict=True)}

    def residuals(x: Array) -> Array:
        errors = np.log(np.asarray(predict(parameters(x))) / np.asarray(measured))
        return np.concatenate([errors, prior_weight * x])

    x: Array = np.zeros(len(names))
    now, damping = residuals(x), 1e-2
    for _ in range(ITERATIONS):
        slopes = [(residuals(x + STEP * unit) - now) / STEP for unit in np.eye(len(names))]
        jacobian = np.stack(slopes, axis=1)
        normal = jacobian.T @ jacobian + damping * np.eye(len(names))
        tried = x + np.linalg.solve(normal, -jacobian.T @ now)
        then = residuals(tried)
        gain = now @ now - then @ then
        if gain <= 0:
            damping *= 4
            continue
        converged = gain < CONVERGED * (now @ now)
        x, now, damping = tried, then, damping / 3
        if converged:
            break
    return parameters(x)
