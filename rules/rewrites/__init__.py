"""Rewrites: equal ways to compute a tensor; one file a rule, in the order they are tried."""

from __future__ import annotations

from typing import Any

from layoutopt.rules.rewrites.convolution_to_im2col import ConvolutionToIm2col
from layoutopt.rules.rewrites.patch_convolution_to_contraction import (
    PatchConvolutionToContraction,
)
from layoutopt.rules.rewrites.strided_unit_filter_to_slice import StridedUnitFilterToSlice
from layoutopt.rules.rewrites.unit_filter_to_contraction import UnitFilterToContraction
from layoutopt.rules.rule import RewriteRule

REWRITES: tuple[RewriteRule[Any], ...] = (
    UnitFilterToContraction(),
    StridedUnitFilterToSlice(),
    PatchConvolutionToContraction(),
    ConvolutionToIm2col(),
)
