"""How much memory copies of weights in other layouts may take."""

from __future__ import annotations

import re
from dataclasses import dataclass

from layoutopt.errors import InputError
from layoutopt.graph import Constant, Graph

_UNITS = {
    "": 1,
    "b": 1,
    **{f"{prefix}b": 1000**n for n, prefix in enumerate("kmgt", start=1)},
    **{f"{prefix}ib": 1024**n for n, prefix in enumerate("kmgt", start=1)},
}
_TEXT = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*|%)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WeightBudget:
    """A number of bytes, or a share of the bytes that the model's weights take."""

    amount: float
    percent: bool = False

    @classmethod
    def parse(cls, text: str) -> WeightBudget:
        """``2GiB``, ``500 MB``, ``4096`` or ``150%``. Raises InputError for anything else."""
        found = _TEXT.fullmatch(text.strip())
        if found is not None and found[2] == "%":
            return cls(float(found[1]), percent=True)
        if found is None or found[2].lower() not in _UNITS:
            raise InputError(
                "--weight-budget",
                "bytes such as 2GiB, or a share of the model's weights such as 50%",
                f"'{text}'",
                "correct the option",
            )
        return cls(float(found[1]) * _UNITS[found[2].lower()])

    def size_bytes(self, weight_bytes: int) -> int:
        """The budget in bytes of a model whose weights take ``weight_bytes``."""
        return int(self.amount * weight_bytes / 100 if self.percent else self.amount)


def weight_bytes(graph: Graph) -> int:
    """Bytes of the constants that a function reads, splats left out."""
    return sum(
        graph.types[op.result].size_bytes
        for op in graph.ops
        if isinstance(op, Constant) and op.splat is None and graph.consumers[op.result]
    )
