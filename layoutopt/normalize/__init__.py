"""What every model goes through before candidates are enumerated; one file a rule, in this order.

No form is lost by it: what these rules replace stays a candidate as it came. The rules work out
only the forms that take its place, from which all alternatives start.
"""

from __future__ import annotations

from typing import Any

from layoutopt.normalize.drop_unread import DropUnread
from layoutopt.normalize.fold_broadcast import FoldBroadcast
from layoutopt.normalize.quantization.contract_as_integers import ContractAsIntegers
from layoutopt.normalize.splat_start_to_fill import SplatStartToFill
from layoutopt.normalize.start_from_neutral import StartFromNeutral
from layoutopt.normalize.start_to_input import StartToInput
from layoutopt.rules.rule import NormalizationRule

NORMALIZATIONS: tuple[NormalizationRule[Any], ...] = (
    DropUnread(),
    SplatStartToFill(),
    StartToInput(),
    StartFromNeutral(),
    FoldBroadcast(),
    ContractAsIntegers(),
)
