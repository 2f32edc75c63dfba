"""Every scalar op of the dialects arith, math and complex, with types that it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iree.compiler.dialects import arith, complex, math

INTEGERS = ("i8", "i32", "i64")
FLOATS = ("f32", "f16", "bf16")
COMPLEX = ("complex<f32>",)
SMALL_FLOATS = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")


@dataclass(frozen=True)
class Case:
    """An op with the element types of its operands and its result, and its attributes."""

    op: str
    operands: tuple[str, ...]
    result: str
    attributes: str = ""

    @property
    def label(self) -> str:
        return f"{self.op} {', '.join(self.operands)} -> {self.result} {self.attributes}".strip()


SEVERAL_RESULTS = {
    "arith.addui_extended", "arith.subui_extended", "arith.mulsi_extended", "arith.mului_extended",
    "math.sincos",
}  # fmt: skip
"""The graph does not hold them: they are barriers."""
NO_OPERANDS = {"arith.constant", "complex.constant"}


def _words(text: str) -> list[str]:
    return text.split()


_SAME_INTEGERS = _words(
    """addi subi muli andi ori xori divsi divui ceildivsi ceildivui floordivsi remsi remui
    maxsi maxui minsi minui shli shrsi shrui"""
)
_SAME_FLOATS = _words(
    """addf subf mulf divf remf maximumf minimumf maxnumf minnumf maximumnumf minimumnumf"""
)
_UNARY_FLOATS = _words(
    """absf acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 floor log
    log10 log1p log2 round roundeven rsqrt sin sinh sqrt tan tanh trunc"""
)
_FLOAT_TESTS = _words("isfinite isinf isnan isnormal")
_UNARY_INTEGERS = _words("absi ctlz ctpop cttz")
_UNARY_COMPLEX = _words("conj cos exp expm1 log log1p neg rsqrt sign sin sqrt tan tanh")


def registered() -> set[str]:
    """All ops of the three dialects, by the bindings of the compiler."""
    found = set()
    for dialect in (arith, math, complex):
        for value in vars(dialect).values():
            name: Any = getattr(value, "OPERATION_NAME", None)
            if isinstance(value, type) and isinstance(name, str):
                found.add(name)
    return found


def cases() -> list[Case]:
    """One case or more for each op that has operands and one result."""
    return [*_arith(), *_casts(), *_math(), *_complex()]


def _arith() -> list[Case]:
    found = [Case(f"arith.{n}", (k, k), k) for n in _SAME_INTEGERS for k in INTEGERS]
    found += [Case(f"arith.{n}", (k, k), k) for n in _SAME_FLOATS for k in FLOATS]
    found += [Case(f"arith.{n}", ("i1", "i1"), "i1") for n in ("addi", "andi", "ori", "xori")]
    found += [Case("arith.negf", (k,), k) for k in (*FLOATS, *SMALL_FLOATS)]
    found += [Case("arith.addf", (k, k), k) for k in SMALL_FLOATS]
    found += [
        Case("arith.cmpi", (k, k), "i1", f"predicate = {p} : i64")
        for k in ("i8", "i64")
        for p in range(10)
    ]
    found += [Case("arith.cmpf", ("f32", "f32"), "i1", f"predicate = {p} : i64") for p in range(16)]
    found += [Case("arith.select", ("i1", k, k), k) for k in ("i32", "f32", "bf16")]
    found += [Case("arith.flush_denormals", ("f32",), "f32")]
    return found


def _casts() -> list[Case]:
    def cast(name: str, *pairs: tuple[str, str]) -> list[Case]:
        return [Case(f"arith.{name}", (a,), b) for a, b in pairs]

    small = [(k, "f32") for k in SMALL_FLOATS]
    return [
        *cast("extsi", ("i8", "i32"), ("i1", "i32"), ("i32", "i64"), ("i4", "i32")),
        *cast("extui", ("i8", "i32"), ("i1", "i32"), ("i32", "i64"), ("i4", "i32")),
        *cast("trunci", ("i32", "i8"), ("i64", "i32"), ("i32", "i1")),
        *cast("sitofp", ("i8", "f32"), ("i64", "f32"), ("i32", "bf16"), ("i1", "f32")),
        *cast("uitofp", ("i8", "f32"), ("i64", "f32"), ("i32", "f16"), ("i1", "f32")),
        *cast("fptosi", ("f32", "i8"), ("f32", "i64"), ("bf16", "i32")),
        *cast("fptoui", ("f32", "i8"), ("f32", "i32"), ("f16", "i32")),
        *cast("extf", ("f16", "f32"), ("bf16", "f32"), *small),
        *cast("truncf", ("f32", "f16"), ("f32", "bf16"), *((b, a) for a, b in small)),
        *cast("convertf", ("f16", "bf16"), ("bf16", "f16")),
        *cast("bitcast", ("f32", "i32"), ("i32", "f32"), ("bf16", "i16"), ("i16", "f16")),
        Case("arith.index_cast", ("i32",), "index"),
        Case("arith.index_castui", ("i32",), "index"),
        Case("arith.scaling_extf", ("f8E4M3FN", "f8E8M0FNU"), "f32"),
        Case("arith.scaling_truncf", ("f32", "f8E8M0FNU"), "f8E4M3FN"),
    ]


def _math() -> list[Case]:
    found = [Case(f"math.{n}", (k,), k) for n in _UNARY_FLOATS for k in FLOATS]
    found += [Case(f"math.{n}", (k,), "i1") for n in _FLOAT_TESTS for k in ("f32", "bf16")]
    found += [Case(f"math.{n}", (k,), k) for n in _UNARY_INTEGERS for k in INTEGERS]
    found += [Case(f"math.{n}", ("f32", "f32"), "f32") for n in ("atan2", "copysign", "powf")]
    found += [Case(f"math.{n}", ("f32",) * 3, "f32") for n in ("fma", "clampf")]
    found += [Case("math.fpowi", ("f32", "i32"), "f32"), Case("math.ipowi", ("i32", "i32"), "i32")]
    return found


def _complex() -> list[Case]:
    found = []
    for kind in COMPLEX:
        part = kind.removeprefix("complex<").removesuffix(">")
        found += [Case(f"complex.{n}", (kind,), kind) for n in _UNARY_COMPLEX]
        found += [
            Case(f"complex.{n}", (kind, kind), kind)
            for n in ("add", "sub", "mul", "div", "atan2", "pow")
        ]
        found += [Case("complex.powi", (kind, "i32"), kind)]
        found += [Case(f"complex.{n}", (kind, kind), "i1") for n in ("eq", "neq")]
        found += [Case(f"complex.{n}", (kind,), part) for n in ("abs", "angle", "re", "im")]
        found += [Case("complex.create", (part, part), kind)]
        found += [Case("complex.bitcast", (kind,), "i64")]
    return found
