"""Put a planned graph in place of the ops it was lifted from.

The new ops are written as text and parsed into the module's own context; weights stay the very
attributes they were. Each new op goes behind the last kept op that it depends on, so that ops
with side effects keep their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import iree.compiler.ir as ir  # noqa: TID251 -- layoutopt.mlir is where MLIR comes in

from layoutopt.errors import LoweringError
from layoutopt.graph import Graph
from layoutopt.mlir.emit import function_text
from layoutopt.mlir.lift import Lifted


def splice(lifted: Lifted, planned: Graph, given: Mapping[int, int], made: Mapping[int, int]) -> None:
    """Replace the lifted ops by ``planned``, in the module that ``lifted`` came from.

    ``given`` maps the lifted graph's outside tensors to the planned graph's, ``made`` its outputs
    to the planned graph's. Raises LoweringError where MLIR refuses the new ops.
    """
    with lifted.block.owner.context:
        leaves = list(given)
        outputs = list(made)
        text = function_text(planned, (given[t] for t in leaves), (made[t] for t in outputs),
                             "planned")
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            first = str(error).splitlines()[:2]
            raise LoweringError(f"function '{lifted.name}'", "a plan that is valid MLIR",
                                " ".join(first), "report this as a bug of layoutopt") from error
        _move(module, lifted, leaves, outputs)


def _move(module: Any, lifted: Lifted, leaves: list[int], outputs: list[int]) -> None:
    block = module.body.operations[0].regions[0].blocks[0]
    stage: dict[Any, int] = {}
    for argument, tensor in zip(list(block.arguments), leaves, strict=True):
        value = lifted.values[tensor]
        stage[value] = lifted.stages[tensor]
        argument.replace_all_uses_with(value)
    operations = list(block.operations)
    results = list(operations[-1].operation.operands)
    for operation in operations[:-1]:
        op = operation.operation
        needed = max((stage.get(v, 0) for v in op.operands), default=0)
        op.move_before(lifted.kept[needed].operation)
        for value in op.results:
            stage[value] = needed
    for tensor, value in zip(outputs, results, strict=True):
        if tensor not in leaves:
            lifted.values[tensor].replace_all_uses_with(value)
    _erase_planned(lifted)


def _erase_planned(lifted: Lifted) -> None:
    for operation in reversed(lifted.planned):
        op = operation.operation
        if all(not list(value.uses) for value in op.results):
            op.erase()
