"""The attribute that tells the compiler how to tile one contraction."""

from __future__ import annotations

from layoutopt.compiler.installed import quirks
from layoutopt.ir.schedule import Schedule, Workgroup


def schedule_text(schedule: Schedule) -> str:
    """The attribute of an op, in the words of the installed compiler."""
    if schedule.workgroup is not None:
        return _on_a_gpu(schedule, schedule.workgroup)
    written = quirks().windowed_schedule if schedule.windowed else quirks().schedule
    return written.format(
        distribution=list(schedule.distribution),
        vector=list(schedule.vector),
        reduction=list(schedule.reduction),
        options=quirks().peeling if schedule.peeled else "",
    )


def _on_a_gpu(schedule: Schedule, group: Workgroup) -> str:
    words = quirks().gpu
    written = words.matrix_schedule if group.instruction else words.vector_schedule
    return written.format(
        distribution=list(schedule.distribution),
        vector=list(schedule.vector),
        reduction=list(schedule.reduction),
        threads=group.threads,
        subgroup=group.subgroup,
        instruction=group.instruction,
        padding=words.padding.format(sizes=list(group.padding)) if group.padding else "",
    )
