"""``linalg.winograd`` ops as what they mean: products by matrices along the rows and the columns.

    %u = linalg.winograd_filter_transform fmr(F_4_3) ins(%g)    u = G g G^T for each filter
    %v = linalg.winograd_input_transform fmr(F_4_3) ins(%d)     v = B^T d B for each tile
    %y = linalg.winograd_output_transform fmr(F_4_3) ins(%m)    y = A^T m A for each tile

As upstream decomposes them, but with all tiles at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutopt.ir.minimal_filtering import Matrix, MinimalFiltering, matrix
from layoutopt.ir.types import TensorType

FORMS = (
    MinimalFiltering(
        outputs=matrix("1 1 1 0; 0 -1 1 1"),
        filters=matrix("-1 0 0; 1/2 -1/2 1/2; 1/2 1/2 1/2; 0 0 1"),
        inputs=matrix("-1 0 1 0; 0 -1 1 0; 0 1 1 0; 0 -1 0 1"),
    ),
    MinimalFiltering(
        outputs=matrix("4 8 8 4 4 0; 0 -8 8 -8 8 0; 0 8 8 16 16 0; 0 -8 8 -32 32 16"),
        filters=matrix("1 0 0; -1/3 1/3 -1/3; -1/3 -1/3 -1/3; 1/12 -1/6 1/3; 1/12 1/6 1/3; 0 0 1"),
        inputs=matrix(
            "1/4    0 -5/16     0 1/16 0; 0  1/4 -1/4 -1/16 1/16 0; 0 -1/4 -1/4  1/16 1/16 0;"
            "0   1/4  -1/8  -1/4  1/8 0; 0 -1/4 -1/8   1/4  1/8 0; 0  1/4    0 -5/16 0 1/16"
        ),
    ),
    MinimalFiltering(
        outputs=matrix("8 16 16 32 16 0; 0 -16 16 -16 32 8"),
        filters=matrix(
            "1 0 0 0 0; 1/6 -1/6 1/6 -1/6 1/6; -1/6 -1/6 -1/6 -1/6 -1/6;"
            "-4/15 2/15 -1/15 1/30 -1/60; 1/60 1/30 1/15 2/15 4/15; 0 0 0 0 1"
        ),
        inputs=matrix(
            "1/8 3/16  -1/4 -3/16 1/8 0; 0  1/8  1/16 -5/16  1/8 0; 0 -1/8 -5/16 -1/16 1/8 0;"
            "0    1/4  -1/8  -1/4 1/8 0; 0 -1/8  -1/4   1/8  1/4 0; 0  1/8  3/16 -1/4 -3/16 1/8"
        ),
    ),
)
"""F(2, 3), F(4, 3) and F(2, 5), by their number in MLIR. Upstream multiplies what the last two give
by a power of two, which stands in ``outputs`` here."""
_UNIT = matrix("1")
"""Along a dim of one element there is no window."""
_SPLIT = "[[0], [1, 2], [3, 4], [5]]"


@dataclass(frozen=True, slots=True)
class Transform:
    """An op: ``%in`` and ``%init`` are its operands, ``%out`` is its result."""

    form: int
    source: TensorType
    result: TensorType
    has_init: bool
    """Whether the init holds anything, to which an output transform adds what it computes."""

    @property
    def filtering(self) -> MinimalFiltering:
        """F(m, r)."""
        return FORMS[self.form]

    def along(self, own: Matrix, sizes: Sequence[int]) -> tuple[Matrix, Matrix]:
        """The matrix along each of two dims, none along one of a single element."""
        rows, columns = (own if n > 1 else _UNIT for n in sizes)
        return rows, columns


def filter_transform(op: Transform) -> list[str]:
    """Filters as FHWC; a tile's rows and columns, channels and filters."""
    f, high, wide, c = op.source.shape
    rows, columns = op.along(op.filtering.filters, (high, wide))
    between = _Operand("%rows", TensorType((len(rows), f, wide, c), op.source.element), "ifvc")
    return [
        *_product(_Operand("%in", op.source, "favc"), (rows, "ia"), between),
        *_product(between.read("ifbc"), (columns, "jb"), _Operand("%out", op.result, "ijcf")),
    ]


def input_transform(op: Transform) -> list[str]:
    """Images as NHWC; a tile's rows and columns, the tiles, images and channels."""
    n, high, wide, c = op.source.shape
    rows, columns = op.along(op.filtering.inputs, (high, wide))
    down, right = (1 if m is _UNIT else op.filtering.tile for m in (rows, columns))
    kind = TensorType((len(rows), n, op.result.shape[2], wide, c), op.source.element)
    between = _Operand("%rows", kind, "inhwc")
    image = _Operand("%in", op.source, ("n", f"{down} * h + a", "w", "c"))
    tiles = between.read(("i", "n", "h", f"{right} * v + b", "c"))
    return [
        *_product(image, (rows, "ia"), between),
        *_product(tiles, (columns, "jb"), _Operand("%out", op.result, "ijhvnc")),
    ]


def output_transform(op: Transform) -> list[str]:
    """A tile's rows and columns, the tiles, images and channels; images as NHWC."""
    i, j, high, wide, n, c = op.source.shape
    rows, columns = op.along(op.filtering.outputs, (i, j))
    element = op.source.element
    between = _Operand("%rows", TensorType((n, high, len(rows), j, wide, c), element), "nhpjvc")
    kind = TensorType((n, high, len(rows), wide, len(columns), c), element)
    tiles = _Operand("%in", op.source, "ijhvnc")
    start = "%start" if op.has_init else None
    expanded = (
        f"%start = tensor.expand_shape %init {_SPLIT} output_shape {list(kind.shape)} : "
        f"{op.result} into {kind}"
    )
    return [
        *([] if start is None else [expanded]),
        *_product(tiles, (rows, "pi"), between),
        *_product(between, (columns, "qj"), _Operand("%tiles", kind, "nhpvqc"), start),
        f"%out = tensor.collapse_shape %tiles {_SPLIT} : {kind} into {op.result}",
    ]


@dataclass(frozen=True, slots=True)
class _Operand:
    """A tensor and its dims: letters, or sums of them such as ``4 * h + a``."""

    name: str
    kind: TensorType
    dims: Sequence[str]

    def read(self, dims: Sequence[str]) -> _Operand:
        """The same along other loops."""
        return _Operand(self.name, self.kind, dims)


def _product(
    source: _Operand, by: tuple[Matrix, str], made: _Operand, start: str | None = None
) -> list[str]:
    """Sums of products by a matrix of these two dims; ``start``: what they are added to."""
    coefficients, dims_of_matrix = by
    summed = dims_of_matrix[1]
    name, element = made.name, made.kind.element
    kind = TensorType((len(coefficients), len(coefficients[0])), element)
    loops = ", ".join([*made.dims, summed])
    maps = ", ".join(
        f"affine_map<({loops}) -> ({', '.join(dims)})>"
        for dims in (dims_of_matrix, source.dims, made.dims)
    )
    words = ", ".join(['"parallel"'] * len(made.dims) + ['"reduction"'])
    zeros = [
        f"{name}_zero = arith.constant 0.0 : {element}",
        f"{name}_empty = tensor.empty() : {made.kind}",
        f"{name}_zeros = linalg.fill ins({name}_zero : {element}) "
        f"outs({name}_empty : {made.kind}) -> {made.kind}",
    ]
    return [
        f"{name}_matrix = arith.constant dense<{_text(coefficients)}> : {kind}",
        *(zeros if start is None else []),
        f"{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{words}]}} "
        f"ins({name}_matrix, {source.name} : {kind}, {source.kind}) "
        f"outs({start or f'{name}_zeros'} : {made.kind}) {{",
        f"^bb0(%factor: {element}, %number: {element}, %sum: {element}):",
        f"  %product = arith.mulf %factor, %number : {element}",
        f"  %both = arith.addf %sum, %product : {element}",
        f"  linalg.yield %both : {element}",
        f"}} -> {made.kind}",
    ]


def _text(coefficients: Matrix) -> str:
    rows = (", ".join(repr(float(c)) for c in row) for row in coefficients)
    return "[" + ", ".join(f"[{row}]" for row in rows) + "]"
