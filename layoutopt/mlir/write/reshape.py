"""Write a change of shape as the collapses and expands that MLIR has."""

from __future__ import annotations

import itertools
import math

from layoutopt.ir.layout import row_major_strides
from layoutopt.ir.reassociation import reassociation
from layoutopt.ir.size import Size
from layoutopt.ir.size_values import list_text
from layoutopt.ir.types import TensorType

Shape = tuple[int, ...]


def reshape_lines(name: str, source: TensorType, result: str, goal: TensorType) -> list[str]:
    """Lines of MLIR that make ``result`` of type ``goal`` from the value ``name``."""
    lines: list[str] = []
    here, there = _in_one_size(source.shape, goal.shape)
    source = TensorType(here, source.element)
    shapes = reshape_steps(here, there)
    for step, shape in enumerate(shapes):
        target = TensorType(shape, source.element)
        made = result if step == len(shapes) - 1 else f"{result}_step{step}"
        if len(shape) == len(source.shape):
            lines.append(f"  {made} = tensor.cast {name} : {source} to {target}")
        elif len(shape) < len(source.shape):
            groups = _groups(shape, source.shape)
            lines.append(
                f"  {made} = tensor.collapse_shape {name} {groups} : {source} into {target}"
            )
        else:
            groups = _groups(source.shape, shape)
            lines.append(
                f"  {made} = tensor.expand_shape {name} {groups} output_shape {list_text(shape)} : "
                f"{source} into {target}"
            )
        name, source = made, target
    return lines


def _in_one_size(source: Shape, result: Shape) -> tuple[Shape, Shape]:
    """Both shapes in terms of one open size, where each has one: they have equally many elements.

    What a size is computed from may not tell that: 8 p = 4 q says that q is 2 p.
    """
    (open_source, known_source), (open_result, known_result) = map(_parted, (source, result))
    if len(open_source) != 1 or len(open_result) != 1 or not known_source or not known_result:
        return source, result
    if known_source % known_result == 0:
        told = open_source[0] * (known_source // known_result)
        return source, tuple(told if isinstance(n, Size) else n for n in result)
    if known_result % known_source == 0:
        told = open_result[0] * (known_result // known_source)
        return tuple(told if isinstance(n, Size) else n for n in source), result
    return source, result


def _parted(shape: Shape) -> tuple[list[int], int]:
    """The open sizes of a shape, and the product of the others."""
    return (
        [n for n in shape if isinstance(n, Size)],
        math.prod(n for n in shape if not isinstance(n, Size)),
    )


def _undivided(source: Shape, result: Shape) -> list[Shape]:
    """Steps where nothing that is known tells which dims make which."""
    if not source or not result:
        return [(1,) * len(source or result), result]
    if len(source) == 1 or len(result) == 1:
        return [result]
    return [(math.prod(source),), result]


def _is_one_step(source: Shape, result: Shape) -> bool:
    return source == result or _is_collapse(source, result) or _is_collapse(result, source)


def _groups(coarse: Shape, fine: Shape) -> list[list[int]]:
    """Which dims of ``fine`` make each dim of ``coarse``: all of them the only one, if unknown."""
    found = reassociation(coarse, fine)
    return [list(range(len(fine)))] if found is None else found


def reshape_steps(source: Shape, result: Shape) -> list[Shape]:
    """Shapes on the way from ``source`` to ``result``, each one collapse or expand apart.

    Or a cast, where both are sizes of which it is not known that they are equal.
    """
    if _is_one_step(source, result):
        return [result]
    if not source or not result:
        return _undivided(source, result)
    steps: list[Shape] = []
    for shape in (_without_units(source), _between(source, result), _without_units(result), result):
        if shape != (steps[-1] if steps else source):
            steps.append(shape)
    told = all(_is_one_step(*pair) for pair in itertools.pairwise((source, *steps)))
    return steps if told else _undivided(source, result)


def _is_collapse(coarse: Shape, fine: Shape) -> bool:
    return reassociation(coarse, fine) is not None


def _between(source: Shape, result: Shape) -> Shape:
    """All dims of both, cut at every boundary; where boundaries cross, at the common ones only.

    (2, 12) and (6, 4) meet in (2, 3, 4); (4, 6) and (6, 4) in (24,). Of shapes with open sizes
    only the dims that both begin and end with are told apart.
    """
    if any(isinstance(n, Size) for n in source):
        return _between_ends(source, result)
    cuts = [
        {s for s, n in zip(row_major_strides(shape), shape, strict=True) if n != 1}
        for shape in (source, result)
    ]
    for shared in (cuts[0] | cuts[1], cuts[0] & cuts[1]):
        bounds = sorted({*shared, math.prod(source)}, reverse=True)
        pairs = list(itertools.pairwise(bounds))
        if all(high % low == 0 for high, low in pairs):
            return tuple(high // low for high, low in pairs)
    raise AssertionError("the boundaries of one shape divide each other")


def _between_ends(source: Shape, result: Shape) -> Shape:
    """The dims that both begin and end with, and one for all between."""
    first = 0
    while first < min(len(source), len(result)) and source[first] == result[first]:
        first += 1
    last = 0
    most = min(len(source), len(result)) - first
    while last < most and source[-1 - last] == result[-1 - last]:
        last += 1
    end = len(source) - last
    return (*source[:first], math.prod(source[first:end]), *source[end:])


def _without_units(shape: Shape) -> Shape:
    return tuple(n for n in shape if n != 1)
