"""Rewrites: equal ways to compute a tensor; one file a rule, in the order they are tried."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any

from layoutopt.rules.rewrites.attention_to_contractions import AttentionToContractions
from layoutopt.rules.rewrites.bubble_up_slice import BubbleUpSlice
from layoutopt.rules.rewrites.commute_scatter_with_contraction import CommuteScatterWithContraction
from layoutopt.rules.rewrites.contraction_to_strassen import ContractionToStrassen
from layoutopt.rules.rewrites.contractions_to_attention import ContractionsToAttention
from layoutopt.rules.rewrites.convolution_to_im2col import ConvolutionToIm2col
from layoutopt.rules.rewrites.convolution_to_space_to_depth import ConvolutionToSpaceToDepth
from layoutopt.rules.rewrites.convolution_to_winograd_f2 import ConvolutionToWinogradF2
from layoutopt.rules.rewrites.convolution_to_winograd_f4 import ConvolutionToWinogradF4
from layoutopt.rules.rewrites.convolution_to_winograd_f6 import ConvolutionToWinogradF6
from layoutopt.rules.rewrites.drop_padding_taps import DropPaddingTaps
from layoutopt.rules.rewrites.fold_reshape_by_expansion import FoldReshapeByExpansion
from layoutopt.rules.rewrites.fold_scale_into_weights import FoldScaleIntoWeights
from layoutopt.rules.rewrites.fold_slice_of_scatter import FoldSliceOfScatter
from layoutopt.rules.rewrites.insert_to_scatter import InsertToScatter
from layoutopt.rules.rewrites.merge_siblings import MergeSiblings
from layoutopt.rules.rewrites.merge_summed_contractions import MergeSummedContractions
from layoutopt.rules.rewrites.pad_attention import PadAttention
from layoutopt.rules.rewrites.pad_to_index_arithmetic import PadToIndexArithmetic
from layoutopt.rules.rewrites.patch_convolution_to_contraction import (
    PatchConvolutionToContraction,
)
from layoutopt.rules.rewrites.push_scatter_through_elementwise import PushScatterThroughElementwise
from layoutopt.rules.rewrites.push_scatter_through_reshape import PushScatterThroughReshape
from layoutopt.rules.rewrites.reassociate_contractions import ReassociateContractions
from layoutopt.rules.rewrites.scatter_to_index_arithmetic import ScatterToIndexArithmetic
from layoutopt.rules.rewrites.separate_resize import SeparateResize
from layoutopt.rules.rewrites.share_repeated_operand import ShareRepeatedOperand
from layoutopt.rules.rewrites.split_contraction_of_concat import SplitContractionOfConcat
from layoutopt.rules.rewrites.split_convolution_into_phases import SplitConvolutionIntoPhases
from layoutopt.rules.rewrites.split_reduction import SplitReduction
from layoutopt.rules.rewrites.split_reduction_into_phases import SplitReductionIntoPhases
from layoutopt.rules.rewrites.strided_unit_filter_to_slice import StridedUnitFilterToSlice
from layoutopt.rules.rewrites.unit_filter_to_contraction import UnitFilterToContraction
from layoutopt.rules.rewrites.unroll_window import UnrollWindow
from layoutopt.rules.rewrites.widen_factors import WidenFactors
from layoutopt.rules.rewrites.widen_sums import WidenSums
from layoutopt.rules.rule import RewriteRule

PARALLELIZING: tuple[RewriteRule[Any], ...] = (SplitReduction(),)
"""Those that do nothing but keep more compute units busy."""

WIDENING: tuple[RewriteRule[Any], ...] = (WidenFactors(),)
"""Those that bring narrow elements to the type that vectors compute in, weights too."""

ATTENDING: tuple[RewriteRule[Any], ...] = (ContractionsToAttention(), PadAttention())
"""Those that make one op of the parts of an attention, in sizes that its kernels divide."""

MERGING: tuple[RewriteRule[Any], ...] = (
    ReassociateContractions(),
    FoldScaleIntoWeights(),
    MergeSummedContractions(),
)
"""Those that make weights of weights: products, sums and multiples of them."""

TILING: tuple[RewriteRule[Any], ...] = (ConvolutionToSpaceToDepth(),)
"""Those that make loops which tiles of registers are laid over, at some more multiplications."""

REWRITES: tuple[RewriteRule[Any], ...] = (
    WidenSums(),
    DropPaddingTaps(),
    UnitFilterToContraction(),
    StridedUnitFilterToSlice(),
    PatchConvolutionToContraction(),
    ConvolutionToIm2col(),
    *TILING,
    ConvolutionToWinogradF2(),
    ConvolutionToWinogradF4(),
    ConvolutionToWinogradF6(),
    ContractionToStrassen(),
    UnrollWindow(),
    SeparateResize(),
    MergeSiblings(),
    FoldReshapeByExpansion(),
    ShareRepeatedOperand(),
    AttentionToContractions(),
    *ATTENDING,
    *MERGING,
    SplitContractionOfConcat(),
    InsertToScatter(),
    CommuteScatterWithContraction(),
    SplitReductionIntoPhases(),
    SplitConvolutionIntoPhases(),
    PushScatterThroughElementwise(),
    PushScatterThroughReshape(),
    BubbleUpSlice(),
    FoldSliceOfScatter(),
    ScatterToIndexArithmetic(),
    PadToIndexArithmetic(),
    *WIDENING,
    *PARALLELIZING,
)
"""Those that layoutopt has."""


@cache
def every_rule() -> tuple[RewriteRule[Any], ...]:
    """The table, and the rules of installed packages behind it.

    A package names a tuple of its rules under ``[project.entry-points."layoutopt.rules"]``.
    """
    more = (rule for entry in entry_points(group="layoutopt.rules") for rule in entry.load())
    return (*REWRITES, *more)
