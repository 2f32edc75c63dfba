"""Which named linalg op a structured op is: IREE knows some names better than their maps.

The names spell their operands: in ``conv_2d_nhwc_hwcf`` the image is (n, h, w, c), the filter
(h, w, c, f), so the result is (n, h, w, f). The templates below are read off the names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from layoutopt.ir.affine import IndexMap
from layoutopt.ir.graph import Structured
from layoutopt.ir.scalar import Body, is_exact_contraction

_CONVOLUTIONS = (
    "conv_1d_ncw_fcw",
    "conv_1d_nwc_wcf",
    "conv_2d_nchw_fchw",
    "conv_2d_nhwc_hwcf",
    "conv_2d_nhwc_fhwc",
    "conv_2d_ngchw_fgchw",
    "conv_2d_ngchw_gfchw",
    "conv_2d_nhwgc_gfhwc",
    "conv_3d_ncdhw_fcdhw",
    "conv_3d_ndhwc_dhwcf",
)
_DEPTHWISE = (
    "depthwise_conv_1d_ncw_cw",
    "depthwise_conv_1d_nwc_wc",
    "depthwise_conv_1d_nwc_wcm",
    "depthwise_conv_2d_nchw_chw",
    "depthwise_conv_2d_nhwc_hwc",
    "depthwise_conv_2d_nhwc_hwcm",
    "depthwise_conv_3d_ncdhw_cdhw",
    "depthwise_conv_3d_ndhwc_dhwc",
    "depthwise_conv_3d_ndhwc_dhwcm",
)
_POOLINGS = (
    "pooling_ncw_max",
    "pooling_ncw_sum",
    "pooling_nwc_max",
    "pooling_nwc_min",
    "pooling_nwc_sum",
    "pooling_nchw_max",
    "pooling_nchw_sum",
    "pooling_nhwc_max",
    "pooling_nhwc_min",
    "pooling_nhwc_sum",
    "pooling_ndhwc_max",
    "pooling_ndhwc_min",
    "pooling_ndhwc_sum",
)
_POOLING_BODY = {
    "max": ("arith.maximumf", "arith.maxsi"),
    "min": ("arith.minimumf", "arith.minsi"),
    "sum": ("arith.addf", "arith.addi"),
}
_SPATIAL = "dhw"
_CONTRACTIONS = {
    "batch_matmul": ("bmk", "bkn", "bmn"),
    "matmul": ("mk", "kn", "mn"),
    "matvec": ("mk", "k", "m"),
    "vecmat": ("k", "kn", "n"),
    "dot": ("k", "k", ""),
    "mmt4d": ("MKmk", "NKnk", "MNmn"),
    "batch_mmt4d": ("BMKmk", "BNKnk", "BMNmn"),
}
_TRANSPOSED = {
    "batch_matmul": (("bkm", "bkn", "bmn"), ("bmk", "bnk", "bmn")),
    "matmul": (("km", "kn", "mn"), ("mk", "nk", "mn")),
}


@dataclass(frozen=True, slots=True)
class NamedOp:
    """A named op and its attributes.

    ``roles`` name the loops; ``windows`` are (stride, dilation) per spatial dim, or None for an
    op without them. ``explicit_maps``: the op is spelled with its maps (transposed matmul).
    """

    name: str
    loops: tuple[int, ...]
    windows: tuple[tuple[int, int], ...] | None = None
    explicit_maps: bool = False


def named_op(op: Structured) -> NamedOp | None:
    """The named op that means exactly ``op``, up to the order of loops; None where none does."""
    if len(op.results) != 1 or op.generalized:
        return None
    if len(op.sources) != 2:
        return None
    if is_exact_contraction(op.body):
        return _contraction(op) or _windowed(op, (*_CONVOLUTIONS, *_DEPTHWISE))
    return _windowed(op, _POOLINGS) if _pooling_combiner(op.body) is not None else None


def is_mmt4d(op: Structured) -> bool:
    """Whether it is written as ``linalg.mmt4d`` or ``linalg.batch_mmt4d``."""
    named = named_op(op)
    return named is not None and named.name.endswith("mmt4d")


def means_mmt4d(op: Structured) -> bool:
    """Whether it could be written so."""
    return is_mmt4d(replace(op, generalized=False))


def _pooling_combiner(body: Body) -> str | None:
    """The op that folds an element of the image into the accumulator; the window is not read."""
    if len(body.ops) != 1 or body.yields != (3,) or set(body.ops[0].operands) != {0, 2}:
        return None
    return body.ops[0].name


def _contraction(op: Structured) -> NamedOp | None:
    for name, template in _CONTRACTIONS.items():
        loops = _bind_plain(op, template)
        if loops is not None:
            return NamedOp(name, loops)
    for name, templates in _TRANSPOSED.items():
        for template in templates:
            loops = _bind_plain(op, template)
            if loops is not None:
                order = "bmnk" if name.startswith("batch") else "mnk"
                named = dict(zip(_letters(template), loops, strict=True))
                return NamedOp(name, tuple(named[x] for x in order), explicit_maps=True)
    return None


def _letters(template: tuple[str, ...]) -> str:
    return "".join(dict.fromkeys("".join(template)))


def _bind_plain(op: Structured, template: tuple[str, ...]) -> tuple[int, ...] | None:
    """The loop of each letter, in order of first occurrence, where all maps fit the letters."""
    bound: dict[str, int] = {}
    for letters, index_map in zip(template, op.maps, strict=True):
        if len(letters) != len(index_map):
            return None
        for letter, form in zip(letters, index_map, strict=True):
            loop = form.plain_dim
            if loop is None or bound.setdefault(letter, loop) != loop:
                return None
    distinct = set(bound.values())
    if len(distinct) != len(bound) or len(distinct) != len(op.domain):
        return None
    return tuple(bound[x] for x in _letters(template))


def _windowed(op: Structured, names: tuple[str, ...]) -> NamedOp | None:
    for name in names:
        found = _bind_windowed(op, name)
        if found is not None:
            return found
    return None


@cache
def _template(name: str) -> tuple[str, str, str]:
    """Image, window and result letters of a convolution or pooling, from its name."""
    parts = name.split("_")
    if name.startswith("pooling"):
        image = parts[1]
        return image, "".join(x for x in image if x in _SPATIAL), image
    image, window = parts[-2], parts[-1]
    if name.startswith("depthwise"):
        return image, window, image + ("m" if "m" in window else "")
    return image, window, image.replace("c", "f")


def _bind_windowed(op: Structured, name: str) -> NamedOp | None:
    image, window, result = _template(name)
    if (
        name.startswith("pooling")
        and _pooling_combiner(op.body) not in _POOLING_BODY[name.rsplit("_", 1)[1]]
    ):
        return None
    if len(op.source_maps[0]) != len(image):
        return None
    out = _bind_letters(op.result_maps[0], result)
    kernel = None if out is None else _bind_letters(op.source_maps[1], window)
    if kernel is None or out is None:
        return None
    loops = dict(out)
    windows: list[tuple[int, int]] = []
    for letter, form in zip(image, op.source_maps[0], strict=True):
        if letter not in _SPATIAL:
            shared = loops.get(letter, kernel.get(letter))
            if shared is None or form.plain_dim != shared:
                return None
            continue
        moving = loops[letter]
        inside = [d for d in form.dims if d != moving]
        if form.offset or moving not in form.dims or len(inside) != 1:
            return None
        if kernel[letter] != inside[0]:
            return None
        windows.append((form.coefficient(moving), form.coefficient(inside[0])))
    for letter, loop in kernel.items():
        if letter not in _SPATIAL and loops.get(letter, loop) != loop:
            return None
    every = {*loops.values(), *kernel.values()}
    if len(every) != len(op.domain):
        return None
    return NamedOp(name, tuple(sorted(every)), tuple(windows))


def _bind_letters(index_map: IndexMap, letters: str) -> dict[str, int] | None:
    if len(index_map) != len(letters):
        return None
    bound = {x: form.plain_dim for x, form in zip(letters, index_map, strict=True)}
    found = {x: loop for x, loop in bound.items() if loop is not None}
    return found if len(found) == len(letters) == len(set(found.values())) else None
