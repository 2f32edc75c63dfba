"""What the user knows of open sizes, written into the model as if it had said so itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from layoutopt.frontend.source import Source
from layoutopt.mlir.module import Module, parse_for_planning
from layoutopt.mlir.write.assumed import assume
from layoutopt.options import SizeRange


def with_ranges(
    source: Source, module: Module, ranges: Sequence[SizeRange], names: Mapping[str, str]
) -> tuple[Source, Module]:
    """The model with ``util.assume.int`` on dims of its arguments, in a file beside its own.

    ``names``: by name of an open size (``arg0.1``) what the model calls it; a range is one of all
    dims of that name.
    """
    wanted = {size.name: size for size in ranges}
    for block in module.blocks:
        own = {name: names.get(name, name) for name in block.sizes.values if block.is_entry}
        for name, called in own.items():
            if called in wanted:
                size = wanted[called]
                assume(block.sizes.values[name], size.low, size.high, size.divisor)
    path = source.path.with_name("ranges.mlirbc")
    with path.open("wb") as file:
        module.operation.write_bytecode(file)
    return replace(source, path=path), parse_for_planning(path)
