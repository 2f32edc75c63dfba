"""Kernels that are spelled in several ways and compile to the same code: whether prices are equal.

`python -m tests.benchmarks.twins [--target mi355x]` writes contractions and elementwise ops in
several spellings (named, generic, other orders of loops, unit batches), compiles each by itself,
and compares the instructions of those that mean the same. Pairs with the same instructions have to
have the same price. (In a module with others, LLVM schedules a kernel a little differently.) Exits
with 1 where some have not, or where fewer than `--pairs` were found.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.pricing.analytic.compiled_kernels import Kernels
from layoutopt.pricing.analytic.estimate import estimate_steps
from layoutopt.pricing.measure.benchmark import Benchmark, Case, Operand, Result
from layoutopt.profiles.target import Target, load_target
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.progress import Silent

_SIZES = ((128, 768, 768), (128, 768, 3072), (256, 1024, 1024), (64, 512, 2048), (512, 512, 512),
          (1024, 1024, 1024), (197, 768, 768), (32, 4096, 1024))  # fmt: skip
_FACTORS = ("f32", "f16", "bf16")
_COMMENT = re.compile(r"\s*;.*$")
_NAME = re.compile(r"[\w$.]*dispatch[\w$.]*")
_LIMIT_S = 120.0


@dataclass(frozen=True)
class Spelling:
    """One way to write something."""

    means: str
    way: str
    benchmark: Benchmark


def _benchmark(target: Target, kinds: tuple[str, str], result: str, body: str) -> Benchmark:
    operands = tuple(Operand(n, k) for n, k in zip(("%x", "%w"), kinds, strict=True))
    return Benchmark(operands, (), body, (Result("%r", result),), target.flags, _never_run)


def _never_run() -> Case:
    """Candidates are compiled and read here, so nothing asks for inputs."""
    raise AssertionError("kernels of a device that is not here do not run")


def _start(shape: str, zero: str = "0.0") -> str:
    return f"""
  %zero = arith.constant {zero} : f32
  %e = tensor.empty() : tensor<{shape}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{shape}xf32>) -> tensor<{shape}xf32>"""


def matmuls(target: Target) -> Iterator[Spelling]:
    """``y[m, n] += x[m, k] * w[k, n]``, sums in f32."""
    for (m, n, k), kind in product(_SIZES, _FACTORS):
        means = f"matmul {m}x{n}x{k} {kind}"
        x, w, y = (f"tensor<{s}x{e}>" for s, e in
                   ((f"{m}x{k}", kind), (f"{k}x{n}", kind), (f"{m}x{n}", "f32")))  # fmt: skip
        named = f"""{_start(f"{m}x{n}")}
  %r = linalg.matmul ins(%x, %w : {x}, {w}) outs(%f : {y}) -> {y}"""
        yield Spelling(means, "named", _benchmark(target, (x, w), y, named))
        for order in ("m, n, k", "n, m, k", "k, m, n", "m, k, n"):
            kinds = ", ".join(
                '"reduction"' if d == "k" else '"parallel"' for d in order.split(", ")
            )
            maps = ", ".join(
                f"affine_map<({order}) -> ({own})>" for own in ("m, k", "k, n", "m, n")
            )
            widened = (
                ""
                if kind == "f32"
                else f"""
    %aw = arith.extf %a : {kind} to f32
    %bw = arith.extf %b : {kind} to f32"""
            )
            factors = ("%a", "%b") if kind == "f32" else ("%aw", "%bw")
            generic = f"""{_start(f"{m}x{n}")}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins(%x, %w : {x}, {w}) outs(%f : {y}) {{
  ^bb0(%a: {kind}, %b: {kind}, %o: f32):{widened}
    %p = arith.mulf {factors[0]}, {factors[1]} : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }} -> {y}"""
            yield Spelling(means, f"generic ({order})", _benchmark(target, (x, w), y, generic))
        x3, w3, y3 = (k.replace("<", "<1x", 1) for k in (x, w, y))
        batched = f"""{_start(f"1x{m}x{n}")}
  %x3 = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, {m}, {k}] : {x} into {x3}
  %w3 = tensor.expand_shape %w [[0, 1], [2]] output_shape [1, {k}, {n}] : {w} into {w3}
  %b = linalg.batch_matmul ins(%x3, %w3 : {x3}, {w3}) outs(%f : {y3}) -> {y3}
  %r = tensor.collapse_shape %b [[0, 1], [2]] : {y3} into {y}"""
        yield Spelling(means, "unit batch", _benchmark(target, (x, w), y, batched))


def elementwise(target: Target) -> Iterator[Spelling]:
    """``r[i, j] = x[i, j] + w[i, j]``."""
    for m, _, n in _SIZES:
        kind = f"tensor<{m}x{n}xf32>"
        means = f"sum {m}x{n}"
        empty = f"\n  %e = tensor.empty() : {kind}"
        operands = f"ins(%x, %w : {kind}, {kind}) outs(%e : {kind})"
        named = f"{empty}\n  %r = linalg.elementwise <add> {operands} -> {kind}"
        mapped = f"{empty}\n  %r = linalg.map {{ arith.addf }} {operands}"
        yield Spelling(means, "named", _benchmark(target, (kind, kind), kind, named))
        yield Spelling(means, "map", _benchmark(target, (kind, kind), kind, mapped))
        for order in ("i, j", "j, i"):
            maps = ", ".join([f"affine_map<({order}) -> (i, j)>"] * 3)
            generic = f"""{empty}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %w : {kind}, {kind}) outs(%e : {kind}) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }} -> {kind}"""
            yield Spelling(
                means, f"generic ({order})", _benchmark(target, (kind,) * 2, kind, generic)
            )


def instructions(spelling: Spelling) -> str:
    """The assembly of all kernels, without comments, directives and names."""
    with tempfile.TemporaryDirectory(prefix="layoutopt-") as folder:
        source, dumps = Path(folder) / "candidate.mlir", Path(folder) / "dumps"
        source.write_text(spelling.benchmark.function("candidate", "weight"))
        flags = (*spelling.benchmark.flags, f"{quirks().flags.dump}{dumps}")
        outcome = compile_file(source, Path(folder) / "out.vmfb", flags, _LIMIT_S)
        if not outcome.ok:
            return ""
        texts = [path.read_text() for path in sorted(dumps.rglob("*.rocmasm"))]
    lines = (_COMMENT.sub("", line) for text in texts for line in text.splitlines())
    return "\n".join(_NAME.sub("kernel", line) for line in lines if line[:1].isspace()
                     and not line.strip().startswith("."))  # fmt: skip


def main() -> None:
    """Print pairs and how many have one price."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="mi355x")
    parser.add_argument("--pairs", type=int, default=200)
    chosen = parser.parse_args()
    target = load_target(chosen.target)
    spellings = [*matmuls(target), *elementwise(target)]
    with tempfile.TemporaryDirectory(prefix="layoutopt-") as folder:
        kernels = Kernels(Path(folder) / "kernels.jsonl", target.place)
        facts = [kernels.read([s.benchmark], Silent())[0] for s in spellings]
    same, unequal, refused = 0, 0, 0
    groups: dict[str, list[tuple[Spelling, str, float | None]]] = {}
    for spelling, found in zip(spellings, facts, strict=True):
        refused += bool(found.reason)
        price = None if found.reason else estimate_steps(found.steps, target).ns
        groups.setdefault(spelling.means, []).append((spelling, instructions(spelling), price))
    for means, members in groups.items():
        for (one, code, price), (other, other_code, other_price) in combinations(members, 2):
            if not code or code != other_code:
                continue
            same += 1
            if price != other_price:
                unequal += 1
                print(f"{means}: {one.way} {price} ns, {other.way} {other_price} ns")
    print(f"{len(spellings)} spellings of {len(groups)} kernels, {refused} refused; "
          f"{same} pairs of the same instructions, {unequal} of them with two prices")  # fmt: skip
    sys.exit(1 if unequal or same < chosen.pairs else 0)


if __name__ == "__main__":
    main()
