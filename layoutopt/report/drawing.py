"""The plan as a layered drawing: nodes are clusters, edges tensors, marked where they convert.

Layers are the longest paths from the inputs. A tensor that crosses layers gets a lane through them,
and the order within a layer follows the neighbours' mean place (Sugiyama, Tagawa and Toda, 1981).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import networkx as nx

from layoutopt.report.report import ChoiceReport, ConversionReport, Report

WIDTH, HEIGHT = 190, 34
"""Of a node, in pixels."""
_STEP_X, _STEP_Y, _LANE_X, _MARGIN = 220, 62, 40, 10
_SWEEPS = 4
_Spot = tuple[int, str, int]
"""A node and its layer, with no tensor; or the lane of one of its tensors in a layer below."""


@dataclass(frozen=True, slots=True)
class Node:
    """A cluster of the plan, an input or an output, with its upper left corner."""

    index: int | None
    """Its place among the report's choices; None for what stands outside the model."""
    name: str
    layout: str
    """Of the first tensor that it makes."""
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Edge:
    """A tensor on its way from one layer to the next."""

    tensor: str
    points: tuple[tuple[int, int], ...]
    conversion: ConversionReport | None


@dataclass(frozen=True, slots=True)
class Drawing:
    """One function, in pixels."""

    function: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class _Link:
    source: int
    target: int
    tensor: str
    conversion: ConversionReport | None


def drawings(report: Report) -> Iterator[Drawing]:
    """One drawing per planned function, in the order of the report."""
    for function in dict.fromkeys(c.function for c in report.choices):
        yield _drawing(report, function)


def layout_counts(report: Report) -> list[tuple[str, int]]:
    """How many clusters make their first tensor in each layout, the most frequent first."""
    counts = Counter(_layout(c) for c in report.choices)
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _layout(choice: ChoiceReport) -> str:
    made = [choice.layouts[t] for t in choice.makes if t in choice.layouts]
    return made[0] if made else "row-major"


def _drawing(report: Report, function: str) -> Drawing:
    places = [i for i, c in enumerate(report.choices) if c.function == function]
    choices = [report.choices[i] for i in places]
    conversions = [c for c in report.conversions if c.function == function]
    links, outside = _links(choices, conversions)
    layers, steps = _layers(len(choices) + len(outside), links)
    _order(layers, steps)
    corners, width = _corners(layers)
    nodes = []
    for (node, tensor, _), (x, y) in sorted(corners.items()):
        if tensor:
            continue
        if node < len(choices):
            choice = choices[node]
            nodes.append(Node(places[node], choice.op, _layout(choice), x, y))
        else:
            nodes.append(Node(None, outside[node - len(choices)], "row-major", x, y))
    edges = [
        Edge(link.tensor, _points(upper, lower, corners), link.conversion)
        for (upper, lower), link in steps.items()
    ]
    height = len(layers) * _STEP_Y + 2 * _MARGIN
    return Drawing(function, tuple(nodes), tuple(edges), width, height)


def _links(
    choices: Sequence[ChoiceReport], conversions: Sequence[ConversionReport]
) -> tuple[list[_Link], list[str]]:
    """Who reads what from whom; names of what stands outside: inputs and converted outputs."""
    makers: dict[str, list[int]] = {}
    for index, choice in enumerate(choices):
        for tensor in choice.makes:
            makers.setdefault(tensor, []).append(index)
    outside: list[str] = []
    inputs: dict[str, int] = {}
    left = {(_tensor(c), c.target): c for c in conversions}
    found: list[_Link] = []
    for index, choice in enumerate(choices):
        for tensor, layout in choice.layouts.items():
            if tensor in choice.makes:
                continue
            conversion = left.get((tensor, layout))
            wanted = conversion.source if conversion is not None else layout
            made = makers.get(tensor, [])
            if not made and tensor not in inputs:
                inputs[tensor] = len(choices) + len(outside)
                outside.append(f"input {tensor}")
            fitting = [m for m in made if choices[m].layouts.get(tensor) == wanted]
            source = (fitting or made or [inputs.get(tensor, -1)])[0]
            found.append(_Link(source, index, tensor, conversion))
    read = {(link.tensor, choices[link.target].layouts[link.tensor]) for link in found}
    for (tensor, layout), conversion in left.items():
        if (tensor, layout) not in read and tensor in makers:
            found.append(_Link(makers[tensor][0], len(choices) + len(outside), tensor, conversion))
            outside.append(f"output {tensor}")
    return found, outside


def _tensor(conversion: ConversionReport) -> str:
    return conversion.tensor.partition(":")[0]


def _layers(
    count: int, links: Sequence[_Link]
) -> tuple[list[list[_Spot]], dict[tuple[_Spot, _Spot], _Link]]:
    """What stands in each layer, and the steps from layer to layer that links consist of.

    Links of one tensor share its lane; a step towards a node belongs to that node's link.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from((link.source, link.target) for link in links)
    layers: list[list[_Spot]] = []
    depth: dict[int, int] = {}
    for number, generation in enumerate(nx.topological_generations(graph)):
        layers.append([(node, "", number) for node in sorted(generation)])
        depth |= dict.fromkeys(generation, number)
    steps: dict[tuple[_Spot, _Spot], _Link] = {}
    for link in sorted(links, key=lambda link: depth[link.target]):
        first, last = depth[link.source], depth[link.target]
        upper: _Spot = (link.source, "", first)
        for layer in range(first + 1, last):
            lane = (link.source, link.tensor, layer)
            if (upper, lane) not in steps:
                layers[layer].append(lane)
                steps[upper, lane] = replace(link, conversion=None)
            upper = lane
        steps[upper, (link.target, "", last)] = link
    return layers, steps


def _order(layers: list[list[_Spot]], steps: Iterable[tuple[_Spot, _Spot]]) -> None:
    """Order each layer by the mean place of its neighbours, downwards and upwards in turns."""
    above: dict[_Spot, list[_Spot]] = {}
    below: dict[_Spot, list[_Spot]] = {}
    for upper, lower in steps:
        above.setdefault(lower, []).append(upper)
        below.setdefault(upper, []).append(lower)
    place = {s: p - len(layer) / 2 for layer in layers for p, s in enumerate(layer)}
    for sweep in range(_SWEEPS):
        upwards = sweep % 2
        mean = partial(_mean, place=place, neighbours=below if upwards else above)
        for layer in reversed(layers) if upwards else layers:
            layer.sort(key=mean)
            place.update((s, p - len(layer) / 2) for p, s in enumerate(layer))


def _mean(spot: _Spot, place: dict[_Spot, float], neighbours: dict[_Spot, list[_Spot]]) -> float:
    near = neighbours.get(spot)
    return sum(place[s] for s in near) / len(near) if near else place[spot]


def _corners(layers: Sequence[Sequence[_Spot]]) -> tuple[dict[_Spot, tuple[int, int]], int]:
    """The upper left corner of each spot, every layer in the middle; and the whole width."""
    widths = [sum(map(_step, layer)) for layer in layers]
    found: dict[_Spot, tuple[int, int]] = {}
    for y, (layer, width) in enumerate(zip(layers, widths, strict=True)):
        x = (max(widths) - width) // 2 + _MARGIN
        for spot in layer:
            found[spot] = (x, y * _STEP_Y + _MARGIN)
            x += _step(spot)
    return found, max(widths) + 2 * _MARGIN


def _step(spot: _Spot) -> int:
    return _LANE_X if spot[1] else _STEP_X


def _points(
    upper: _Spot, lower: _Spot, corners: dict[_Spot, tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """From the foot of a node, or all along a lane, to the top of the next spot."""
    x, y = _top(upper, corners)
    foot = (x, y + HEIGHT)
    start = ((x, y), foot) if upper[1] else (foot,)
    return (*start, _top(lower, corners))


def _top(spot: _Spot, corners: dict[_Spot, tuple[int, int]]) -> tuple[int, int]:
    x, y = corners[spot]
    return (x + (_LANE_X if spot[1] else WIDTH) // 2, y)
