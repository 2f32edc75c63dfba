"""How exactly floating-point types hold numbers."""

from __future__ import annotations

import ml_dtypes

from layoutopt.compiler.installed import quirks
from layoutopt.ir.types import is_complex, is_float, numpy_dtype, roundoff


def computed_in(element: str) -> str:
    """The type that IREE computes in where a model says ``element``."""
    return quirks().types.demoted.get(element, element)


def real_part(element: str) -> str:
    """The type of the parts of a complex number; other types are their own."""
    return element.removeprefix("complex<").removesuffix(">")


def rounds(element: str) -> bool:
    """Whether computing in the type rounds."""
    return is_float(element) or is_complex(element)


def unit_roundoff(element: str) -> float:
    """The largest relative error of rounding to the type: 2^-24 for f32, 0 for integers."""
    return roundoff(element) or 0.0


def smallest_normal(element: str) -> float:
    """The least positive number that has all of the type's digits."""
    return float(_limits(element).smallest_normal)


def largest(element: str) -> float:
    """The largest finite number."""
    return float(_limits(element).max)


def _limits(element: str) -> ml_dtypes.finfo:
    return ml_dtypes.finfo(numpy_dtype(real_part(element)))
