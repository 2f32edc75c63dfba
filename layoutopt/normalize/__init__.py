"""What every model goes through before candidates are enumerated; one file a rule, in this order.

A rule is tried where those before it find nothing: packs are transposes once no op lets them pass.
No form is lost by it: what these rules replace stays a candidate as it came. The rules work out
only the forms that take its place, from which all alternatives start.
"""

from __future__ import annotations

from typing import Any

from layoutopt.normalize.drop_dead_results import DropDeadResults
from layoutopt.normalize.erf_by_division import ErfByDivision
from layoutopt.normalize.fold_broadcast import FoldBroadcast
from layoutopt.normalize.fold_identity import FoldIdentity
from layoutopt.normalize.init_to_input import InitToInput
from layoutopt.normalize.packs.bubble_up_unpack import BubbleUpUnpack
from layoutopt.normalize.packs.fold_pack_of_unpack import FoldPackOfUnpack
from layoutopt.normalize.packs.fold_unpack_of_pack import FoldUnpackOfPack
from layoutopt.normalize.packs.pack_to_transpose import PackToTranspose
from layoutopt.normalize.packs.push_down_pack import PushDownPack
from layoutopt.normalize.quantization.contract_as_integers import ContractAsIntegers
from layoutopt.normalize.reduce_from_neutral_init import ReduceFromNeutralInit
from layoutopt.normalize.round_by_adding import RoundByAdding
from layoutopt.normalize.splat_init_to_fill import SplatInitToFill
from layoutopt.rules.rule import NormalizationRule

EXPANDED: tuple[NormalizationRule[Any], ...] = (RoundByAdding(), ErfByDivision())
"""For CPUs alone: what the compiler writes out there, other targets have an instruction for."""

NORMALIZATIONS: tuple[NormalizationRule[Any], ...] = (
    DropDeadResults(),
    FoldUnpackOfPack(),
    FoldPackOfUnpack(),
    FoldIdentity(),
    BubbleUpUnpack(),
    PushDownPack(),
    SplatInitToFill(),
    InitToInput(),
    ReduceFromNeutralInit(),
    FoldBroadcast(),
    ContractAsIntegers(),
    PackToTranspose(),
    *EXPANDED,
)
