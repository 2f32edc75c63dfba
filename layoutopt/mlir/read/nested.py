"""The ops inside an op."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def nested_ops(operation: Any) -> Iterator[Any]:
    """An op and all inside its regions, each ahead of those inside it."""
    yield operation
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from nested_ops(inner.operation)
