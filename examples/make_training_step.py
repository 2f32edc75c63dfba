#!/usr/bin/env python3
"""Write a training step of ResNet blocks as one graph of linalg: forward and backward.

y = relu(conv3x3(relu(conv3x3/2(x))) + conv1x1/2(x)); the loss is |y|^2 / 2, so its gradient is y.
Results: dx, and the gradients of the three filters. NCHW, in the forms that torch-mlir gives:
input gradients convolve an interior-padded tensor with flipped filters, weight gradients convolve
the input with the output gradient as a filter that is dilated by the stride.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path


def tensor(shape: Sequence[int]) -> str:
    """The text of a tensor type."""
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


class Function:
    """Lines of one function, and the shape of every value."""

    def __init__(self) -> None:
        self.lines: list[str] = ["  %zero = arith.constant 0.0 : f32"]
        self.shapes: dict[str, list[int]] = {}

    def value(self, shape: Sequence[int]) -> str:
        """A new value of a shape."""
        name = f"%v{len(self.shapes)}"
        self.shapes[name] = list(shape)
        return name

    def type(self, name: str) -> str:
        """The type of a value."""
        return tensor(self.shapes[name])

    def empty(self, shape: Sequence[int]) -> str:
        """An uninitialized tensor."""
        name = self.value(shape)
        self.lines.append(f"  {name} = tensor.empty() : {tensor(shape)}")
        return name

    def zeros(self, shape: Sequence[int]) -> str:
        """A tensor of zeros, by a fill."""
        empty, name = self.empty(shape), self.value(shape)
        self.lines.append(
            f"  {name} = linalg.fill ins(%zero : f32) outs({empty} : {tensor(shape)}) "
            f"-> {tensor(shape)}"
        )
        return name

    def pad(self, x: str, amount: int, behind: int = 0) -> str:
        """Zeros around the image, ``behind`` more at its end."""
        if not amount and not behind:
            return x
        shape = self.shapes[x]
        image = [n + 2 * amount + behind for n in shape[2:]]
        name = self.value([*shape[:2], *image])
        end = amount + behind
        self.lines.append(
            f"  {name} = tensor.pad {x} low[0, 0, {amount}, {amount}] high[0, 0, {end}, {end}] {{\n"
            "  ^bb0(%a: index, %b: index, %c: index, %d: index):\n    tensor.yield %zero : f32\n"
            f"  }} : {self.type(x)} to {self.type(name)}"
        )
        return name

    def conv(self, x: str, w: str, stride: int = 1, dilation: int = 1) -> str:
        """``conv_2d_nchw_fchw`` of a padded image."""
        shape, taps = self.shapes[x], self.shapes[w]
        image = [
            (n - (t - 1) * dilation - 1) // stride + 1
            for n, t in zip(shape[2:], taps[2:], strict=True)
        ]
        init = self.zeros([shape[0], taps[0], *image])
        name = self.value(self.shapes[init])
        self.lines.append(
            f"  {name} = linalg.conv_2d_nchw_fchw {{dilations = dense<{dilation}> : "
            f"tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}} ins({x}, {w} : "
            f"{self.type(x)}, {self.type(w)}) outs({init} : {self.type(init)}) -> {self.type(name)}"
        )
        return name

    def swap(self, x: str) -> str:
        """The first two dims exchanged."""
        a, b, *image = self.shapes[x]
        empty = self.empty([b, a, *image])
        name = self.value([b, a, *image])
        self.lines.append(
            f"  {name} = linalg.transpose ins({x} : {self.type(x)}) outs({empty} : "
            f"{self.type(empty)}) permutation = [1, 0, 2, 3]"
        )
        return name

    def flip(self, w: str) -> str:
        """A filter backwards, its channels exchanged."""
        k, c, h, width = self.shapes[w]
        empty = self.empty([c, k, h, width])
        name = self.value([c, k, h, width])
        identity = "affine_map<(a, b, c, d) -> (a, b, c, d)>"
        self.lines += [
            f"  {name} = linalg.generic {{indexing_maps = [{identity}], iterator_types = "
            '["parallel", "parallel", "parallel", "parallel"]} '
            f"outs({empty} : {self.type(empty)}) {{",
            "  ^bb0(%o: f32):",
            f"    %last = arith.constant {h - 1} : index",
            *(f"    %i{d} = linalg.index {d} : index" for d in range(4)),
            "    %p = arith.subi %last, %i2 : index",
            "    %q = arith.subi %last, %i3 : index",
            f"    %e = tensor.extract {w}[%i1, %i0, %p, %q] : {self.type(w)}",
            "    linalg.yield %e : f32",
            f"  }} -> {self.type(name)}",
        ]
        return name

    def pointwise(self, inputs: list[str], body: str) -> str:
        """One elementwise generic; the body reads %a, %b and yields %r."""
        shape = self.shapes[inputs[0]]
        empty, name = self.empty(shape), self.value(shape)
        maps = ", ".join(["affine_map<(a, b, c, d) -> (a, b, c, d)>"] * (len(inputs) + 1))
        arguments = ", ".join(f"%{x}: f32" for x in [*"ab"[: len(inputs)], "o"])
        kinds = ", ".join(tensor(shape) for _ in inputs)
        self.lines += [
            f"  {name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = "
            '["parallel", "parallel", "parallel", "parallel"]} '
            f"ins({', '.join(inputs)} : {kinds}) outs({empty} : {tensor(shape)}) {{",
            f"  ^bb0({arguments}):",
            body,
            "    linalg.yield %r : f32",
            f"  }} -> {tensor(shape)}",
        ]
        return name

    def relu(self, x: str) -> str:
        """max(x, 0)."""
        return self.pointwise([x], "    %r = arith.maximumf %a, %zero : f32")

    def add(self, x: str, y: str) -> str:
        """x + y."""
        return self.pointwise([x, y], "    %r = arith.addf %a, %b : f32")

    def masked(self, gradient: str, activation: str) -> str:
        """The gradient where the activation is positive."""
        return self.pointwise(
            [gradient, activation],
            "    %p = arith.cmpf ogt, %b, %zero : f32\n    %r = arith.select %p, %a, %zero : f32",
        )

    def input_gradient(self, dy: str, w: str, stride: int, image: int) -> str:
        """Of a convolution with padding (taps - 1) / 2, for a square image."""
        n, k, small, _ = self.shapes[dy]
        around = self.shapes[w][2] // 2
        if stride == 1:
            return self.conv(self.pad(dy, around), self.flip(w))
        zeros = self.zeros([n, k, image + 2 * around, image + 2 * around])
        name = self.value(self.shapes[zeros])
        self.lines.append(
            f"  {name} = tensor.insert_slice {dy} into {zeros}[0, 0, {around}, {around}] "
            f"[{n}, {k}, {small}, {small}] [1, 1, {stride}, {stride}] : {self.type(dy)} into "
            f"{self.type(name)}"
        )
        return self.conv(name, self.flip(w))

    def weight_gradient(self, x: str, dy: str, taps: int, stride: int) -> str:
        """The input, channels first, convolved with a dilated output gradient."""
        whole = self.conv(self.swap(self.pad(x, taps // 2)), self.swap(dy), 1, stride)
        c, k, *image = self.shapes[whole]
        if image != [taps, taps]:
            name = self.value([c, k, taps, taps])
            self.lines.append(
                f"  {name} = tensor.extract_slice {whole}[0, 0, 0, 0] [{c}, {k}, {taps}, {taps}] "
                f"[1, 1, 1, 1] : {self.type(whole)} to {self.type(name)}"
            )
            whole = name
        return self.swap(whole)


def training_step(batch: int, channels: int, filters: int, image: int, blocks: int = 1) -> str:
    """The whole module; blocks behind the first one have stride 1 and the identity as shortcut."""
    f = Function()
    small = image // 2
    f.shapes |= {
        "%x": [batch, channels, image, image],
        "%w1": [filters, channels, 3, 3],
        "%w2": [filters, filters, 3, 3],
        "%ws": [filters, channels, 1, 1],
    }
    more = [(f"%u{i}", f"%v{i}w") for i in range(1, blocks)]
    f.shapes |= {name: [filters, filters, 3, 3] for pair in more for name in pair}
    arguments = ", ".join(f"{name}: {tensor(shape)}" for name, shape in f.shapes.items())
    h = f.relu(f.conv(f.pad("%x", 1), "%w1", 2))
    y = f.relu(f.add(f.conv(f.pad(h, 1), "%w2"), f.conv("%x", "%ws", 2)))
    kept = []
    for first, second in more:
        inside = f.relu(f.conv(f.pad(y, 1), first))
        after = f.relu(f.add(f.conv(f.pad(inside, 1), second), y))
        kept.append((y, inside, after, first, second))
        y = after
    dy, gradients = y, []
    for before, inside, after, first, second in reversed(kept):
        dz = f.masked(dy, after)
        gradients.append(f.weight_gradient(inside, dz, 3, 1))
        di = f.masked(f.input_gradient(dz, second, 1, small), inside)
        gradients.append(f.weight_gradient(before, di, 3, 1))
        dy = f.add(f.input_gradient(di, first, 1, small), dz)
    dz = f.masked(dy, kept[0][0] if kept else y)
    dw2 = f.weight_gradient(h, dz, 3, 1)
    dh = f.masked(f.input_gradient(dz, "%w2", 1, small), h)
    dw1 = f.weight_gradient("%x", dh, 3, 2)
    dws = f.weight_gradient("%x", dz, 1, 2)
    dx = f.add(f.input_gradient(dh, "%w1", 2, image), f.input_gradient(dz, "%ws", 2, image))
    results = [dx, dw1, dw2, dws, *gradients]
    kinds = ", ".join(map(f.type, results))
    body = "\n".join(f.lines)
    return (
        f"func.func @main({arguments}) -> ({kinds}) {{\n{body}\n"
        f"  return {', '.join(results)} : {kinds}\n}}\n"
    )


def main() -> None:
    """Write one module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--channels", type=int, default=32)
    parser.add_argument("--filters", type=int, default=64)
    parser.add_argument("--image", type=int, default=28)
    parser.add_argument("--blocks", type=int, default=1)
    options = parser.parse_args()
    sizes = (options.batch, options.channels, options.filters, options.image)
    text = training_step(*sizes, options.blocks)
    options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
