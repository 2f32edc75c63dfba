"""A matrix product as seven products of halves.

    y = x . w   ->   y_q = sum over r of C[q, r] p_r,   p_r = (A x)_r . (B w)_r

where x, w and y are in four parts each, two along each of their loops (V. Strassen, *Gaussian
Elimination is not Optimal*, 1969): an eighth of the multiplications is saved for passes over what
is added up. Sums of constant weights are made ahead of time; they take seven quarters of the
weights' memory. Rows are dealt out in turn, so that all that a row and the next one are made of
lies close by; terms and columns are cut in the middle.

Sound because both sides are the same polynomial in the elements; only rounding differs (Higham,
*Accuracy and Stability of Numerical Algorithms*, 2nd ed., section 23.2.2). Assumes no Inf or NaN:
one of them spreads to other parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress, pairwise

from layoutopt.ir.affine import IndexMap, identity_map, plain_map
from layoutopt.ir.graph import (
    Graph,
    GraphBuilder,
    IteratorType,
    Pad,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.minimal_filtering import Matrix, matrix
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, copy_body
from layoutopt.rules.rewrites.examples import counted
from layoutopt.rules.rewrites.product import Loops, Product, contraction, points, product_of
from layoutopt.rules.rewrites.separable import body_of_selected_sum, separable
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression, over_budget

LEFT: Matrix = matrix("1 0 0 1; 0 0 1 1; 1 0 0 0; 0 0 0 1; 1 1 0 0; -1 0 1 0; 0 1 0 -1")
"""A: for each product what it multiplies of the parts 11, 12, 21, 22 of the first factor."""
RIGHT: Matrix = matrix("1 0 0 1; 1 0 0 0; 0 1 0 -1; -1 0 1 0; 0 0 0 1; 1 1 0 0; 0 0 1 1")
"""B: the same of the second factor."""
RESULT: Matrix = matrix("1 0 0 1 -1 0 1; 0 0 1 0 1 0 0; 0 1 0 1 0 0 0; 1 -1 1 0 0 1 0")
"""C: for each part of the result the products that it is the sum of."""

_PARTS = ((0, 0), (0, 1), (1, 0), (1, 1))
"""Where a part lies along the two halved loops of its tensor."""


@dataclass(frozen=True, slots=True)
class Halved:
    """A product from zero, and its loops that are halved."""

    product: Product
    loops: tuple[Loops, Loops, Loops]
    """Those of the product, with one for all that lie side by side throughout."""
    sizes: Mapping[int, int]
    rows: int
    """Of the first factor and of the result."""
    terms: int
    columns: int
    """Of the second factor and of the result."""
    dealt: int
    """The one of which every other point is in a part: of what is computed, not of weights."""
    elements: tuple[str, ...]
    added: int
    """Elements of the tensors that are added up at run time."""
    fewest: int
    """Rows or columns, of which there are fewer."""


def _example(sizes: tuple[int, int, int], element: str = "f32", *, constant: bool = True) -> Graph:
    """``matmul`` of x (tensor 0) and w (tensor 1) into y: of so many rows, terms and columns."""
    builder = GraphBuilder()
    rows, terms, columns = sizes
    shapes = ((rows, terms), (terms, columns), (rows, columns))
    x, w, y = (builder.tensor(shape, element) for shape in shapes)
    if constant:
        builder.add(counted(w, (terms, columns)))
    loops = ((0, 2), (2, 1), (0, 1))
    builder.add(contraction((x, w), loops, y, {0: rows, 1: columns, 2: terms}, (element,) * 3))
    return builder.build((x,) if constant else (x, w), (y,))


class ContractionToStrassen:
    """Contraction -> sums of parts and seven contractions of half the size along each loop."""

    name = "contraction-to-strassen"
    summary = "contraction -> Strassen's seven contractions of halves, and sums of parts"
    argument = "both sides are the same polynomial in the elements of both factors"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.APPROXIMATES
    canonicalizes = False
    least = 256
    """Multiplications for each element that is added up, at least. On a core with AVX-512, 128 rows
    take 10 % less by 768 by 768 (384 multiplications), 6 % by 512 by 512 (256) and by 768 by 3072
    (614). The convolutions of ResNet-50 with 102 to 205 take as long as without."""
    shortest = 64
    """Rows and columns at least: each product reads weights of its own, half as often."""
    examples = (
        Example(_example((64, 512, 512)), 1),
        Example(
            _example((63, 512, 512)),
            1,
            refusal="expected at least 64 rows and columns, for every product reads weights of its "
            "own, but got 63",
        ),
        Example(
            _example((64, 512, 512), constant=False),
            0,
            refusal="expected at most 65536 elements that are added up, the budget of 256 "
            "multiplications each, but got 327680",
        ),
        Example(
            _example((64, 512, 512), "f16", constant=False),
            0,
            refusal="expected f32 or f64 throughout, for sums of parts lose digits, but got f16, "
            "f16, f16",
        ),
    )

    def match(self, graph: Graph, op: int) -> Halved | None:
        """A product with loops of rows, of terms and of columns, all but one of two halves."""
        product = product_of(graph.ops[op])
        if product is None or not product.starts_from_zero(graph):
            return None
        if product.result in graph.constants:
            return None
        loops, sizes = _merged(product)
        first, second, result = map(frozenset, loops)
        roles = (first & result - second, first & second - result, second & result - first)
        own = [tensor not in graph.constants for tensor in product.factors]
        halved = (
            _longest(sizes, (d for d in order if d in role), odd=odd)
            for role, order, odd in zip(
                roles, (loops[0], loops[0], loops[1]), (own[0], False, own[1]), strict=True
            )
        )
        rows, terms, columns = halved
        if rows is None or terms is None or columns is None:
            return None
        kinds = tuple(graph.types[t].element for t in (*product.factors, product.result))
        added = sum(points(sizes, tensor) for tensor in (*compress(loops, own), loops[2]))
        fewest = min(points(sizes, role) for role in (roles[0], roles[2]))
        computed = list(compress((rows, columns), own)) or [rows, columns]
        dealt = min(computed, key=loops[2].index)
        return Halved(product, loops, sizes, rows, terms, columns, dealt, kinds, added, fewest)

    def guard(self, match: Halved) -> Refusal | None:
        """Numbers that bear other roundings, and loops that are long enough to pay."""
        if len(set(match.elements)) > 1 or match.elements[0] not in ("f32", "f64"):
            return Refusal(
                "expected f32 or f64 throughout, for sums of parts lose digits, but got "
                f"{', '.join(match.elements)}"
            )
        if match.fewest < self.shortest:
            return Refusal(
                f"expected at least {self.shortest} rows and columns, for every product reads "
                f"weights of its own, but got {match.fewest}"
            )
        most = points(match.sizes, match.sizes) // self.least
        return over_budget(
            match.added, most, "elements that are added up", f"{self.least} multiplications each"
        )

    def rewrite(self, graph: Graph, match: Halved) -> Expression:
        """Sums of parts, their products, and sums of these."""
        return _Rewriting(graph, match).run()


def _merged(product: Product) -> tuple[tuple[Loops, Loops, Loops], dict[int, int]]:
    """The loops of a product, with one for those that follow each other wherever they are.

    It has the number of the first of them. Loops of open sizes stay as they are.
    """
    sizes = dict(product.sizes)
    loops = list(product.loops)
    pairs = {pair for tensor in loops for pair in pairwise(tensor)}
    for one, other in sorted(pairs, reverse=True):
        together = one in sizes and all(_is_followed(tensor, one, other) for tensor in loops)
        if together and type(sizes[one]) is int and type(sizes[other]) is int:
            sizes[one] *= sizes.pop(other)
            loops = [tuple(d for d in tensor if d != other) for tensor in loops]
    first, second, result = loops
    return (first, second, result), sizes


def _is_followed(tensor: Loops, one: int, other: int) -> bool:
    """Whether a tensor has both loops, the second right behind the first, or none of them."""
    if one not in tensor or other not in tensor:
        return one not in tensor and other not in tensor
    return tensor.index(other) == tensor.index(one) + 1


def _longest(sizes: Mapping[int, int], loops: Iterable[int], *, odd: bool) -> int | None:
    """The longest loop that has two halves.

    ``odd``: or that gets them by one more point, where all are odd.
    """
    long = [d for d in loops if type(sizes[d]) is int and sizes[d] > 1]
    even = [d for d in long if sizes[d] % 2 == 0] or (long if odd else [])
    return max(even, key=sizes.__getitem__, default=None)


class _Rewriting:
    def __init__(self, graph: Graph, match: Halved) -> None:
        self.graph = graph
        self.match = match
        self.element = match.elements[0]
        self.builder = GraphBuilder(len(graph.types))
        self.halved = (match.rows, match.terms, match.columns)
        self.sizes = {d: -(-n // 2) if d in self.halved else n for d, n in match.sizes.items()}
        """Of the loops of one part."""
        first, second, result = match.loops
        other = match.columns if match.dealt == match.rows else match.rows
        self.loops = (
            _in_order(first, match.rows, match.terms),
            _in_order(second, match.terms, match.columns),
            _in_order(result, match.dealt, other),
        )
        """Of both factors and of the result, in the order of a matmul."""

    def run(self) -> Expression:
        match = self.match
        lefts = self._sums(LEFT, 0, (match.rows, match.terms))
        rights = self._sums(RIGHT, 1, (match.terms, match.columns))
        products = []
        for factors in zip(lefts, rights, strict=True):
            product = self._tensor(self.sizes[d] for d in self.loops[2])
            kinds = (self.element,) * 3
            self.builder.add(contraction(factors, self.loops, product, self.sizes, kinds))
            products.append(product)
        self._put_together(products)
        return Expression(tuple(self.builder.types), tuple(self.builder.ops), atomic=True)

    def _tensor(self, shape: Iterable[int]) -> int:
        return self.builder.tensor(shape, self.element)

    def _sums(self, matrix: Matrix, position: int, halved: tuple[int, int]) -> list[int]:
        """For each product a part of a factor, or a sum of parts."""
        loops = self.loops[position]
        shape = tuple(self.sizes[d] for d in loops)
        whole = self._even(position)
        parts = [
            self._part(whole, loops, dict(zip(halved, place, strict=True))) for place in _PARTS
        ]

        def part(index: tuple[int, ...]) -> tuple[int, IndexMap]:
            return parts[index[0]], identity_map(len(shape))

        made: list[int] = []
        sums: dict[tuple[int, ...], int] = {}
        for r, row in enumerate(matrix):
            if [c for c in row if c] == [1]:
                made.append(parts[row.index(Fraction(1))])
            else:
                sums[(r,)] = self._tensor(shape)
                made.append(sums[(r,)])
        together = [sums]
        if self.match.product.factors[position] in self.graph.constants:
            together = [{index: result} for index, result in sums.items()]  # laid out one by one
        for results in together:
            self.builder.add(separable((matrix,), results, part, shape, self.element))
        return made

    def _even(self, position: int) -> int:
        """A factor in the order of a matmul, with zeros behind a halved loop of odd size."""
        sizes = self.match.sizes
        tensor, own = self.match.product.factors[position], self.match.loops[position]
        merged = tuple(sizes[d] for d in own)
        if merged != self.graph.types[tensor].shape:
            whole, tensor = tensor, self._tensor(merged)
            self.builder.add(Reshape(whole, tensor))
        loops = self.loops[position]
        if own != loops:
            before, tensor = tensor, self._tensor(sizes[d] for d in loops)
            self._permute(before, own, tensor, loops)
        high = tuple(int(d in self.halved and sizes[d] % 2 == 1) for d in loops)
        if any(high):
            narrow = tensor
            tensor = self._tensor(sizes[d] + more for d, more in zip(loops, high, strict=True))
            zero = f"0.0 : {self.element}"
            self.builder.add(Pad(narrow, tensor, (0,) * len(loops), high, zero))
        return tensor

    def _part(self, tensor: int, loops: Loops, place: Mapping[int, int]) -> int:
        """One part of a factor. ``place``: along each of the loops that are halved."""
        dealt = self.match.dealt
        part = self._tensor(self.sizes[d] for d in loops)
        starts = {d: n if d == dealt else n * self.sizes[d] for d, n in place.items()}
        offsets = tuple(starts.get(d, 0) for d in loops)
        self.builder.add(Slice(tensor, part, offsets, tuple(2 if d == dealt else 1 for d in loops)))
        return part

    def _put_together(self, products: Sequence[int]) -> None:
        """Each element of the result, a sum of products, where it belongs."""
        match = self.match
        domain: list[int] = []
        outer: list[int] = []
        inside: dict[int, int] = {}
        for d in self.loops[2]:
            if d == match.dealt:
                outer.append(len(domain))
                domain.append(self.sizes[d])
            if d in self.halved:
                inside[int(d == match.columns)] = len(domain)
                domain.append(2)
            if d != match.dealt:
                outer.append(len(domain))
                domain.append(self.sizes[d])
        tiled = self._tensor(domain)
        maps = (*(plain_map(outer),) * len(products), identity_map(len(domain)))
        body = body_of_selected_sum(RESULT, _PARTS, inside, self.element)
        self.builder.add(_pointwise(tuple(products), tiled, tuple(domain), maps, body))
        self._as_it_was(tiled)

    def _as_it_was(self, tensor: int) -> None:
        """The result without what lies behind an odd loop, in its own order and shape."""
        loops, own = self.loops[2], self.match.loops[2]
        sizes, result = self.match.sizes, self.match.product.result
        whole = tuple(self.sizes[d] * (2 if d in self.halved else 1) for d in loops)
        wanted = tuple(sizes[d] for d in loops)
        merged = tuple(sizes[d] for d in own)
        is_merged = merged != self.graph.types[result].shape
        if whole == wanted and loops == own:
            self.builder.add(Reshape(tensor, result))
            return
        even = self._tensor(whole)
        self.builder.add(Reshape(tensor, even))
        last = self._tensor(merged) if is_merged else result
        if whole != wanted:
            cut = last if loops == own else self._tensor(wanted)
            self.builder.add(Slice(even, cut, (0,) * len(whole), (1,) * len(whole)))
            even = cut
        if loops != own:
            self._permute(even, loops, last, own)
        if is_merged:
            self.builder.add(Reshape(last, result))

    def _permute(self, tensor: int, loops: Loops, result: int, wanted: Loops) -> None:
        """A tensor with its dims in another order, which a layout may have as it is."""
        domain = tuple(self.match.sizes[d] for d in wanted)
        maps = (plain_map(map(wanted.index, loops)), identity_map(len(loops)))
        self.builder.add(_pointwise((tensor,), result, domain, maps, copy_body(self.element)))


def _in_order(loops: Loops, one: int, other: int) -> Loops:
    """Loops with one of them ahead of another, which is put last where it was not."""
    if loops.index(one) < loops.index(other):
        return loops
    return (*(d for d in loops if d != other), other)


def _pointwise(
    sources: tuple[int, ...],
    result: int,
    domain: tuple[int, ...],
    maps: tuple[IndexMap, ...],
    body: Body,
) -> Structured:
    """An op that makes each element of a tensor by itself."""
    kinds = (IteratorType.PARALLEL,) * len(domain)
    return Structured(sources, (Uninitialized(),), (result,), domain, kinds, maps, body)
