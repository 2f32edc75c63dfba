"""Published timings as rows, and the module that is compiled for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

FUNCTION = "row"
_TARGET = {"gfx942": "mi300x", "gfx950": "mi355x"}
_BOO = (
    "--iree-opt-level=O3",
    "--iree-dispatch-creation-enable-fuse-padding-into-linalg-consumer-ops",
)
"""What iree-turbine's BOO driver compiles with for HIP (iree/turbine/kernel/boo/runtime)."""
_SCATTER = (
    "--iree-preprocessing-pass-pipeline="
    "builtin.module(util.func(iree-preprocessing-convert-strided-insert-slice-to-generic))"
)
BOO_LAYOUT = "NHWC KYXC"
_NAMED = {"NHWC YXCK": "conv_2d_nhwc_hwcf", "NCHW KCYX": "conv_2d_nchw_fchw"}
"""Ops of linalg, by the layouts of image and filter."""


@dataclass(frozen=True, slots=True)
class Row:
    """One published time."""

    arch: str
    op: str
    """gemm, gemm+bias, batch_gemm, conv_fwd, conv_bwd_data (stride 2) or the same improved."""
    layout: str
    """Of a GEMM, NN, NT or TN: N for row-major as multiplied, T for transposed. Of a convolution,
    that of the image and of the filter."""
    sizes: tuple[int, ...]
    """batch, m, n, k; or n, c, h, w, k, y, x, stride, pad, groups (the forward convolution's)."""
    element: str
    result: str
    time_us: float
    with_call: bool
    """Whether the time is that of a call, its way to the device and back included."""
    direct_to_lds: bool | None
    """The configuration that was timed, where the source shows two."""
    release: str
    """Of IREE: the one with that pull request, or the nearest to the day of the source."""
    source: str

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Row:
        """From a line of the file."""
        return cls(
            fields["arch"],
            fields["op"],
            fields["layout"],
            tuple(map(int, fields["sizes"].split())),
            fields["element"],
            fields["result"],
            float(fields["time_us"]),
            fields["with_call"] == "yes",
            {"yes": True, "no": False}.get(fields["direct_to_lds"]),
            fields["release"],
            fields["source"],
        )

    @property
    def key(self) -> str:
        """Of the module that is compiled: the same for rows of different runs."""
        what = (self.arch, self.op, self.layout, self.element, self.result, self.release)
        return " ".join((*what, *map(str, self.sizes)))

    @property
    def flags(self) -> tuple[str, ...]:
        """What it is compiled with."""
        target = ("--iree-hal-target-device=hip", f"--iree-rocm-target={_TARGET[self.arch]}")
        if self.op.startswith("conv_bwd_data"):
            return (*target, _SCATTER) if self.op.endswith("improved") else target
        return target if self.with_call else (*target, *_BOO)

    @property
    def text(self) -> str:
        """The module."""
        if "gemm" in self.op:
            return _gemm(self)
        if self.op == "conv_fwd":
            return _forward(self) if self.layout == BOO_LAYOUT else _padded_before(self)
        return _backward(self)


def _tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def _map(dims: int, results: Sequence[str]) -> str:
    return f"affine_map<({', '.join(f'd{d}' for d in range(dims))}) -> ({', '.join(results)})>"


def _function(
    arguments: Sequence[tuple[str, str]], lines: Iterator[str], result: str, kind: str
) -> str:
    passed = ", ".join(f"{name}: {of}" for name, of in arguments)
    body = "\n".join(f"  {line}" for line in lines)
    return f"func.func @{FUNCTION}({passed}) -> {kind} {{\n{body}\n  return {result} : {kind}\n}}\n"


def _zeros(name: str, shape: Sequence[int], element: str) -> Iterator[str]:
    kind = _tensor(shape, element)
    yield f"%{name}_zero = arith.constant 0.0 : {element}"
    yield f"%{name}_empty = tensor.empty() : {kind}"
    yield (
        f"%{name} = linalg.fill ins(%{name}_zero : {element}) outs(%{name}_empty : {kind})"
        f" -> {kind}"
    )


def _truncated(source: str, shape: Sequence[int], element: str, bias: bool) -> Iterator[str]:
    """The result in the type of the operands, with a row added where there is a bias."""
    dims = [f"d{d}" for d in range(len(shape))]
    whole, wide, narrow = _map(len(shape), dims), _tensor(shape, "f32"), _tensor(shape, element)
    maps = f"{whole}, {_map(len(shape), dims[-1:])}, {whole}" if bias else f"{whole}, {whole}"
    iterators = ", ".join(['"parallel"'] * len(shape))
    inputs = (
        f"{source}, %bias : {wide}, {_tensor(shape[-1:], element)}"
        if bias
        else f"{source} : {wide}"
    )
    yield f"%out_empty = tensor.empty() : {narrow}"
    yield (
        f"%out = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}} "
        f"ins({inputs}) outs(%out_empty : {narrow}) {{"
    )
    if bias:
        yield f"^bb0(%v: f32, %w: {element}, %o: {element}):"
        yield f"  %e = arith.extf %w : {element} to f32"
        yield "  %s = arith.addf %v, %e : f32"
    else:
        yield f"^bb0(%v: f32, %o: {element}):"
    yield f"  %t = arith.truncf {'%s' if bias else '%v'} : f32 to {element}"
    yield f"  linalg.yield %t : {element}"
    yield f"}} -> {narrow}"


def _contraction(
    operands: tuple[str, str], kinds: tuple[str, str, str], maps: Sequence[str], loops: int
) -> Iterator[str]:
    """A generic over ``loops`` loops, the last one summed over, into %acc."""
    element = kinds[0][kinds[0].rindex("x") + 1 : -1]
    iterators = ", ".join(['"parallel"'] * (loops - 1) + ['"reduction"'])
    yield (
        f"%sum = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = "
        f"[{iterators}]}} ins({operands[0]}, {operands[1]} : {kinds[0]}, {kinds[1]}) "
        f"outs(%acc : {kinds[2]}) {{"
    )
    yield f"^bb0(%x: {element}, %y: {element}, %o: f32):"
    yield f"  %xe = arith.extf %x : {element} to f32"
    yield f"  %ye = arith.extf %y : {element} to f32"
    yield "  %p = arith.mulf %xe, %ye : f32"
    yield "  %n = arith.addf %o, %p : f32"
    yield "  linalg.yield %n : f32"
    yield f"}} -> {kinds[2]}"


def _gemm(row: Row) -> str:
    batch, m, n, k = row.sizes
    outer = ["d0"] if row.op == "batch_gemm" else []
    sizes = [batch] if outer else []
    i, j, p = (f"d{len(outer) + d}" for d in range(3))
    left, right = row.layout[0], row.layout[1]
    first = ([i, p], [m, k]) if left == "N" else ([p, i], [k, m])
    second = ([p, j], [k, n]) if right == "N" else ([j, p], [n, k])
    loops = 3 + len(outer)
    shape, e = [*sizes, m, n], row.element
    kinds = (
        _tensor([*sizes, *first[1]], e),
        _tensor([*sizes, *second[1]], e),
        _tensor(shape, "f32"),
    )
    maps = [_map(loops, [*outer, *dims]) for dims in (first[0], second[0], [i, j])]
    bias = row.op == "gemm+bias"

    def lines() -> Iterator[str]:
        yield from _zeros("acc", shape, "f32")
        yield from _contraction(("%a", "%b"), kinds, maps, loops)
        yield from _truncated("%sum", shape, e, bias)

    arguments = [("%a", kinds[0]), ("%b", kinds[1])]
    if bias:
        arguments.append(("%bias", _tensor([n], e)))
    return _function(arguments, lines(), "%out", _tensor(shape, e))


def _convolution(
    name: str, operands: tuple[str, str], kinds: tuple[str, str, str], stride: int
) -> str:
    pair = "dense<{}> : tensor<2xi64>"
    return (
        f"%sum = linalg.{name} {{dilations = {pair.format(1)}, strides = {pair.format(stride)}}} "
        f"ins({operands[0]}, {operands[1]} : {kinds[0]}, {kinds[1]}) outs(%acc : {kinds[2]})"
        f" -> {kinds[2]}"
    )


def _forward(row: Row) -> str:
    """NHWC image, KYXC filter."""
    n, c, h, w, k, y, x, stride, pad_h, pad_w, g = row.sizes
    e = row.element
    groups = [] if g == 1 else [g]
    image = [n, h, w, *groups, c // g]
    padded = [n, h + 2 * pad_h, w + 2 * pad_w, *groups, c // g]
    filters = [*groups, k // g, y, x, c // g]
    rows, columns = (padded[1] - y) // stride + 1, (padded[2] - x) // stride + 1
    shape = [n, rows, columns, *groups, k // g]
    name = "conv_2d_nhwgc_gfhwc" if groups else "conv_2d_nhwc_fhwc"

    def lines() -> Iterator[str]:
        source = "%a"
        if pad_h or pad_w:
            low = f"[0, {pad_h}, {pad_w}{', 0' * (len(image) - 3)}]"
            indices = ", ".join(f"%i{d}: index" for d in range(len(image)))
            yield f"%pad = arith.constant 0.0 : {e}"
            yield f"%padded = tensor.pad %a low{low} high{low} {{"
            yield f"^bb0({indices}):"
            yield f"  tensor.yield %pad : {e}"
            yield f"}} : {_tensor(image, e)} to {_tensor(padded, e)}"
            source = "%padded"
        kinds = (_tensor(padded, e), _tensor(filters, e), _tensor(shape, "f32"))
        yield from _zeros("acc", shape, "f32")
        yield _convolution(name, (source, "%b"), kinds, stride)
        yield from _truncated("%sum", shape, e, bias=False)

    arguments = [("%a", _tensor(image, e)), ("%b", _tensor(filters, e))]
    return _function(arguments, lines(), "%out", _tensor(shape, e))


def _padded_before(row: Row) -> str:
    """An image that comes with its padding, and the result as it is summed."""
    n, c, h, w, k, y, x, stride, *_ = row.sizes
    sizes = {"N": n, "C": c, "H": h, "W": w, "K": k, "Y": y, "X": x}
    image, filters = ([sizes[dim] for dim in dims] for dims in row.layout.split())
    made = sizes | {"C": k, "H": (h - y) // stride + 1, "W": (w - x) // stride + 1}
    shape = [made[dim] for dim in row.layout.split()[0]]
    kinds = (_tensor(image, row.element), _tensor(filters, row.element), _tensor(shape, row.result))

    def lines() -> Iterator[str]:
        yield from _zeros("acc", shape, row.result)
        yield _convolution(_NAMED[row.layout], ("%a", "%b"), kinds, stride)

    return _function([("%a", kinds[0]), ("%b", kinds[1])], lines(), "%sum", kinds[2])


def _backward(row: Row) -> str:
    """Backward data, stride 2: the small image scattered into zeros, then the contraction; improved
    with 1x1 filters, the contraction first."""
    n, c, h, w, k, size, *_, g = row.sizes
    e, first = row.element, row.op.endswith("improved") and row.sizes[5] == 1
    groups = [] if g == 1 else [g]
    small = [n, -(-h // 2), -(-w // 2), *groups, k // g]
    border = size - 1
    large = [n, h + border, w + border, *groups, k // g]
    shape = [n, h, w, *groups, c // g]
    arguments = [("%a", _tensor(small, e))]

    def scattered(source: str, of: Sequence[int], into: Sequence[int]) -> Iterator[str]:
        rest = len(of) - 3
        offset, ones = border // 2, ", 1" * rest
        yield from _zeros("background", into, e)
        yield (
            f"%scattered = tensor.insert_slice {source} into %background[0, {offset}, {offset}"
            f"{', 0' * rest}] {list(of)} [1, 2, 2{ones}] : {_tensor(of, e)} into {_tensor(into, e)}"
        )

    def pointwise() -> Iterator[str]:
        image = small if first else large
        made = [*image[:3], c]
        kinds = (_tensor(image, e), _tensor([k, c], e), _tensor(made, "f32"))
        maps = [_map(5, [*("d0", "d1", "d2"), "d4"]), _map(5, ["d4", "d3"]),
                _map(5, ["d0", "d1", "d2", "d3"])]  # fmt: skip
        if not first:
            yield from scattered("%a", small, large)
        yield from _zeros("acc", made, "f32")
        yield from _contraction(("%a" if first else "%scattered", "%b"), kinds, maps, 5)
        yield from _truncated("%sum", made, e, bias=False)
        if first:
            yield from scattered("%out", made, shape)

    def windowed() -> Iterator[str]:
        filters = [*groups, k // g, size, size, c // g]
        turned = [*groups, c // g, size, size, k // g]
        order = [3, 1, 2, 0] if g == 1 else [0, 4, 2, 3, 1]
        name = "conv_2d_nhwgc_gfhwc" if groups else "conv_2d_nhwc_fhwc"
        yield from scattered("%a", small, large)
        yield f"%turned_empty = tensor.empty() : {_tensor(turned, e)}"
        yield (
            f"%turned = linalg.transpose ins(%b : {_tensor(filters, e)}) outs(%turned_empty : "
            f"{_tensor(turned, e)}) permutation = {order}"
        )
        yield from _zeros("acc", shape, "f32")
        kinds = (_tensor(large, e), _tensor(turned, e), _tensor(shape, "f32"))
        yield _convolution(name, ("%scattered", "%turned"), kinds, 1)
        yield from _truncated("%sum", shape, e, bias=False)

    if size == 1:
        arguments.append(("%b", _tensor([k, c], e)))
        result = "%scattered" if first else "%out"
        return _function(arguments, pointwise(), result, _tensor(shape, e))
    arguments.append(("%b", _tensor([*groups, k // g, size, size, c // g], e)))
    return _function(arguments, windowed(), "%out", _tensor(shape, e))
