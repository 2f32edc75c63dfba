"""The sizes of what StableHLO ops make, as far as they follow from what they read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from iree.compiler import ir

from layoutopt.ir.size import Size, Undecided
from layoutopt.mlir.read.sizes import Sizes
from layoutopt.mlir.stablehlo.numbers import Numbers

Shape = tuple[int, ...]
_LISTS = re.compile(r"(\w+) = \[([^\]]*)\]")
_NUMBER = re.compile(r"(\w+) = (\d+)")
_CONVOLUTION = re.compile(r"\[([^\]]*)\]x\[([^\]]*)\]->\[([^\]]*)\]")


def result_shapes(sizes: Sizes, numbers: Numbers, op: Any) -> list[Shape | None]:
    """The shape of each result; None where it is not known."""
    shapes = [sizes.shape_of(v) if _ranked(v) else None for v in op.operands]
    count = len(op.results)
    try:
        if op.name in _LISTED:
            return [told(numbers, op.operands[_LISTED[op.name]])]
        if op.name == "stablehlo.dynamic_gather":
            slices = told(numbers, op.operands[2])
            return [gathered(op, _known(shapes[1]), slices)]
        if op.name == "stablehlo.real_dynamic_slice":
            return [sliced(numbers, op)]
        if op.name in _SAME:
            return [shapes[i] for i in range(count)]
        if op.name in _SHAPES:
            return [_SHAPES[op.name](op, shapes)] * count
        return [_elementwise(op, shapes)] * count
    except Undecided:
        return [None] * count


def told(numbers: Numbers, value: Any) -> Shape:
    """The numbers that a tensor lists; those that are not known are symbols."""
    return tuple(numbers.asked(value, i) for i in range(value.type.shape[0]))


def sliced(numbers: Numbers, op: Any) -> Shape:
    """The sizes of a ``real_dynamic_slice``. Raises Undecided."""
    starts, limits, strides = (told(numbers, v) for v in list(op.operands)[1:])
    if any(isinstance(n, Size) or n < 1 for n in strides):
        raise Undecided("expected strides that are numbers")
    return tuple(-((s - e) // n) for s, e, n in zip(starts, limits, strides, strict=True))


def lists(attribute: Any) -> dict[str, list[int]]:
    """The lists of numbers in an attribute of StableHLO, by name."""
    return {
        name: [int(n) for n in text.split(",") if n.strip()]
        for name, text in _LISTS.findall(str(attribute))
    }


def number(attribute: Any, name: str, default: int) -> int:
    """A number in an attribute of StableHLO."""
    return int(dict(_NUMBER.findall(str(attribute))).get(name, default))


def _ranked(value: Any) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _known(shape: Shape | None) -> Shape:
    if shape is None:
        raise Undecided("expected to know the sizes of an operand")
    return shape


def _elementwise(op: Any, shapes: Sequence[Shape | None]) -> Shape | None:
    """Operands and results of one shape: a dim is what any of them says, a number first."""
    if op.name.partition(".")[2] not in _ELEMENTWISE:
        return None
    rank = op.results[0].type.rank
    told = [s for s in shapes if s is not None and len(s) == rank]
    if not told:
        return None
    return tuple(min(ways, key=lambda n: isinstance(n, Size)) for ways in zip(*told, strict=True))


def _transposed(op: Any, shapes: Sequence[Shape | None]) -> Shape:
    shape = _known(shapes[0])
    return tuple(shape[d] for d in ir.DenseI64ArrayAttr(op.attributes["permutation"]))


def _contracted(op: Any, shapes: Sequence[Shape | None]) -> Shape:
    lhs, rhs = map(_known, shapes[:2])
    given = lists(op.attributes["dot_dimension_numbers"])
    left, right = ([*given.get(f"{side}_batching_dimensions", [])] for side in ("lhs", "rhs"))
    batch = [lhs[d] for d in left]
    left += given.get("lhs_contracting_dimensions", [])
    right += given.get("rhs_contracting_dimensions", [])
    rows = [n for d, n in enumerate(lhs) if d not in left]
    columns = [n for d, n in enumerate(rhs) if d not in right]
    return (*batch, *rows, *columns)


def _reduced(op: Any, shapes: Sequence[Shape | None]) -> Shape:
    gone = set(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
    return tuple(n for d, n in enumerate(_known(shapes[0])) if d not in gone)


def _windowed(op: Any, shapes: Sequence[Shape | None]) -> Shape:
    shape = _known(shapes[0])
    rank = len(shape)
    window, strides, base, dilations = (
        by_dim(op, name, rank)
        for name in ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    )
    around = pads(op, rank)
    return tuple(
        _places(n, (w - 1) * dilation + 1, stride, sum(pad), inner)
        for n, w, stride, dilation, pad, inner in zip(
            shape, window, strides, dilations, around, base, strict=True
        )
    )


def _convolved(op: Any, shapes: Sequence[Shape | None]) -> Shape:
    lhs, rhs = map(_known, shapes[:2])
    if ir.IntegerAttr(op.attributes["batch_group_count"]).value != 1:
        raise Undecided("expected a convolution without groups of the batch")
    image, kernel, result = convolution_dims(op)
    rank = len(image) - 2
    strides, base, dilations = (
        by_dim(op, name, rank) for name in ("window_strides", "lhs_dilation", "rhs_dilation")
    )
    around = pads(op, rank)
    sizes = {"b": lhs[image.index("b")], "f": rhs[kernel.index("o")]}
    for d in range(rank):
        window = (rhs[kernel.index(str(d))] - 1) * dilations[d] + 1
        size = lhs[image.index(str(d))]
        sizes[str(d)] = _places(size, window, strides[d], sum(around[d]), base[d])
    return tuple(sizes[p] for p in result)


def convolution_dims(op: Any) -> tuple[list[str], list[str], list[str]]:
    """What the dims of image, kernel and result are: ``b, f``, ``i, o``, or a dim of the window."""
    found = _CONVOLUTION.search(str(op.attributes["dimension_numbers"]))
    assert found is not None
    image, kernel, result = ([p.strip() for p in text.split(",")] for text in found.groups())
    return image, kernel, result


def _places(size: int, window: int, stride: int, padding: int, inner: int) -> int:
    """How many places a window has on a dim."""
    if inner != 1:
        if isinstance(size, Size):
            raise Undecided("expected a dim without zeros between its elements")
        size = (size - 1) * inner + 1 if size else 0
    if window == 1 and stride == 1 and not padding:
        return size
    room: int = size + padding - window
    if room < 0:
        return 0
    return room // stride + 1


def by_dim(op: Any, name: str, rank: int) -> list[int]:
    """A number for each dim of a window, 1 where the op says none."""
    if name not in op.attributes:
        return [1] * rank
    return list(ir.DenseI64ArrayAttr(op.attributes[name]))


def pads(op: Any, rank: int) -> list[tuple[int, int]]:
    """How many elements a window or convolution adds below and above each dim."""
    if "padding" not in op.attributes:
        return [(0, 0)] * rank
    given = ir.DenseIntElementsAttr(op.attributes["padding"])
    splat = ir.DenseElementsAttr(op.attributes["padding"]).is_splat
    numbers = [int(given[0 if splat else i]) for i in range(2 * rank)]
    return [(numbers[2 * d], numbers[2 * d + 1]) for d in range(rank)]


def _padded(op: Any, shapes: Sequence[Shape | None]) -> Shape:
    low, high, inner = (
        list(ir.DenseI64ArrayAttr(op.attributes[name]))
        for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    found: list[int] = []
    for n, before, behind, between in zip(_known(shapes[0]), low, high, inner, strict=True):
        if between and not n >= 1:
            raise Undecided("expected a size")
        found.append(n + before + behind + (between * (n - 1) if between else 0))
    return tuple(found)


def _concatenated(op: Any, shapes: Sequence[Shape | None]) -> Shape:
    along = ir.IntegerAttr(op.attributes["dimension"]).value
    first, *others = map(_known, shapes)
    total = sum((s[along] for s in others), first[along])
    return (*first[:along], total, *first[along + 1 :])


def gathered(op: Any, indices: Shape, sizes: Sequence[int]) -> Shape:
    """The sizes of a gather of slices of some sizes."""
    given = op.attributes["dimension_numbers"]
    named = lists(given)
    along = number(given, "index_vector_dim", 0)
    batch = [n for d, n in enumerate(indices) if d != along]
    gone = {*named.get("collapsed_slice_dims", []), *named.get("operand_batching_dims", [])}
    offsets = [n for d, n in enumerate(sizes) if d not in gone]
    kept = named.get("offset_dims", [])
    rank = len(batch) + len(offsets)
    return tuple(offsets.pop(0) if d in kept else batch.pop(0) for d in range(rank))


def _gathered(op: Any, shapes: Sequence[Shape | None]) -> Shape:
    slices = ir.DenseI64ArrayAttr(op.attributes["slice_sizes"])
    return gathered(op, _known(shapes[1]), list(slices))


_LISTED = {
    "stablehlo.dynamic_broadcast_in_dim": 1,
    "stablehlo.dynamic_iota": 0,
    "stablehlo.dynamic_reshape": 1,
}
"""Ops that an operand tells the shape of the result."""
_SAME = (
    "stablehlo.dynamic_update_slice",
    "stablehlo.optimization_barrier",
    "stablehlo.reverse",
    "stablehlo.scatter",
    "stablehlo.sort",
)
"""Ops whose results have the shapes of their first operands."""
_SHAPES: dict[str, Callable[[Any, Sequence[Shape | None]], Shape]] = {
    "stablehlo.concatenate": _concatenated,
    "stablehlo.convolution": _convolved,
    "stablehlo.dot_general": _contracted,
    "stablehlo.gather": _gathered,
    "stablehlo.pad": _padded,
    "stablehlo.reduce": _reduced,
    "stablehlo.reduce_window": _windowed,
    "stablehlo.transpose": _transposed,
}
_ELEMENTWISE = frozenset(
    (
        *("abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "compare", "complex", "convert"),
        *("cosine", "count_leading_zeros", "divide", "exponential", "exponential_minus_one"),
        *("floor", "imag", "is_finite", "log", "log_plus_one", "logistic", "maximum", "minimum"),
        *("multiply", "negate", "not", "or", "popcnt", "power", "real", "reduce_precision"),
        *("remainder", "round_nearest_afz", "round_nearest_even", "rsqrt", "select"),
        *("shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "sine", "sqrt"),
        *("subtract", "tan", "tanh", "xor"),
        # CHLO
        *("acos", "acosh", "asin", "asinh", "atan", "atanh", "conj", "cosh", "digamma", "erf"),
        *("erf_inv", "erfc", "is_inf", "is_neg_inf", "is_pos_inf", "lgamma", "next_after"),
        *("polygamma", "sinh", "square", "zeta"),
    )
)
"""Ops whose operands have one shape, scalars apart."""
