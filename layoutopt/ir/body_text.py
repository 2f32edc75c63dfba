"""The ops of a body as lines of MLIR."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.ir.scalar import Body
from layoutopt.ir.size import Size
from layoutopt.ir.size_values import index_text


def body_lines(
    body: Body,
    arguments: Sequence[str],
    prefix: str = "%s",
    tables: Sequence[tuple[str, str]] = (),
) -> tuple[list[str], list[str]]:
    """Lines that compute the ops of a body, and the names of all its values.

    ``arguments``: the names of what it takes; ``prefix``: of the names of what it computes.
    ``tables``: names and types of the tensors that it reads by ``tensor.extract``.
    """
    names, types, lines = list(arguments), list(body.arguments), list[str]()
    for i, op in enumerate(body.ops):
        name = f"{prefix}{i}"
        operands = ", ".join(names[o] for o in op.operands)
        kinds = ", ".join(types[o] for o in op.operands)
        attributes = ", ".join(k if v == "unit" else f"{k} = {v}" for k, v in op.attributes)
        if isinstance(op.size, Size):
            name = index_text(op.size)
        elif op.name == "linalg.index":
            lines.append(f"    {name} = linalg.index {op.attribute('dim')} : index")
        elif op.name == "tensor.extract":
            table, kind = tables[int(op.attribute("source"))]
            lines.append(f"    {name} = tensor.extract {table}[{operands}] : {kind}")
        elif op.name == "arith.constant":
            lines.append(f"    {name} = arith.constant {op.attribute('value')}")
        else:
            dictionary = f" {{{attributes}}}" if attributes else ""
            lines.append(
                f'    {name} = "{op.name}"({operands}){dictionary} : ({kinds}) -> {op.type}'
            )
        names.append(name)
        types.append(op.type)
    return lines, names
