"""Give a mutable global the type of another layout, and its first value with it.

    util.global private mutable @cache = dense<0.0> : T
      ->
    util.global private mutable @cache = dense<0.0> : T'

A first value that is not one number everywhere is converted by an initializer, as is what other
initializers store.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from layoutopt.ir.graph import GraphBuilder, Pack
from layoutopt.ir.layout import Layout
from layoutopt.ir.packs_as_transposes import add_pack
from layoutopt.ir.types import TensorType
from layoutopt.mlir.read.attribute import value_of
from layoutopt.mlir.read.state_globals import StateGlobal
from layoutopt.mlir.write.emit import body_text, function_text

_VALUE = "initial_value"


def relay_global(state: StateGlobal, logical: TensorType, layout: Layout) -> None:
    """Change a global from row-major to a layout without padding; loads and stores stay."""
    op, attributes = state.op, state.op.attributes
    physical = layout.physical_type(logical)
    with op.context, op.location:
        kind = ir.Type.parse(str(physical))
        if _VALUE in attributes:
            value = value_of(attributes, _VALUE)
            if isinstance(value, ir.DenseElementsAttr) and value.is_splat:
                attributes[_VALUE] = ir.DenseElementsAttr.get_splat(kind, value.get_splat_value())
            else:
                _convert_first_value(state, logical, layout)
        attributes["type"] = ir.TypeAttr.get(kind)
        for store in state.initial:
            _convert_operand(store, logical, layout)


def _converted(logical: TensorType, layout: Layout) -> GraphBuilder:
    """Tensor 0 as tensor 1, which lies in the layout."""
    builder = GraphBuilder()
    physical = layout.physical_type(logical)
    source = builder.tensor(logical.shape, logical.element)
    result = builder.tensor(physical.shape, physical.element)
    add_pack(builder, logical, Pack(source, result, layout))
    return builder


def _convert_first_value(state: StateGlobal, logical: TensorType, layout: Layout) -> None:
    """Keep the value in a global of its own, from which an initializer makes the state."""
    op = state.op
    symbols = {
        ir.StringAttr(other.operation.attributes["sym_name"]).value
        for other in op.parent.regions[0].blocks[0].operations
        if "sym_name" in other.operation.attributes
    }
    name, number = f"{state.symbol}.initial", 2
    while name in symbols:
        name, number = f"{state.symbol}.initial.{number}", number + 1
    held = op.clone(ir.InsertionPoint(op)).operation
    held.attributes["sym_name"] = ir.StringAttr.get(name)
    del held.attributes["is_mutable"]
    del op.attributes[_VALUE]
    graph = _converted(logical, layout).build((0,), (1,))
    first, last = f'@"{name}" : {logical}', f'@"{state.symbol}" : {graph.types[1]}'
    text = (
        f"util.global private {first}\nutil.global private mutable {last}\nutil.initializer {{\n"
        f"  %t0 = util.global.load immutable {first}\n{body_text(graph)}\n"
        f"  util.global.store %t1, {last}\n  util.return\n}}"
    )
    module = ir.Module.parse(text)
    *others, initializer = list(module.body.operations)
    initializer.operation.move_after(op)
    for other in others:
        other.operation.erase()


def _convert_operand(store: Any, logical: TensorType, layout: Layout) -> None:
    """Convert what an initializer stores."""
    graph = _converted(logical, layout).build((0,), (1,))
    module = ir.Module.parse(function_text(graph, (0,), (1,), "converted"))
    block = module.body.operations[0].regions[0].blocks[0]
    block.arguments[0].replace_all_uses_with(store.operands[0])
    *made, last = list(block.operations)
    store.operands[0] = last.operation.operands[0]
    for each in made:
        each.operation.move_before(store)
