#!/usr/bin/env python3
"""Write a small decoder as language models are served: one module, `prefill` and `decode`.

Both functions read the same weights, immutable globals, and the keys and values of each layer,
which are mutable ones: `prefill` takes a prompt from the start, `decode` one token at a position
that is known at run time. A layer is attention and a gated MLP, each behind an RMS norm, with
residuals.
"""

import argparse
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Sizes:
    """What the model is made of."""

    layers: int = 2
    width: int = 64
    heads: int = 4
    hidden: int = 128
    """Width inside the MLP."""
    prompt: int = 16
    """Tokens that `prefill` takes."""
    context: int = 64
    """Tokens that there is room for."""

    @property
    def head(self) -> int:
        """Width of one head."""
        return self.width // self.heads


def tensor(*shape: int) -> str:
    """The text of a tensor type."""
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


@dataclass
class Function:
    """The lines of one function over so many tokens, at a position that is an index value."""

    sizes: Sizes
    tokens: int
    position: str
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, text: str) -> str:
        """A new value, computed as ``text`` says."""
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def filled(self, kind: str, scalar: str = "%zero") -> str:
        """A tensor with one value everywhere."""
        empty = self.add(f"tensor.empty() : {kind}")
        return self.add(f"linalg.fill ins({scalar} : f32) outs({empty} : {kind}) -> {kind}")

    def generic(
        self, loops: str, maps: str, ins: list[tuple[str, str]], out: str, body: str
    ) -> str:
        """A generic op; ``loops`` name the dims, a capital letter is a reduction.

        ``maps``: for each operand the loops that it is read by; ``body`` computes %y of %a, %b
        and, where there is a reduction, %o.
        """
        dims = ", ".join(loops.lower())
        forms = (f"affine_map<({dims}) -> ({', '.join(m.lower())})>" for m in maps.split())
        kinds = ('"reduction"' if d.isupper() else '"parallel"' for d in loops)
        sums = any(d.isupper() for d in loops)
        start = self.filled(out) if sums else self.add(f"tensor.empty() : {out}")
        names = ", ".join(name for name, _ in ins)
        types = ", ".join(kind for _, kind in ins)
        arguments = ", ".join(f"%{letter}: f32" for letter, _ in zip("abc", ins, strict=False))
        return self.add(
            f"linalg.generic {{indexing_maps = [{', '.join(forms)}], "
            f"iterator_types = [{', '.join(kinds)}]}} ins({names} : {types}) outs({start} : {out}) "
            f"{{\n  ^bb0({arguments}, %o: f32):\n{body}\n    linalg.yield %y : f32\n  }} -> {out}"
        )

    def matmul(self, x: str, weight: str, *shape: int) -> str:
        """Tokens times a weight of a shape."""
        rows, columns = shape
        taken, made = tensor(self.tokens, rows), tensor(self.tokens, columns)
        w = self.add(f"util.global.load immutable @{weight} : {tensor(*shape)}")
        return self.add(
            f"linalg.matmul ins({x}, {w} : {taken}, {tensor(*shape)}) "
            f"outs({self.filled(made)} : {made}) -> {made}"
        )

    def norm(self, x: str, weight: str) -> str:
        """x / rms(x) * weight"""
        width = self.sizes.width
        kind, rows = tensor(self.tokens, width), tensor(self.tokens)
        g = self.add(f"util.global.load immutable @{weight} : {tensor(width)}")
        squares = "    %s = arith.mulf %a, %a : f32\n    %y = arith.addf %s, %o : f32"
        total = self.generic("iJ", "ij i", [(x, kind)], rows, squares)
        body = (
            f"    %n = arith.constant {float(width)} : f32\n    %m = arith.divf %b, %n : f32\n"
            "    %e = arith.constant 1.0e-5 : f32\n    %p = arith.addf %m, %e : f32\n"
            "    %r = math.rsqrt %p : f32\n    %s = arith.mulf %a, %r : f32\n"
            "    %y = arith.mulf %s, %c : f32"
        )
        operands = [(x, kind), (total, rows), (g, tensor(width))]
        return self.generic("ij", "ij i j ij", operands, kind, body)

    def elementwise(self, x: str, other: str, width: int, body: str) -> str:
        """An op on each element of two tensors of tokens."""
        kind = tensor(self.tokens, width)
        return self.generic("ij", "ij ij ij", [(x, kind), (other, kind)], kind, body)

    def cached(self, x: str, cache: str) -> str:
        """Put the tokens into a cache at the position; the whole cache."""
        s = self.sizes
        apart, whole = (tensor(n, s.heads, s.head) for n in (self.tokens, s.context))
        held = self.add(f"util.global.load @{cache} : {whole}")
        new = self.add(
            f"tensor.insert_slice {self.split(x)} into {held}[{self.position}, 0, 0] "
            f"[{self.tokens}, {s.heads}, {s.head}] [1, 1, 1] : {apart} into {whole}"
        )
        self.lines.append(f"  util.global.store {new}, @{cache} : {whole}")
        return new

    def split(self, x: str) -> str:
        """Tokens with their heads apart."""
        s = self.sizes
        together, apart = tensor(self.tokens, s.width), tensor(self.tokens, s.heads, s.head)
        return self.add(
            f"tensor.expand_shape {x} [[0], [1, 2]] output_shape [{self.tokens}, {s.heads}, "
            f"{s.head}] : {together} into {apart}"
        )

    def attention(self, x: str, layer: int) -> str:
        """What each token takes of itself and of those before it."""
        s = self.sizes
        apart, whole = (tensor(n, s.heads, s.head) for n in (self.tokens, s.context))
        q, k, v = (self.matmul(x, f"w{name}{layer}", s.width, s.width) for name in "qkv")
        keys, values = self.cached(k, f"k{layer}"), self.cached(v, f"v{layer}")
        product = "    %p = arith.mulf %a, %b : f32\n    %y = arith.addf %p, %o : f32"
        square = tensor(s.heads, self.tokens, s.context)
        scores = self.generic(
            "hstD", "shd thd hst", [(self.split(q), apart), (keys, whole)], square, product
        )
        body = (
            "    %i = linalg.index 1 : index\n    %t = linalg.index 2 : index\n"
            f"    %last = arith.addi %i, {self.position} : index\n"
            "    %seen = arith.cmpi sle, %t, %last : index\n"
            f"    %f = arith.constant {s.head**-0.5} : f32\n    %z = arith.mulf %a, %f : f32\n"
            "    %low = arith.constant -1.0e9 : f32\n"
            "    %y = arith.select %seen, %z, %low : f32"
        )
        masked = self.generic("hst", "hst hst", [(scores, square)], square, body)
        empty = self.add(f"tensor.empty() : {square}")
        shares = self.add(
            f"linalg.softmax dimension(2) ins({masked} : {square}) outs({empty} : {square}) "
            f"-> {square}"
        )
        taken = self.generic(
            "shdT", "hst thd shd", [(shares, square), (values, whole)], apart, product
        )
        kind = tensor(self.tokens, s.width)
        together = self.add(
            f"tensor.collapse_shape {taken} [[0], [1, 2]] : {apart} into {kind}"
        )  # fmt: skip
        return self.matmul(together, f"wo{layer}", s.width, s.width)

    def layer(self, x: str, number: int) -> str:
        """Attention and MLP, each added to what comes in."""
        s = self.sizes
        added = "    %y = arith.addf %a, %b : f32"
        gated = (
            "    %n = arith.negf %a : f32\n    %e = math.exp %n : f32\n"
            "    %one = arith.constant 1.0 : f32\n    %d = arith.addf %e, %one : f32\n"
            "    %g = arith.divf %a, %d : f32\n    %y = arith.mulf %g, %b : f32"
        )
        taken = self.attention(self.norm(x, f"na{number}"), number)
        x = self.elementwise(x, taken, s.width, added)
        inside = self.norm(x, f"nm{number}")
        gate, up = (self.matmul(inside, f"{w}{number}", s.width, s.hidden) for w in ("wg", "wu"))
        spread = self.elementwise(gate, up, s.hidden, gated)
        down = self.matmul(spread, f"wd{number}", s.hidden, s.width)
        return self.elementwise(x, down, s.width, added)


def globals_text(sizes: Sizes) -> tuple[str, str]:
    """The globals, and behind the module the values of weights."""
    rng = np.random.default_rng(0)
    square, cache = (sizes.width, sizes.width), (sizes.context, sizes.heads, sizes.head)
    shapes: dict[str, tuple[int, ...]] = {}
    lines: list[str] = []
    for layer in range(sizes.layers):
        shapes |= {f"w{name}{layer}": square for name in "qkvo"}
        shapes |= {f"{w}{layer}": (sizes.width, sizes.hidden) for w in ("wg", "wu")}
        shapes |= {f"wd{layer}": (sizes.hidden, sizes.width)}
        shapes |= {f"{norm}{layer}": (sizes.width,) for norm in ("na", "nm")}
        # IREE 3.13 lets mutable globals share a buffer where they begin with the same number
        # everywhere, and writes into it in place. So each has a number of its own: next to none.
        lines += [
            f"util.global private mutable @{name}{layer} = dense<{number}.0e-30> : {tensor(*cache)}"
            for number, name in enumerate("kv", 2 * layer + 1)
        ]
    values: list[str] = []
    for name, shape in shapes.items():
        held = rng.standard_normal(shape, np.float32) / np.float32(shape[0] ** 0.5)
        lines.append(f"util.global private @{name} = dense_resource<{name}> : {tensor(*shape)}")
        values.append(f'{name}: "0x04000000{held.tobytes().hex().upper()}"')
    resources = ",\n".join(values)
    return "\n".join(lines), f"{{-# dialect_resources: {{ builtin: {{\n{resources}\n}} }} #-}}"


def function_text(sizes: Sizes, name: str, tokens: int, taken: str, position: str) -> str:
    """One function; ``position``: the line that makes the index of the first token."""
    kind = tensor(tokens, sizes.width)
    function = Function(sizes, tokens, "%position")
    x = "%x"
    for layer in range(sizes.layers):
        x = function.layer(x, layer)
    lines = "\n".join(["  %zero = arith.constant 0.0 : f32", position, *function.lines])
    return (
        f"func.func @{name}(%x: {kind}{taken}) -> {kind} {{\n{lines}\n  return {x} : {kind}\n}}\n"
    )


def module_text(sizes: Sizes) -> str:
    """The whole module."""
    held, values = globals_text(sizes)
    start = "  %position = arith.constant 0 : index"
    prefill = function_text(sizes, "prefill", sizes.prompt, "", start)
    here = "  %position = arith.index_cast %at : i64 to index"
    decode = function_text(sizes, "decode", 1, ", %at: i64", here)
    return f"{held}\n{prefill}{decode}{values}\n"


def main() -> None:
    """Write the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    for name, default in vars(Sizes()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = vars(parser.parse_args())
    output = arguments.pop("output")
    output.write_text(module_text(Sizes(**arguments)), encoding="utf-8")


if __name__ == "__main__":
    main()
