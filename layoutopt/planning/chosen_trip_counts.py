"""Trip counts that the user gives, checked against the blocks that do not tell theirs."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.options import TripCount
from layoutopt.planning.named_option import check_named


def chosen_trip_counts(unknown: Sequence[str], given: Sequence[TripCount]) -> dict[str, int]:
    """How often blocks run, by name. Raises InputError for one that is not among ``unknown``."""
    for trips in given:
        check_named(
            "--trip-count",
            trips.name,
            unknown,
            "a block without a trip count",
            "a model whose blocks all tell theirs",
        )
    return {trips.name: trips.count for trips in given}
