"""Let elementwise ops read what they write over as one more input.

    elementwise(x) writing over b    ->   elementwise(x, b) writing over nothing

For b a constant or a broadcast, see `layoutopt.normalize.constant_init`. Sound where every place
of the result is written: what is not written keeps the init.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.affine import plain_dims
from layoutopt.ir.graph import Graph, Structured, Uninitialized
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body
from layoutopt.normalize.constant_init import constant_init
from layoutopt.normalize.examples import elementwise_start_example
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class ElementwiseInit:
    """An elementwise op and its inits: (place among the results, tensor)."""

    op: Structured
    init_tensors: tuple[tuple[int, int], ...]


class InitToInput:
    """An init as an input."""

    name = "init-to-input"
    summary = "elementwise op that writes over a constant -> elementwise op that reads it"
    argument = "the body reads the same element at each place, and every place is written"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.BIT_EXACT
    part = "init"
    examples = (
        Example(elementwise_start_example(stride=1), 1),
        Example(
            elementwise_start_example(stride=2),
            1,
            refusal="expected every place of the result to be written, for the others keep the "
            "init, but the result map is (d0 * 2)",
        ),
    )

    def match(self, graph: Graph, op: int) -> ElementwiseInit | None:
        """An elementwise op whose inits are constants or broadcasts."""
        found = graph.ops[op]
        if not isinstance(found, Structured) or not found.is_elementwise:
            return None
        init_tensors = tuple(
            (position, tensor)
            for position, init in enumerate(found.inits)
            if (tensor := constant_init(graph, init)) is not None
        )
        whole = tuple(pair for pair in init_tensors if _writes_all(found, pair[0]))
        return ElementwiseInit(found, whole or init_tensors) if init_tensors else None

    def guard(self, match: ElementwiseInit) -> Refusal | None:
        """Every place is written."""
        position, _ = match.init_tensors[0]
        if _writes_all(match.op, position):
            return None
        written = ", ".join(map(str, match.op.result_maps[position]))
        return Refusal(
            "expected every place of the result to be written, for the others keep the init, "
            f"but the result map is ({written})"
        )

    def exactness_of(self, match: ElementwiseInit) -> Exactness:
        """The same scalar ops run."""
        return self.exactness

    def rewrite(self, graph: Graph, match: ElementwiseInit) -> Expression:
        """The same op with more inputs."""
        op = match.op
        for position, tensor in match.init_tensors:
            op = _with_input(op, position, tensor)
        return Expression((), (op,))


def _writes_all(op: Structured, position: int) -> bool:
    written = plain_dims(op.result_maps[position])
    return written is not None and len(written) >= len(op.domain)


def _with_input(op: Structured, position: int, tensor: int) -> Structured:
    count = len(op.sources)
    was = count + position

    def moved(value: int) -> int:
        if value == was:
            return count
        return value if value < count else value + 1

    body = op.body
    arguments = (*body.arguments[:count], body.arguments[was], *body.arguments[count:])
    ops = tuple(replace(o, operands=tuple(map(moved, o.operands))) for o in body.ops)
    inits = (*op.inits[:position], Uninitialized(), *op.inits[position + 1 :])
    return replace(
        op,
        sources=(*op.sources, tensor),
        inits=inits,
        maps=(*op.maps[:count], op.result_maps[position], *op.maps[count:]),
        body=Body(arguments, ops, tuple(map(moved, body.yields))),
    )
