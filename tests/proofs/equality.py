"""Whether two elements are equal for all values of what the graphs are given."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import z3

from layoutopt.ir.scalar import ScalarOp, is_contraction
from layoutopt.ir.types import Array
from layoutopt.oracle.constant import constant
from layoutopt.oracle.scalar import apply as evaluated
from layoutopt.rules.rewrites.interior_padding import is_same, is_zero, typed
from tests.proofs.arrays import Index
from tests.proofs.elements import Apply, Constant, Element, Fold, Read, applied
from tests.proofs.paths import DisprovedError, Number, Paths, term


def prove_equal(paths: Paths, here: Element, there: Element) -> None:
    """The same operations on the same elements in the same order."""
    match here, there:
        case Read(), Read():
            if here.tensor != there.tensor:
                raise DisprovedError(f"tensor {here.tensor} is read as tensor {there.tensor}")
            same = [term(i) == term(j) for i, j in zip(here.index, there.index, strict=True)]
            paths.prove(z3.And(same), f"the element that is read of tensor {here.tensor}")
        case Constant(), Constant():
            if here.text != there.text and not _same_number(here.text, there.text):
                raise DisprovedError(f"{here.text} in place of {there.text}")
        case Apply(), Apply():
            if (here.name, here.type, len(here.operands)) != (
                there.name,
                there.type,
                len(there.operands),
            ) or here.attributes != there.attributes:
                raise DisprovedError(f"{here.name} in place of {there.name}")
            for one, other in zip(here.operands, there.operands, strict=True):
                prove_equal(paths, one, other)
        case Fold(), Fold():
            _prove_equal_folds(paths, here, there)
        case Fold(), _:
            prove_equal(paths, _unrolled(here), there)
        case Apply(), Constant():
            prove_equal(paths, _evaluated(here), there)
        case Constant(), Apply():
            prove_equal(paths, here, _evaluated(there))
        case _:
            raise DisprovedError(f"{here} in place of {there}")


def prove_same_products(paths: Paths, here: Fold, there: Element, named_by: int) -> None:
    """A sum of products, and one of those of them that are not zero by a factor that is.

    Each product is named by the element that it reads of factor ``named_by``. Every product of
    either sum without a factor zero is one of the other, and no two have one name.
    """
    assert is_contraction(here.body)
    if not isinstance(there, Fold):
        prove_equal(paths, here.start, there)
        if _is_product(here, _point(paths, here)):
            raise DisprovedError("a product that nothing adds up")
        return
    if there.body != here.body:
        raise DisprovedError("another body")
    prove_equal(paths, here.start, there.start)
    # One after the other: what is assumed of the first point must not bear on the second.
    first, second = (here, there) if paths.either() else (there, here)
    point = _point(paths, first)
    if _is_product(first, point):
        _found_in(paths, [first.at(p, point) for p in (0, 1)], second, named_by)


def _found_in(paths: Paths, factors: Sequence[Element], fold: Fold, named_by: int) -> None:
    named = factors[named_by]
    assert isinstance(named, Read)
    point = _witness(paths, fold, named, named_by)
    for at, n in zip(point, fold.sizes, strict=True):
        paths.prove(z3.And(term(at) >= 0, term(at) < term(n)), "a product that is added up there")
    for position, factor in enumerate(factors):
        prove_equal(paths, factor, fold.at(position, point))


def _is_product(fold: Fold, point: Index) -> bool:
    for position, kind in enumerate(fold.body.arguments[:2]):
        factor = fold.at(position, point)
        if isinstance(factor, Constant) and is_zero(typed(factor.text, kind), kind):
            return False
    return True


def _point(paths: Paths, fold: Fold) -> Index:
    return tuple(paths.symbol("k", 0, n) for n in fold.sizes)


def _witness(paths: Paths, fold: Fold, named: Read, position: int) -> Index:
    """The one point where the fold reads an element of the factor that names its products.

    Each loop is solved for along a dim that moves with it alone, so no two points read the same.
    """
    long = [paths.holds(term(n) > 1) for n in fold.sizes]
    origin = _index(fold, position, (0,) * len(long))
    moves = [
        [m - o for m, o in zip(_index(fold, position, _unit(loop, len(long))), origin, strict=True)]
        if moving
        else [0] * len(origin)
        for loop, moving in enumerate(long)
    ]
    point = []
    for loop, moving in enumerate(long):
        alone = (a for a in range(len(origin)) if [m[a] != 0 for m in moves] == _only(loop, moves))
        axis = next(alone, None) if moving else None
        if moving and axis is None:
            raise DisprovedError(f"reduction loop {loop} does not name its products")
        found = 0 if axis is None else (named.index[axis] - origin[axis]) // moves[loop][axis]
        point.append(found)
    return tuple(point)


def _only(loop: int, moves: Sequence[object]) -> list[bool]:
    return [i == loop for i in range(len(moves))]


def _unit(loop: int, rank: int) -> Index:
    return tuple(int(d == loop) for d in range(rank))


def _index(fold: Fold, position: int, point: Index) -> Index:
    found = fold.at(position, point)
    assert isinstance(found, Read)
    return found.index


def _prove_equal_folds(paths: Paths, here: Fold, there: Fold) -> None:
    if here.body != there.body or len(here.sizes) != len(there.sizes):
        raise DisprovedError("another body, or other reduction loops")
    for n, m in zip(here.sizes, there.sizes, strict=True):
        paths.prove(term(n) == term(m), "the size of a reduction loop")
    prove_equal(paths, here.start, there.start)
    point = _point(paths, here)
    for position in range(len(here.body.arguments) - 1):
        if here.body.used(position):
            prove_equal(paths, here.at(position, point), there.at(position, point))


def _unrolled(fold: Fold) -> Element:
    """The body at one point after another, in the order of the loops."""
    assert not any(isinstance(n, Number) for n in fold.sizes)
    value = fold.start
    for point in itertools.product(*map(range, fold.sizes)):
        reads = [
            fold.at(p, point) if fold.body.used(p) else Constant("not read")
            for p in range(len(fold.body.arguments) - 1)
        ]
        value = applied(fold.body, (*reads, value))
    return value


def _evaluated(element: Element) -> Constant:
    """A scalar op on constants alone, as the oracle computes it."""
    if isinstance(element, Constant):
        return element
    if not isinstance(element, Apply):
        raise DisprovedError(f"{element} in place of a constant")
    values = [_number(_evaluated(o).text) for o in element.operands]
    op = ScalarOp(element.name, tuple(range(len(values))), element.type, element.attributes)
    found = evaluated(op, values)
    assert found is not None
    return Constant(f"{float(found)!r} : {element.type}")


def _number(text: str) -> Array:
    found = constant(text, text.split(": ")[1])
    assert found is not None
    return found


def _same_number(one: str, other: str) -> bool:
    kinds = {text.split(": ")[1] for text in (one, other) if ": " in text}
    return len(kinds) == 1 and is_same(one, other, kinds.pop())
