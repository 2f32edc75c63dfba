"""One function of linalg on tensors, written op by op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from layoutopt.ir.types import Array, numpy_dtype
from tests.fuzz.draw import Draw
from tests.fuzz.value import EPSILON, Value, rounded, tensor_text, wrapped

LARGEST = 3000
"""Elements of a tensor at most."""


class ImpossibleError(Exception):
    """A step that has no meaning where it stands; the program goes on without it."""


@dataclass(frozen=True)
class Argument:
    """An argument of the function and the whole numbers that it may hold."""

    value: Value
    low: int
    high: int

    def array(self, rng: np.random.Generator) -> Array:
        """Random contents."""
        dtype = numpy_dtype(self.value.element)
        return rng.integers(self.low, self.high + 1, self.value.shape).astype(dtype)


@dataclass(frozen=True)
class Read:
    """An operand of a generic op: the value, and its indexing map over loops d0, d1, .."""

    name: str
    type: str
    map: str


class Writer:
    """Collects the lines of a function. ``values`` are what later steps may read, in order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.helpers: list[str] = []
        self.arguments: list[Argument] = []
        self.constants: list[Array] = []
        self.values: list[Value] = []
        self.used: set[str] = set()
        self.beyond_iree = False
        """Whether IREE 3.13 is known to be at fault with some op: it takes none whose init is a
        constant and no splat, and where a result's diagonal alone is computed it leaves out the
        fill that makes the rest."""
        self._constant_names: set[str] = set()
        self._count = 0

    def state(self) -> dict[str, object]:
        """A copy of all that was written so far."""
        return {name: copy(part) for name, part in vars(self).items()}

    def restore(self, state: dict[str, object]) -> None:
        """Take back what was written since."""
        vars(self).update(state)

    def fresh(self) -> str:
        """A new name."""
        self._count += 1
        return f"%v{self._count}"

    def line(self, text: str) -> None:
        """One op."""
        self.lines.append(f"  {text}")

    def op(self, text: str) -> str:
        """An op with one result; its name."""
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    def argument(self, shape: Sequence[int], element: str, low: int = -2, high: int = 2) -> Value:
        """A new argument of the function."""
        if element == "i1":
            low, high = 0, 1
        value = Value(
            f"%a{len(self.arguments)}", tuple(shape), element, float(max(abs(low), abs(high)))
        )
        self._check(value)
        self.arguments.append(Argument(value, low, high))
        return value

    def constant(self, array: Array, element: str) -> Value:
        """A constant of whole numbers: a splat where all its elements are equal."""
        kind = tensor_text(array.shape, element)
        self.constants.append(array.astype(numpy_dtype(element)))
        bound = float(np.max(np.abs(array))) if array.size else 0.0
        same = array.size and bool((array == array.reshape(-1)[0]).all())
        text = (
            self.number_text(array.reshape(-1)[0], element)
            if same
            else self._nested(array, element)
        )
        name = self.op(f"arith.constant dense<{text}> : {kind}")
        self._constant_names.add(name)
        return Value(name, array.shape, element, bound)

    def is_constant(self, value: Value) -> bool:
        """Whether it is written as a constant."""
        return value.name in self._constant_names

    def scalar(self, number: float, element: str) -> str:
        """A scalar constant."""
        return self.op(f"arith.constant {self.number_text(number, element)} : {element}")

    def empty(self, shape: Sequence[int], element: str) -> str:
        """A tensor without contents."""
        return self.op(f"tensor.empty() : {tensor_text(tuple(shape), element)}")

    def fill(self, number: float, shape: Sequence[int], element: str) -> str:
        """A tensor of one value."""
        into, kind = self.empty(shape, element), tensor_text(tuple(shape), element)
        value = self.scalar(number, element)
        return self.op(f"linalg.fill ins({value} : {element}) outs({into} : {kind}) -> {kind}")

    def define(
        self,
        name: str,
        shape: Sequence[int],
        element: str,
        bound: float,
        error: float = 0.0,
        integral: bool = True,
    ) -> Value:
        """A value that later steps may read."""
        bound = wrapped(element, bound)
        value = Value(name, tuple(shape), element, bound, error, integral)
        self._check(value)
        self.values.append(value)
        return value

    def read(self, value: Value) -> str:
        """Its name; from now on it is not a result that only the caller sees."""
        self.used.add(value.name)
        return value.name

    def operand(self, draw: Draw, fits: Callable[[Value], bool]) -> Value | None:
        """A value that fits, the newest one most often; None where there is none."""
        found = [v for v in reversed(self.values) if v.sharp and fits(v)]
        if not found:
            return None
        return found[0] if draw.below(4) < 3 else draw.pick(found)

    def generic(
        self,
        reads: Sequence[Read],
        writes: Sequence[Read],
        iterators: str,
        body: Sequence[str],
        arguments: Sequence[str],
    ) -> tuple[str, ...]:
        """A linalg.generic; ``iterators`` is a letter a loop, p or r. The names of its results.

        ``arguments`` are those of the block with their types; the last line of ``body`` yields.
        """
        loops = ", ".join(f"d{i}" for i in range(len(iterators)))
        maps = ", ".join(f"affine_map<({loops}) -> ({r.map})>" for r in (*reads, *writes))
        kinds = {"p": '"parallel"', "r": '"reduction"'}
        names = tuple(self.fresh() for _ in writes)
        ins = f"ins({_listed(reads)}) " if reads else ""
        types = ", ".join(r.type for r in writes)
        self.line(
            f"{', '.join(names)} = linalg.generic {{indexing_maps = [{maps}], iterator_types = "
            f"[{', '.join(kinds[i] for i in iterators)}]}} {ins}outs({_listed(writes)}) {{"
        )
        self.lines.append(f"  ^bb0({', '.join(arguments)}):")
        self.lines += [f"    {line}" for line in body]
        self.line(f"}} -> {types if len(writes) == 1 else f'({types})'}")
        return names

    def text(self, results: Sequence[Value]) -> str:
        """The function that hands back ``results``, behind the functions that it calls."""
        takes = ", ".join(f"{a.value.name}: {a.value.type}" for a in self.arguments)
        types = ", ".join(v.type for v in results)
        names = ", ".join(v.name for v in results)
        head = f"func.func @{self.name}({takes}) -> ({types}) {{"
        return "\n".join([*self.helpers, head, *self.lines, f"  return {names} : {types}", "}", ""])

    def _check(self, value: Value) -> None:
        limit = {"f16": 3e4, "bf16": 1e30, "f32": 1e30, "f64": 1e30}.get(value.element, 2.0**63)
        if value.size > LARGEST or value.bound > limit:
            raise ImpossibleError(f"{value.type} with numbers up to {value.bound:g}")

    def number_text(self, number: float, element: str) -> str:
        """A number as MLIR spells it in a type."""
        if element == "i1":
            return "true" if number else "false"
        return f"{float(number)!r}" if element in EPSILON else str(int(number))

    def _nested(self, array: Array, element: str) -> str:
        if not array.size:
            return ""
        if array.ndim == 0:
            return self.number_text(float(array[()]), element)
        return f"[{', '.join(self._nested(part, element) for part in array)}]"


def _listed(reads: Sequence[Read]) -> str:
    return f"{', '.join(r.name for r in reads)} : {', '.join(r.type for r in reads)}"


def summed(
    element: str, factors: Sequence[Value], terms: int, start: Value | None, windowed: bool
) -> tuple[float, float, bool]:
    """Bound, error and wholeness of ``start + sum of terms products of the factors``.

    ``windowed``: Winograd's transforms round even whole numbers.
    """
    bound, error, integral = 1.0, 0.0, True
    for factor in factors:
        error = error * factor.bound + factor.error * bound + error * factor.error
        bound *= factor.bound
        integral = integral and factor.integral
    bound, error = bound * terms, error * terms
    if start is not None:
        bound, error = bound + start.bound, error + start.error
        integral = integral and start.integral
    error = rounded(element, bound, error, integral, terms + 1)
    if windowed and element in EPSILON:
        error += 300 * max(EPSILON[element], EPSILON["f32"]) * bound
    return bound, error, integral
