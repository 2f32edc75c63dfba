"""Trip counts that the user gives, checked against the blocks that do not tell theirs."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.errors import InputError
from layoutopt.options import TripCount


def chosen_trip_counts(unknown: Sequence[str], given: Sequence[TripCount]) -> dict[str, int]:
    """How often blocks run, by name. Raises InputError for one that is not among ``unknown``."""
    for trips in given:
        if trips.name not in unknown:
            raise InputError(
                f"--trip-count {trips.name}",
                f"one of {', '.join(unknown)}" if unknown else "a block without a trip count",
                "another name" if unknown else "a model whose blocks all tell theirs",
                "correct the option" if unknown else "leave the option out",
            )
    return {trips.name: trips.count for trips in given}
