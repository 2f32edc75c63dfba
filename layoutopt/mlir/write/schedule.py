"""The attribute that tells the compiler how to tile one contraction."""

from __future__ import annotations

from layoutopt.compiler.installed import quirks
from layoutopt.ir.schedule import Schedule


def schedule_text(schedule: Schedule) -> str:
    """The attribute of an op, in the words of the installed compiler."""
    written = quirks().windowed_schedule if schedule.windowed else quirks().schedule
    return written.format(
        distribution=list(schedule.distribution),
        vector=list(schedule.vector),
        reduction=list(schedule.reduction),
        options=quirks().peeling if schedule.peeled else "",
    )
