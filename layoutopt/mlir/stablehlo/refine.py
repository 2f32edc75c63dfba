"""StableHLO of open sizes, brought to what IREE converts.

`jax.export` computes sizes as tensors and gives them to ops such as ``dynamic_broadcast_in_dim``.
Each of these numbers is read as a size, and the ops become such as say what they do at every size.
Shape assertions become ``cf.assert``, and what they state becomes ranges of ``util.assume.int``.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from iree.compiler import ir

from layoutopt.ir.size import symbol
from layoutopt.mlir.read.sizes import Sizes
from layoutopt.mlir.stablehlo.assertions import Assertions
from layoutopt.mlir.stablehlo.building import after, constant, listed, made
from layoutopt.mlir.stablehlo.numbers import Numbers, whole
from layoutopt.mlir.stablehlo.rewrites import REWRITES
from layoutopt.mlir.stablehlo.shapes import result_shapes

_LOOP = "stablehlo.while"


class ChangingLoop(Exception):  # noqa: N818 -- another attempt takes it into account
    """A loop that was taken to keep the sizes of what it carries."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        """Of the loop in its function."""


def refine_function(function: Any, changing: Container[int] = ()) -> None:
    """Rewrite the ops of a function whose operands tell sizes.

    ``changing``: the numbers of loops whose sizes change from trip to trip. Raises ChangingLoop for
    another one, and UnprovedSize.
    """
    block = function.regions[0].blocks[0]
    sizes = Sizes()
    assertions = Assertions(sizes)
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown(function.context):
        for position, argument in enumerate(block.arguments):
            if _is_open(argument):
                sizes.shapes[argument] = tuple(
                    assertions.stated(argument, d, f"arg{position}.{d}")
                    if argument.type.is_dynamic_dim(d)
                    else argument.type.get_dim_size(d)
                    for d in range(argument.type.rank)
                )
    _Refinement(sizes, assertions, changing).refine(block, outermost=True)
    assertions.finish()


class _Refinement:
    def __init__(self, sizes: Sizes, assertions: Assertions, changing: Container[int]) -> None:
        self.sizes = sizes
        self.numbers = Numbers(sizes)
        self.assertions = assertions
        self.changing = changing
        self.loops = 0

    def refine(self, block: Any, outermost: bool = False) -> None:
        """Go through the ops of a block in order."""
        for op in [o.operation for o in block.operations]:
            if op.name == "stablehlo.custom_call" and "shape_assertion" in str(
                op.attributes["call_target_name"]
            ):
                self.assertions.take(op, self.numbers, learn=outermost)
                continue
            if op.name == _LOOP:
                self._enter_loop(op)
                continue
            if op.name in ("stablehlo.if", "stablehlo.case"):
                for region in op.regions:
                    self.refine(region.blocks[0])
            self._learn(op)
            if op.name in REWRITES:
                REWRITES[op.name](op, self.sizes, self.numbers)

    def _enter_loop(self, op: Any) -> None:
        """Bodies with the sizes of what goes in, unless these change from trip to trip."""
        number, self.loops = self.loops, self.loops + 1
        kept = number not in self.changing
        for region in op.regions:
            block = region.blocks[0]
            for argument, init in zip(block.arguments, op.operands, strict=True):
                if _is_open(argument):
                    shape = self.sizes.shape_of(init) if kept else None
                    self.sizes.shapes[argument] = self._stated(argument, shape)
            self.refine(block)
        handed = list(op.regions[1].blocks[0].operations)[-1].operation.operands
        for init, value in zip(op.operands, handed, strict=True):
            if kept and _is_open(value) and self.sizes.shape_of(init) != self.sizes.shape_of(value):
                raise ChangingLoop(number)
        for result, init in zip(op.results, op.operands, strict=True):
            if _is_open(result):
                shape = self.sizes.shape_of(init) if kept else None
                self.sizes.shapes[result] = self._stated(result, shape)

    def _learn(self, op: Any) -> None:
        """Learn the sizes of what an op makes, or name them; put numbers in place of arithmetic."""
        if any(map(_is_open, op.results)):
            shapes = result_shapes(self.sizes, self.numbers, op)
            for result, shape in zip(op.results, shapes, strict=True):
                if _is_open(result):
                    self.sizes.shapes[result] = self._stated(result, shape)
        if len(op.results) != 1 or not isinstance(op.results[0].type, ir.RankedTensorType):
            return
        result = op.results[0]
        numbers = self.numbers.all_of(result)
        if numbers and not all(isinstance(n, int) for n in numbers):
            with after(result):
                computed = listed(self.sizes, [whole(n) for n in numbers], result.type)
            result.replace_all_uses_with(computed)
            self.numbers.learn(computed, numbers)

    def _stated(self, value: Any, shape: tuple[int, ...] | None) -> tuple[int, ...]:
        """The sizes of a tensor; of those that nothing tells, symbols."""
        found: list[int] = []
        for d in range(value.type.rank):
            if not value.type.is_dynamic_dim(d):
                found.append(value.type.get_dim_size(d))
            elif shape is not None:
                found.append(shape[d])
            else:
                with after(value):
                    index = ir.IndexType.get()
                    dim = made("tensor.dim", [value, constant(d, index)], index)
                found.append(self.sizes.name(f"size{len(self.sizes.values)}", symbol, dim, 0))
        return tuple(found)


def _is_open(value: Any) -> bool:
    return isinstance(value.type, ir.RankedTensorType) and not value.type.has_static_shape
