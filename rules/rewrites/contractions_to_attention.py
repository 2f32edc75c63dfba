"""Attention that came as its parts, as one op.

    contraction(softmax(scale * contraction(q, k) + mask), v)   ->   attention(q, k, v, mask)

The scores of one op never leave a compute unit: on a GPU they are neither written nor read, and the
softmax is no kernel of its own. Sound because this is what the op means, up to rounding, and a
softmax does not change where one number is taken from a whole row. Where the parts have zeros in
the place of shares that are not a number, results have them: values are taken to be finite.
"""

from __future__ import annotations

from layoutopt.ir.affine import IndexMap, identity_map, plain_map
from layoutopt.ir.extensions.attention import Attention
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Reshape,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body, scalar_constant
from layoutopt.rules.rewrites.attention_parts import AttentionParts, Scores, attention_parts
from layoutopt.rules.rule import EveryProducer, Evidence, Exactness, Example, Expression

_P, _R = IteratorType.PARALLEL, IteratorType.REDUCTION
_FLOATS = {"f16", "bf16", "f32"}
_NAMED = "f16, bf16 and f32"


def _example(*, mask: int | None = None) -> Graph:
    """Two heads of three queries and five keys; ``mask``: dims of one that is added."""
    builder = GraphBuilder()
    q, k, v = (builder.tensor((2, n, d), "f32") for n, d in ((3, 4), (5, 4), (5, 6)))
    products = _product(builder, (q, k), ((0, 1, 3), (0, 2, 3)), (2, 3, 5, 4))
    sources, shape = [q, k, v], (2, 3, 5)
    if mask is not None:
        added = builder.tensor(shape[3 - mask :], "f32")
        sources.append(added)
        products = _pointwise(
            builder, "arith.addf", (products, added), plain_map(range(3 - mask, 3)), shape
        )
    highest = _along(builder, "arith.maximumf", "0xFF800000 : f32", products, shape)
    less = _pointwise(builder, "arith.subf", (products, highest), plain_map((0, 1)), shape)
    powers = builder.tensor(shape, "f32")
    raised = Body(("f32", "f32"), (ScalarOp("math.exp", (0,), "f32"),), (2,))
    builder.add(
        Structured(
            (less,), (Uninitialized(),), (powers,), shape, (_P,) * 3, (identity_map(3),) * 2, raised
        )
    )  # fmt: skip
    sums = _along(builder, "arith.addf", "0.0 : f32", powers, shape)
    shares = _pointwise(builder, "arith.divf", (powers, sums), plain_map((0, 1)), shape)
    y = _product(builder, (shares, v), ((0, 1, 3), (0, 3, 2)), (2, 3, 6, 5))
    return builder.build(sources, (y,))


def _product(
    builder: GraphBuilder,
    factors: tuple[int, int],
    maps: tuple[tuple[int, ...], tuple[int, ...]],
    sizes: tuple[int, int, int, int],
) -> int:
    made = builder.tensor(sizes[:3], "f32")
    builder.add(
        Structured(
            factors, (Fill("0.0 : f32"),), (made,), sizes, (_P, _P, _P, _R),
            (*map(plain_map, maps), plain_map((0, 1, 2))), contraction_body("f32", "f32", "f32"),
        )
    )  # fmt: skip
    return made


def _pointwise(
    builder: GraphBuilder,
    name: str,
    sources: tuple[int, int],
    other: IndexMap,
    shape: tuple[int, ...],
) -> int:
    made = builder.tensor(shape, "f32")
    body = Body(("f32",) * 3, (ScalarOp(name, (0, 1), "f32"),), (3,))
    whole = identity_map(len(shape))
    kinds = (_P,) * len(shape)
    builder.add(
        Structured(sources, (Uninitialized(),), (made,), shape, kinds, (whole, other, whole), body)
    )
    return made


def _along(
    builder: GraphBuilder, name: str, start: str, source: int, shape: tuple[int, ...]
) -> int:
    made = builder.tensor(shape[:-1], "f32")
    body = Body(("f32", "f32"), (ScalarOp(name, (0, 1), "f32"),), (2,))
    builder.add(
        Structured(
            (source,), (Fill(start),), (made,), shape, (_P, _P, _R),
            (identity_map(3), plain_map((0, 1))), body,
        )
    )  # fmt: skip
    return made


class ContractionsToAttention(EveryProducer):
    """Two contractions with a softmax between them as one op."""

    name = "contractions-to-attention"
    summary = "contraction(softmax(contraction(q, k) + mask), v) -> attention(q, k, v, mask)"
    argument = "the definition of the op; exp(x - c) / sum(exp(x - c)) is one softmax for every c"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.APPROXIMATES
    canonicalizes = False
    examples = (
        Example(_example(), 6),
        Example(_example(mask=2), 7),
        Example(_example(mask=1), 7),
        Example(
            _example(mask=0),
            7,
            refusal="expected a mask along dims of the scores, but it is one number",
        ),
    )

    def match(self, graph: Graph, op: int) -> AttentionParts | None:
        """A product of values with a softmax of products."""
        return attention_parts(graph, graph.ops[op])

    def guard(self, match: AttentionParts) -> Refusal | None:
        """One type of floats, and a mask along dims of the scores."""
        kinds = dict.fromkeys(match.elements[:3])
        if len(kinds) > 1 or not kinds.keys() <= _FLOATS:
            return Refusal(f"expected one of {_NAMED} throughout, but got {', '.join(kinds)}")
        if match.elements[3] not in ("", "i1", *kinds):
            return Refusal(
                f"expected a mask in the type of the queries, but got {match.elements[3]}"
            )
        if match.scores.mask is None:
            return None
        expected = "expected a mask along dims of the scores"
        if not any(form.terms for form in match.scores.mask_map):
            return Refusal(f"{expected}, but it is one number")
        if not all(f.plain_dim is not None or not f.terms for f in match.scores.mask_map):
            return Refusal(f"{expected}, but it is read otherwise")
        return None

    def rewrite(self, graph: Graph, match: AttentionParts) -> Expression:
        """One op over the dims that the mask sees, between reshapes where others had them."""
        builder = GraphBuilder(len(graph.types))
        scores, weighted = match.scores, match.weighted
        batch = scores.shape[:-2]

        def fitting(tensor: int) -> int:
            shape = graph.types[tensor].shape
            wanted = (*batch, *shape[-2:])
            if shape == wanted:
                return tensor
            made = builder.tensor(wanted, graph.types[tensor].element)
            builder.add(Reshape(tensor, made))
            return made

        count = len(batch)
        loop = {name: count + i for i, name in enumerate("mnkl")}
        maps = [(*range(count), *(loop[d] for d in order)) for order in match.orders]
        sources = [fitting(t) for t in (*scores.product.factors, match.value)]
        if scores.mask is not None:
            mask, dims = _mask(graph, builder, scores)
            sources.append(mask)
            places = (*range(count), loop["m"], loop["l"])
            maps.insert(3, tuple(places[d] for d in dims))
        result = weighted.result
        kind = graph.types[result]
        shape = (*batch, *kind.shape[-2:])
        guarded = match.not_a_number is not None
        shown = builder.tensor(kind.shape, kind.element) if guarded else result
        made = shown if shape == kind.shape else builder.tensor(shape, kind.element)
        builder.add(
            Attention(
                tuple(sources), (made,), tuple(maps), f"{scores.scale} : {match.elements[0]}",
                graph.types[scores.product.result].element, joined=True,
            )
        )  # fmt: skip
        if made != shown:
            builder.add(Reshape(made, shown))
        if match.not_a_number is not None:  # last, where casts may share its dispatch
            builder.add(_numbers(shown, result, kind.shape, kind.element, match.not_a_number))
        return Expression(tuple(builder.types), tuple(builder.ops), rounds=True)


def _mask(graph: Graph, builder: GraphBuilder, scores: Scores) -> tuple[int, tuple[int, ...]]:
    """A mask without the dims that it has one of for all, and the dims of scores that it has."""
    assert scores.mask is not None, "asked where there is one"
    kind = graph.types[scores.mask]
    dims = tuple(f.plain_dim for f in scores.mask_map)
    kept = [i for i, d in enumerate(dims) if d is not None]
    found = tuple(d for d in dims if d is not None)
    if len(kept) == len(dims):
        return scores.mask, found
    made = builder.tensor((kind.shape[i] for i in kept), kind.element)
    builder.add(Reshape(scores.mask, made))
    return made, found


def _numbers(
    source: int, result: int, shape: tuple[int, ...], element: str, test: ScalarOp
) -> Structured:
    """Zeros in the place of what is not a number."""
    told = ScalarOp(test.name, (0, 0), test.type, test.attributes)
    ops = (told, scalar_constant(f"0.0 : {element}", element))
    body = Body((element, element), (*ops, ScalarOp("arith.select", (2, 3, 0), element)), (4,))
    kinds, whole = (_P,) * len(shape), identity_map(len(shape))
    return Structured((source,), (Uninitialized(),), (result,), shape, kinds, (whole, whole), body)
