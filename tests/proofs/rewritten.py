"""Hold a rule's rewrite of a graph to what the graph computed before."""

from __future__ import annotations

from typing import Any

from layoutopt.ir.graph import Graph
from layoutopt.rules.rule import Expression, RewriteRule, apply
from tests.proofs.elements import Elements, Fold
from tests.proofs.equality import prove_equal, prove_same_products
from tests.proofs.paths import Paths
from tests.proofs.table import Case


def prove_rewrite(rule: RewriteRule[Any], case: Case, named_by: int | None) -> int:
    """Raises DisprovedError where the first output is another one; says how often it fired.

    The op that makes it is the one to rewrite.
    """
    fired = 0

    def follow(paths: Paths) -> None:
        nonlocal fired
        graph = case(paths)
        result = graph.outputs[0]
        (place,) = graph.producers[result]
        found = apply(rule, graph, place)
        if not isinstance(found, Expression):
            return
        fired += 1
        after = Graph(
            (*graph.types, *found.types), (*graph.ops[:place], *found.ops), graph.inputs, (result,)
        )
        index = tuple(paths.symbol("i", 0, n) for n in graph.types[result].shape)
        here = Elements(paths, graph).at(result, index)
        there = Elements(paths, after).at(result, index)
        if named_by is None:
            prove_equal(paths, here, there)
        else:
            assert isinstance(here, Fold)
            prove_same_products(paths, here, there, named_by)

    Paths().every(follow)
    return fired
