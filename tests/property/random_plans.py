"""Random consistent plans of a graph, and all that they are made of, compared with the model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np

from layoutopt.candidates.candidate import Candidate, physical_form
from layoutopt.candidates.choice import Choice, is_free, needed_conversions
from layoutopt.candidates.conversion import Conversion, conversion_form, lower_packs
from layoutopt.candidates.explore import Space, explore
from layoutopt.ir.graph import Constant, Gather, Graph, Opaque
from layoutopt.ir.layout import Layout
from layoutopt.ir.lowered import Lowered
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.types import Array
from layoutopt.lowering.lower import lower, packs_lowered
from layoutopt.options import Objective
from layoutopt.oracle import evaluate
from layoutopt.planning.free_io import chosen_io, free_tensors, with_one_input_layout
from layoutopt.planning.selection import build_selection
from layoutopt.profiles.target import Target, Tile, load_target
from layoutopt.solver import Search, Status, solve
from tests.planning import with_row_major_ends
from tests.property.forms import outputs_of
from tests.property.layouts import assert_close, small_integers
from tests.property.random_graphs import random_graph

_HOST = load_target("host")
TARGETS: Sequence[tuple[Target, Objective]] = (
    (replace(_HOST, tiles={"f32": (Tile(4, 4, 1), Tile(2, 3, 2, mmt4d=False))}), Objective.LATENCY),
    (replace(_HOST, tiles={"f32": (Tile(8, 4, 1),)}, fuses_pads=False), Objective.LATENCY),
    (replace(_HOST, blocks={"f32": (Tile(4, 4, 4, mmt4d=False),)}), Objective.CONVERSIONS),
)


def model_values(graph: Graph) -> dict[int, Array]:
    """Small integers for what a graph takes; indices lie inside their tables."""
    values = {t: small_integers(graph.types[t], t) for t in graph.inputs}
    for op in graph.ops:
        if isinstance(op, Constant):
            values[op.result] = small_integers(graph.types[op.result], op.result)
            if op.splat is not None:
                values[op.result] = np.full_like(values[op.result], 2)
        if isinstance(op, Gather):
            values[op.indices] = values[op.indices] % graph.types[op.table].shape[op.axis]
    return values


def assert_memory(layout: Layout, memory: Array, wanted: Array) -> None:
    """The memory of a tensor in a layout, with the padding that the layout has."""
    assert memory.shape == layout.physical_shape(wanted.shape)
    assert_close(layout.undo(memory, wanted.shape), wanted)
    if layout.padding is not Padding.ANY and layout.pads(wanted.shape):
        inside = layout.apply(np.ones(wanted.shape, bool), False)
        assert np.array_equal(memory[~inside], layout.apply(wanted)[~inside])


def check_candidates(space: Space, values: dict[int, Array]) -> list[Candidate]:
    """Hold every candidate against the model; those that have a form."""
    graph, found = space.egraph.graph, []
    for candidate in space.candidates:
        cluster = space.clusters[candidate.cluster]
        form = physical_form(graph, cluster, candidate)
        if isinstance(form, Refusal):
            continue
        found.append(candidate)
        for tensor, layout, memory in outputs_of(cluster, candidate, form, values):
            assert_memory(layout, memory, values[tensor])
    return found


def check_conversion(graph: Graph, conversion: Conversion, values: dict[int, Array]) -> None:
    """Hold a conversion against its tensor, in both of its forms."""
    tensor, source, goal = conversion.tensor, conversion.source, conversion.target
    form = conversion_form(graph, conversion)
    for built in (form.graph, lower_packs(form.graph)):
        memory = evaluate(built, {form.inputs[0]: source.apply(values[tensor])})
        assert_memory(goal, memory[form.outputs[0]], values[tensor])


def random_choice(
    space: Space, candidates: Sequence[Candidate], random: Random, free: Sequence[int]
) -> Choice | None:
    """A consistent plan under random prices; None where a heuristic finds none."""
    graph = space.egraph.graph
    costs = {c: random.randint(1, 1000) for c in candidates}
    needed = needed_conversions(graph, space.clusters, candidates, free)
    changes = {c: 0 if is_free(graph, c) else random.randint(1, 300) for c in needed}
    selection = build_selection(graph, space.clusters, costs, changes, free)
    solution = solve(selection.problem, random.choice((Search.GREEDY, Search.ILP)))
    if solution.status is Status.UNKNOWN:
        return None  # the greedy search takes no choice back
    assert solution.status is not Status.INFEASIBLE
    return selection.choice(solution.candidates, solution.conversions)


def check_plan(space: Space, choice: Choice, free: bool, values: dict[int, Array]) -> Lowered:
    """Hold a whole plan against the model; with free inputs and outputs in their layouts."""
    graph, io = space.egraph.graph, {}
    if free:
        io = chosen_io(graph, space.clusters, choice)
        choice = with_one_input_layout(graph, space.clusters, choice, io)
        plain = with_row_major_ends(graph, choice, io)
        _check_outputs(lower(graph, space.clusters, plain), {}, values)
    lowered = lower(graph, space.clusters, choice, io)
    _check_outputs(lowered, io, values)
    _check_outputs(packs_lowered(lowered), io, values)
    return lowered


def _check_outputs(lowered: Lowered, io: dict[int, Layout], values: dict[int, Array]) -> None:
    taken = {}
    for tensor, place in lowered.inputs.items():
        array = values[tensor]
        taken[place] = io[tensor].apply(array).reshape(array.shape) if tensor in io else array
    for weight in lowered.hoisted:
        given = {weight.inputs[t]: values[t] for t in weight.inputs}
        taken[weight.planned_tensor] = evaluate(weight.graph, given)[weight.result]
    made = evaluate(without_leaves(lowered.graph), taken)
    for tensor, place in lowered.outputs.items():
        wanted = values[tensor]
        if tensor in io and tensor not in lowered.inputs:
            wanted = io[tensor].apply(wanted).reshape(wanted.shape)
        assert_close(made[place], wanted)


def without_leaves(graph: Graph) -> Graph:
    """The graph without what its inputs hold: constants, and results of ops not seen through."""
    ops = tuple(op for op in graph.ops if not isinstance(op, Constant | Opaque))
    return replace(graph, ops=ops)


def check_graph(graph: Graph, random: Random) -> Lowered | None:
    """Hold all candidates and conversions of a graph, and a random plan, against the model."""
    target, objective = random.choice(TARGETS)
    space = explore(graph, target, objective)
    values = evaluate(space.egraph.graph, model_values(graph))
    candidates = check_candidates(space, values)
    everything = space.egraph.graph
    free = free_tensors(everything) if random.randint(0, 1) else ()
    for conversion in needed_conversions(everything, space.clusters, candidates, free):
        check_conversion(everything, conversion, values)
    choice = random_choice(space, candidates, random, free)
    return None if choice is None else check_plan(space, choice, bool(free), values)


def main() -> None:
    """Check as many plans, each of another graph; exit with 1 where one computes something else."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first graph")
    chosen = parser.parse_args()
    seed, planned = chosen.seed, 0
    while planned < chosen.plans:
        random = Random(seed)
        try:
            planned += check_graph(random_graph(random), random) is not None
        except AssertionError as error:
            sys.exit(f"seed {seed}: {error}")
        seed += 1
    print(f"{planned} plans of {seed - chosen.seed} graphs compute what their graphs compute")


if __name__ == "__main__":
    main()
