"""Sizes that control flow cannot change, told before its blocks are lifted.

    for iter_args(%h = %x) { ..; yield %y }      %h and the result have the sizes of %x where %y has
                                                 them, if %h does
    if %p { yield %y } else { yield %z }         the result has those that %y and %z have

Each block is walked on trial: what is taken for granted of its arguments and then found wrong is
taken back, until nothing changes. Nothing in the module changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from iree.compiler import ir

from layoutopt.ir.size import Symbol, Undecided, one_symbol, symbols
from layoutopt.mlir.read.index_arithmetic import read_number
from layoutopt.mlir.read.shapes import is_dynamic, learn_shapes
from layoutopt.mlir.read.sizes import Sizes
from layoutopt.mlir.read.state import NotUnderstood, State
from layoutopt.mlir.read.structured import learn_loops

Known = tuple[int | None, ...]
"""The sizes of a tensor, None where one is not known."""
Scalars = Mapping[Any, tuple[str, str]]


def handed_sizes(state: State, op: Any) -> dict[Any, Known]:
    """The sizes of the tensors that an op of ``scf`` hands on: arguments of blocks, and results."""
    return _Trial(state.sizes, state.scalars).handed(op.operation)


def branched_sizes(
    state: State, blocks: Sequence[Any], order: Sequence[tuple[int, int | None]]
) -> dict[Any, Known]:
    """The sizes of the arguments of blocks that ``cf`` branches lead to.

    ``state``: of the first block, which is lifted. ``order``: see `dominated`.
    """
    known: dict[Any, Known] = {}
    while True:
        before = dict(known)
        trials: dict[int, _Trial] = {}
        for place, above in order:
            block = blocks[place]
            if above is None:
                trials[place] = _Trial(state.sizes, state.scalars)
            elif above in trials and all(a in known for a in _open(block.arguments)):
                trials[place] = trials[above].inside()
                trials[place].take(block.arguments, known)
                trials[place].walk(block)
            else:
                continue  # nothing that leads there has been seen yet
            for argument, sizes in trials[place].led_on(block):
                here = trials[0].visible(sizes)
                if argument in known:
                    here = trials[place].agreed(known[argument], here)
                known[argument] = here
        if known == before:
            return known


def branch_operands(op: Any) -> tuple[int, ...] | None:
    """The first operand that a branch hands to each of its successors; None where it is unknown."""
    attributes = op.attributes
    match op.name:
        case "cf.br":
            return (0,)
        case "cf.cond_br":
            counts = list(ir.DenseI32ArrayAttr(attributes["operandSegmentSizes"]))
            return (counts[0], counts[0] + counts[1])
        case "cf.switch":
            flag, default, _ = ir.DenseI32ArrayAttr(attributes["operandSegmentSizes"])
            starts = [flag, flag + default]
            for count in ir.DenseI32ArrayAttr(attributes["case_operand_segments"]):
                starts.append(starts[-1] + count)
            return tuple(starts[: len(list(op.successors))])
        case _:
            return None if list(op.successors) else ()


class _Trial:
    """What is known of the sizes in a block, where some of it may be wrong."""

    def __init__(self, sizes: Sizes, scalars: Scalars) -> None:
        self.sizes = sizes.copied()
        self.scalars = dict(scalars)
        self.outside = frozenset(sizes.values)
        """Names of the symbols that have values outside of the block."""

    def inside(self) -> _Trial:
        """The same for a block that runs only behind this one."""
        return _Trial(self.sizes, self.scalars)

    def visible(self, sizes: Known) -> Known:
        """The sizes as far as they are made of symbols from outside."""
        return tuple(
            None if n is None or any(s.name not in self.outside for s in symbols(n)) else n
            for n in sizes
        )

    def of(self, values: Iterable[Any]) -> list[Known]:
        """What is known of the sizes of tensors; nothing of other values."""
        found: list[Known] = []
        for value in values:
            rank = value.type.rank if isinstance(value.type, ir.RankedTensorType) else 0
            found.append((self.sizes.shape_of(value) if rank else None) or (None,) * rank)
        return found

    def take(self, values: Iterable[Any], known: Mapping[Any, Known]) -> None:
        """Take the sizes of tensors for granted; those not known are symbols of their own."""
        for value in values:
            if is_dynamic(value.type) and value in known:
                shape = [self._fresh() if n is None else n for n in known[value]]
                self.sizes.shapes[value] = tuple(shape)

    def _fresh(self) -> int:
        return self.sizes.name("?", lambda name: one_symbol(Symbol(name)), None, 0)

    def walk(self, block: Any) -> None:
        """Learn what the ops of a block say."""
        for op in list(block.operations)[:-1]:
            operation = op.operation
            values = operation.results
            if operation.name == "arith.constant" and not isinstance(values[0].type, ir.ShapedType):
                self.scalars[values[0]] = (str(operation.attributes["value"]), str(values[0].type))
            elif not read_number(self.sizes, op, self.scalars):
                learn_shapes(self.sizes, op, self.scalars)
                self._learn_loops(op)
                self.take(values, self.handed(operation))

    def _learn_loops(self, op: Any) -> None:
        if op.operation.name.startswith("linalg.") and any(map(_is_open, op.operation.operands)):
            with suppress(NotUnderstood, Undecided):
                learn_loops(self.sizes, op)

    def handed(self, op: Any) -> dict[Any, Known]:
        """What an op hands to its blocks, and on, as far as this is known before it runs."""
        if any(len(list(region.blocks)) != 1 for region in op.regions):
            return {}
        blocks = [region.blocks[0] for region in op.regions]
        if not any(_open([*op.results, *(a for b in blocks for a in b.arguments)])):
            return {}
        match op.name:
            case "scf.for":
                return self._for(op, blocks[0])
            case "scf.while":
                return self._while(op, *blocks)
            case "scf.if" | "scf.index_switch" | "scf.execute_region":
                return self._branches(op, blocks)
            case _:
                return {}

    def _for(self, op: Any, block: Any) -> dict[Any, Known]:
        arguments = list(block.arguments)[1:]

        def step(trial: _Trial) -> list[Known]:
            trial.walk(block)
            return trial.of(_last(block).operands)

        found, _ = self._steady(arguments, list(op.operands)[3:], step)
        results = {r: found[a] for r, a in zip(op.results, arguments, strict=True)}
        return found | results

    def _while(self, op: Any, before: Any, after: Any) -> dict[Any, Known]:
        arguments = list(after.arguments)

        def step(trial: _Trial) -> list[Known]:
            trial.walk(before)
            handed = trial.of(list(_last(before).operands)[1:])
            trial.take(arguments, dict(zip(arguments, handed, strict=True)))
            trial.walk(after)
            return trial.of(_last(after).operands)

        found, last = self._steady(before.arguments, op.operands, step)
        handed = [last.visible(n) for n in last.of(list(_last(before).operands)[1:])]
        for values in (arguments, op.results):
            found |= dict(zip(values, handed, strict=True))
        return found

    def _steady(
        self,
        arguments: Iterable[Any],
        inits: Iterable[Any],
        step: Callable[[_Trial], list[Known]],
    ) -> tuple[dict[Any, Known], _Trial]:
        """The sizes of the arguments of a loop that it keeps, and what one trip of it knows.

        ``step``: walks a trip and tells the sizes of what the next one takes.
        """
        found = dict(zip(arguments, self.of(inits), strict=True))
        while True:
            trial = self.inside()
            trial.take(found, found)
            ends = step(trial)
            kept = {
                a: trial.agreed(found[a], end) for a, end in zip(found, ends, strict=True)
            }  # fmt: skip
            if kept == found:
                return found, trial
            found = kept

    def agreed(self, one: Known, other: Known) -> Known:
        """Of some sizes those that others are equal to."""
        return tuple(
            a if a is not None and b is not None and self._same(a, b) else None
            for a, b in zip(one, other, strict=True)
        )

    def _same(self, one: int, other: int) -> bool:
        return self.sizes.resolved(one) == self.sizes.resolved(other)

    def _branches(self, op: Any, blocks: Sequence[Any]) -> dict[Any, Known]:
        arms: list[tuple[_Trial, list[Known]]] = []
        for block in blocks:
            trial = self.inside()
            trial.walk(block)
            arms.append((trial, trial.of(_last(block).operands)))
        found: dict[Any, Known] = {}
        for place, result in enumerate(op.results):
            sizes: Known = (None,) * len(arms[0][1][place])
            for own, handed in arms:
                agreed = own.visible(handed[place])
                for trial, others in arms:
                    agreed = trial.agreed(agreed, others[place])
                sizes = tuple(a if n is None else n for n, a in zip(sizes, agreed, strict=True))
            found[result] = sizes
        return found

    def led_on(self, block: Any) -> Iterator[tuple[Any, Known]]:
        """The arguments of the blocks that a branch leads to, with the sizes that it hands them."""
        op = _last(block)
        starts = branch_operands(op)
        for number, after in enumerate(op.successors):
            for place, argument in enumerate(after.arguments):
                if not _is_open(argument):
                    continue
                if starts is None:
                    yield argument, (None,) * argument.type.rank
                else:
                    yield argument, self.of([op.operands[starts[number] + place]])[0]


def _is_open(value: Any) -> bool:
    return is_dynamic(value.type)


def _open(values: Iterable[Any]) -> list[Any]:
    """The tensors whose types leave sizes open."""
    return [value for value in values if _is_open(value)]


def _last(block: Any) -> Any:
    return list(block.operations)[-1].operation
