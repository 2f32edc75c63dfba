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
    if group.along:
        return _over_rows(schedule, group)
    written = words.matrix_schedule if group.instruction else words.vector_schedule
    padding = words.padding.format(sizes=list(group.padding)) if group.padding else ""
    if group.windows:
        written = words.window_schedule
        sizes = [*group.padding[:-1], *(0 for _ in range(group.windows))]
        padding += words.window_padding.format(sizes=sizes) if group.padding else ""
    return written.format(
        distribution=list(schedule.distribution),
        vector=list(schedule.vector),
        reduction=list(schedule.reduction),
        threads=group.threads,
        subgroup=group.subgroup,
        instruction=group.instruction,
        padding=padding,
    )


def _over_rows(schedule: Schedule, group: Workgroup) -> str:
    words, rows = quirks().gpu, [1] * (len(schedule.vector) - 1)
    shared = group.along > 1
    steps = words.row_steps[any(schedule.distribution)] if shared else ""
    config = words.row_schedule.format(
        lanes=[*rows, group.along],
        subgroups=[*rows, group.threads // group.subgroup if shared else 1],
        loops=[*range(len(schedule.vector))],
        vector=list(schedule.vector),
        steps=steps.format(
            reduction=list(schedule.reduction), distribution=list(schedule.distribution)
        ),
    )
    if not group.leads:
        return config
    return words.row_dispatch.format(config=config, threads=group.threads, subgroup=group.subgroup)
