"""Globals for hoisted weights: one for all functions and blocks that read the same."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from layoutopt.ir.lowered import HoistedWeight


@dataclass(frozen=True, slots=True)
class WeightGlobals:
    """The names of a module: those that are taken, and those of hoisted weights by meaning."""

    symbols: set[str]
    names: dict[Hashable, str]

    def named(
        self, hoisted: Sequence[HoistedWeight], constants: Mapping[int, Hashable]
    ) -> tuple[dict[int, str], tuple[HoistedWeight, ...]]:
        """The global of each weight, by tensor of the planned graph; those that none was made for.

        ``constants``: what the model's constants are called, see `constant_names`.
        """
        found: dict[int, str] = {}
        new: list[HoistedWeight] = []
        for weight in hoisted:
            meaning = weight.meaning(constants)
            if meaning not in self.names:
                self.names[meaning] = self._new_name()
                new.append(weight)
            found[weight.planned_tensor] = self.names[meaning]
        return found, tuple(new)

    def _new_name(self) -> str:
        number = 0
        while f"layoutopt_weight_{number}" in self.symbols:
            number += 1
        self.symbols.add(f"layoutopt_weight_{number}")
        return f"layoutopt_weight_{number}"
