"""One candidate, ready to be compiled and timed: MLIR, flags, real inputs and outputs."""

from __future__ import annotations

import hashlib
import math
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest

from layoutopt.errors import InputError
from layoutopt.runtime.element import Array, parse_tensor_type

PROTOCOL = 4
"""Version of timing and checking. It is part of every key: a new protocol makes old prices void."""

PASSED_TYPE = "tensor<i64>"
"""Of an argument that is a size, which no dim of another argument tells."""

_SSA_NAME = re.compile(r"%[\w$.-]+")


@dataclass(frozen=True, slots=True)
class Operand:
    """A value that comes into the candidate: its name in the body, as `%x0`, and its MLIR type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Result:
    """A value that the candidate gives back: its name in the body and its MLIR type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Case:
    """Arrays to run a candidate on, and what must come out.

    `allowed` holds the largest absolute error of each element, an array or one number for each
    result; without it results have to be equal. `unchecked` says why nothing is known of the
    results, which are left out then.
    """

    arguments: tuple[Array, ...]
    weights: tuple[Array, ...]
    results: tuple[Array, ...]
    allowed: tuple[Array, ...] = ()
    unchecked: str = ""


@dataclass(frozen=True)
class Benchmark:
    """A candidate in the form that is compiled.

    `weights` become parameters that are loaded, and packed where the compiler wants that, once
    before timing; `arguments` are passed on each call. `body` is MLIR op lines that use the names
    of both and define those of `results`. `flags` are all flags of `iree-compile`. `case` makes the
    arrays; it is called only where the candidate is really measured.
    """

    arguments: tuple[Operand, ...]
    weights: tuple[Operand, ...]
    body: str
    results: tuple[Result, ...]
    flags: tuple[str, ...]
    case: Callable[[], Case] = field(compare=False, repr=False)
    prelude: str = ""
    sizes: tuple[tuple[int, ...], ...] = ()
    """The shapes of the arguments, where their types leave sizes open."""
    as_it_came: bool = field(default=False, compare=False)
    """The model's own ops: what they compute is right, so a difference is noted, not refused."""

    @cached_property
    def text(self) -> str:
        """Canonical text: the same for candidates that differ in value names only."""
        function = self.function("candidate", "weight")
        return f"{self.prelude.strip()}\n{function}" if self.prelude.strip() else function

    @cached_property
    def moved_bytes(self) -> int | None:
        """What a call reads and writes, weights included; an open dim of a result counts as 1.

        None where that is not known of a type.
        """
        types = [operand.type for operand in (*self.arguments, *self.weights)]
        types += [result.type for result in self.results]
        try:
            return sum(_size_bytes(kind, shape) for kind, shape in zip_longest(types, self.sizes))
        except InputError:
            return None

    def key(self, target_fingerprint: str, iree_version: str) -> str:
        """Address of this candidate's price on one target: sha256 in hex."""
        sizes = (str(self.sizes),) if self.sizes else ()
        parts = (str(PROTOCOL), target_fingerprint, iree_version, *self.flags, self.text, *sizes)
        digest = hashlib.sha256()
        for part in parts:
            coded = part.encode()
            digest.update(len(coded).to_bytes(8, "little") + coded)
        return digest.hexdigest()

    def function(self, name: str, weight_prefix: str) -> str:
        """Text of the globals and the function; global `<weight_prefix>_<i>` holds weight i."""
        lines = [
            f'util.global private @{weight_prefix}_{index} = #stream.parameter.named<"weights"::'
            f'"{weight_prefix}_{index}"> : {weight.type}'
            for index, weight in enumerate(self.weights)
        ]
        arguments = ", ".join(f"{operand.name}: {operand.type}" for operand in self.arguments)
        types = ", ".join(result.type for result in self.results)
        lines.append(f"func.func @{name}({arguments}) -> ({types}) {{")
        lines += [
            f"  {weight.name} = util.global.load @{weight_prefix}_{index} : {weight.type}"
            for index, weight in enumerate(self.weights)
        ]
        body = textwrap.dedent(self.body.strip("\n"))
        lines += [f"  {line.rstrip()}" for line in body.splitlines() if line.strip()]
        names = ", ".join(result.name for result in self.results)
        lines += [f"  return {names} : {types}", "}"]
        return _rename_values("\n".join(lines))


def _size_bytes(type_text: str, shape: tuple[int, ...] | None) -> int:
    """Of a tensor of a type, in a shape where it leaves sizes open."""
    kind = parse_tensor_type(type_text)
    dims = [1 if dim is None else dim for dim in kind.shape] if shape is None else shape
    return math.prod(dims) * kind.dtype.itemsize


def _rename_values(text: str) -> str:
    """Number the value names in order of appearance, so that equal candidates read equal."""
    names: dict[str, str] = {}
    return _SSA_NAME.sub(lambda match: names.setdefault(match[0], f"%v{len(names)}"), text)
