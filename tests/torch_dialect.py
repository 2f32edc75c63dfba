"""``torch.aten.convolution_backward`` in the torch dialect, and what torch-mlir makes of it.

IREE's compiler holds torch-mlir's own conversion to linalg; so these are the graphs that a training
step exported from PyTorch has, without PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iree import compiler


@dataclass(frozen=True, slots=True)
class ConvolutionBackward:
    """A convolution whose gradients are taken; ``channels`` are those of one group, (in, out)."""

    image: tuple[int, ...]
    taps: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1
    channels: tuple[int, int] = (2, 3)
    batch: int = 2

    @property
    def small(self) -> list[int]:
        """The image of the output gradient."""
        reach = self.dilation * (self.taps - 1)
        return [(n + 2 * self.padding - reach - 1) // self.stride + 1 for n in self.image]

    @property
    def shapes(self) -> tuple[list[int], list[int], list[int]]:
        """Output gradient, input, filter."""
        c, k = self.channels
        g = self.groups
        return (
            [self.batch, g * k, *self.small],
            [self.batch, g * c, *self.image],
            [g * k, c, *[self.taps] * len(self.image)],
        )


def linalg_of(cases: Sequence[ConvolutionBackward]) -> str:
    """What IREE's input conversion writes: ``@x0``, ``@w0``, ``@x1``, .. as linalg on tensors."""
    functions = [f for i, case in enumerate(cases) for f in _gradients(case, i)]
    text = compiler.tools.compile_str(
        "\n".join(functions),
        input_type="torch",
        target_backends=["llvm-cpu"],
        extra_args=["--compile-to=input", "--iree-llvmcpu-target-cpu=host"],
    )
    assert isinstance(text, bytes)
    return text.decode()


def _gradients(case: ConvolutionBackward, number: int) -> list[str]:
    return [backward_text(case, wanted, f"{wanted}{number}") for wanted in "xw"]


def backward_text(case: ConvolutionBackward, wanted: str, function: str) -> str:
    """The gradient of the input (``x``) or the filter (``w``), in the torch dialect."""
    dy, x, w = map(_kind, case.shapes)
    rank = len(case.image)
    lists = {
        "s": [case.stride] * rank,
        "p": [case.padding] * rank,
        "d": [case.dilation] * rank,
        "o": [0] * rank,
    }
    place, kind = (0, x) if wanted == "x" else (1, w)
    lines = [
        f"func.func @{function}(%dy: {dy}, %x: {x}, %w: {w}) -> {kind} {{",
        *(f"  %int{n} = torch.constant.int {n}" for n in range(10)),
        "  %false = torch.constant.bool false",
        "  %none = torch.constant.none",
        *(f"  %want_{name} = torch.constant.bool {str(name == wanted).lower()}" for name in "xw"),
    ]
    for name, values in lists.items():
        ints = ", ".join(f"%int{v}" for v in values)
        types = ", ".join(["!torch.int"] * rank)
        lines.append(f"  %{name} = torch.prim.ListConstruct {ints} : ({types}) -> !torch.list<int>")
    bools = ", ".join(["!torch.bool"] * 3)
    many = "!torch.list<int>"
    lines += [
        f"  %m = torch.prim.ListConstruct %want_x, %want_w, %false : ({bools}) -> "
        "!torch.list<bool>",
        "  %r:3 = torch.aten.convolution_backward %dy, %x, %w, %none, %s, %p, %d, %false, %o, "
        f"%int{case.groups}, %m : {dy}, {x}, {w}, !torch.none, {many}, {many}, {many}, "
        f"!torch.bool, {many}, !torch.int, !torch.list<bool> -> {x}, {w}, !torch.none",
        f"  return %r#{place} : {kind}",
        "}",
    ]
    return "\n".join(lines)


def _kind(shape: Sequence[int]) -> str:
    return f"!torch.vtensor<[{','.join(map(str, shape))}],f32>"


CASES = (
    ConvolutionBackward((9,), 3, 2, 1),
    ConvolutionBackward((8,), 3, 2, 1, groups=2),
    ConvolutionBackward((5, 6), 3, 2, 1),
    ConvolutionBackward((5, 6), 3, 2, 1, groups=2),
    ConvolutionBackward((7, 7), 3, 2, 2, dilation=2),
    ConvolutionBackward((7, 8), 4, 3, 0),
    ConvolutionBackward((7, 6), 1, 2),
    ConvolutionBackward((6, 7), 1, 2, groups=2),
    ConvolutionBackward((5, 5), 3, 1, 1),
    ConvolutionBackward((6, 6), 3, 2, groups=4, channels=(1, 1)),
    ConvolutionBackward((4, 5, 3), 3, 2, 1),
    ConvolutionBackward((4, 3, 5), 3, 2, 1, groups=2),
)
"""1-D to 3-D, strided, dilated, grouped, depthwise."""
