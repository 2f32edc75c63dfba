"""Let reductions have a neutral init, and combine their results with the init after them.

    reduction(x) starting from b     ->   reduction(x) starting from neutral, then combined with b

For b a constant or a broadcast (a bias), see `layoutopt.normalize.constant_init`. Sound where one
commutative op folds into the accumulator: add, mul, max, min, and, or, xor; up to the order of
additions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import Fill, Graph, IteratorType, Structured, Uninitialized
from layoutopt.ir.neutral import neutral
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, is_reassociable
from layoutopt.ir.types import TensorType, is_float
from layoutopt.normalize.constant_init import constant_init
from layoutopt.normalize.examples import reduction_start_example
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class ReductionInit:
    """A reduction and its constant inits."""

    op: Structured
    init_tensors: tuple[int | None, ...]
    """For each result its init, None where that is not constant."""
    neutrals: tuple[str | None, ...]
    """For each result what changes nothing in it, None where that is unknown."""


class ReduceFromNeutralInit:
    """A bias behind the sum."""

    name = "reduce-from-neutral-init"
    summary = "reduction from a constant -> reduction from a neutral element + elementwise"
    argument = "a commutative, associative op takes its init last; neutral elements change nothing"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.REASSOCIATES
    part = "init"
    examples = (
        Example(reduction_start_example("arith.addf"), 1),
        Example(
            reduction_start_example("arith.subf"),
            1,
            refusal="expected each result to be folded by one commutative op that has a neutral "
            "element, but one is folded by arith.subf",
        ),
    )

    def match(self, graph: Graph, op: int) -> ReductionInit | None:
        """A reduction whose inits are constants or broadcasts."""
        found = graph.ops[op]
        if not isinstance(found, Structured) or found.is_elementwise:
            return None
        init_tensors = tuple(constant_init(graph, init) for init in found.inits)
        if all(tensor is None for tensor in init_tensors):
            return None
        folds = is_reassociable(found.body, len(found.results))
        neutrals = tuple(
            neutral(scalar.name, element) if folds and scalar is not None else None
            for scalar, element in zip(
                map(found.body.op_of, found.body.yields),
                found.body.arguments[len(found.sources) :],
                strict=True,
            )
        )
        return ReductionInit(found, init_tensors, neutrals)

    def guard(self, match: ReductionInit) -> Refusal | None:
        """Some result can take its init last."""
        if any(s is not None and n is not None for s, n in _pairs(match)):
            return None
        body = match.op.body
        place = next(i for i, tensor in enumerate(match.init_tensors) if tensor is not None)
        scalar = body.op_of(body.yields[place])
        by = "nothing" if scalar is None else scalar.name
        return Refusal(
            "expected each result to be folded by one commutative op that has a neutral element, "
            f"but one is folded by {by}"
        )

    def exactness_of(self, match: ReductionInit) -> Exactness:
        """Integers are the same in any order."""
        floats = any(map(is_float, match.op.body.arguments[len(match.op.sources) :]))
        return Exactness.REASSOCIATES if floats else Exactness.BIT_EXACT

    def rewrite(self, graph: Graph, match: ReductionInit) -> Expression:
        """The reduction into new tensors, and an elementwise op for each."""
        op = match.op
        inits, results = list(op.inits), list(op.results)
        types: list[TensorType] = []
        behind: list[Structured] = []
        for position, (tensor, value) in enumerate(_pairs(match)):
            folding = op.body.op_of(op.body.yields[position])
            if tensor is None or value is None or folding is None:
                continue
            kind = graph.types[op.results[position]]
            inits[position] = Fill(value)
            results[position] = len(graph.types) + len(types)
            types.append(kind)
            behind.append(
                _combine(folding.name, results[position], tensor, op.results[position], kind)
            )
        reduction = replace(op, inits=tuple(inits), results=tuple(results))
        return Expression(tuple(types), (reduction, *behind))


def _pairs(match: ReductionInit) -> list[tuple[int | None, str | None]]:
    return list(zip(match.init_tensors, match.neutrals, strict=True))


def _combine(name: str, first: int, second: int, result: int, kind: TensorType) -> Structured:
    rank = len(kind.shape)
    element = kind.element
    return Structured(
        (first, second),
        (Uninitialized(),),
        (result,),
        kind.shape,
        (IteratorType.PARALLEL,) * rank,
        (identity_map(rank),) * 3,
        Body((element,) * 3, (ScalarOp(name, (0, 1), element),), (3,)),
    )
