"""Loops and branches through the main job: what is inside is planned, and computes the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import layoutopt
from layoutopt.options import Effort, Objective
from layoutopt.profiles.target import Tile, load_target
from tests.fuzz.through_iree import random_prices

H, W = "tensor<8x64xf32>", "tensor<64x64xf32>"
HEAD = f"""
  %w = arith.constant dense<0.02> : {W}
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %e = tensor.empty() : {H}
"""
WEIGHT = f"""
  %s = tensor.empty() : {W}
  %v = linalg.map {{ math.exp }} ins(%w : {W}) outs(%s : {W})
"""


def step(result: str, h: str, x: str) -> str:
    """tanh(h @ w + x)"""
    return f"""
      {result}f = linalg.fill ins(%zero : f32) outs(%e : {H}) -> {H}
      {result}m = linalg.matmul ins({h}, %v : {H}, {W}) outs({result}f : {H}) -> {H}
      {result}a = linalg.map {{ arith.addf }} ins({result}m, {x} : {H}, {H}) outs(%e : {H})
      {result} = linalg.map {{ math.tanh }} ins({result}a : {H}) outs(%e : {H})
"""


RNN = f"""
func.func @main(%xs: tensor<6x8x64xf32>, %h0: {H}) -> {H} {{
  {HEAD}
  {WEIGHT}
  %r = scf.for %i = %c0 to %c6 step %c1 iter_args(%h = %h0) -> ({H}) {{
    %x = tensor.extract_slice %xs[%i, 0, 0] [1, 8, 64] [1, 1, 1]
      : tensor<6x8x64xf32> to {H}
    {step("%t", "%h", "%x")}
    scf.yield %t : {H}
  }}
  return %r : {H}
}}
"""
WHILE = f"""
func.func @main(%x: {H}) -> {H} {{
  {HEAD}
  {WEIGHT}
  %n:2 = scf.while (%i = %c0, %h = %x) : (index, {H}) -> (index, {H}) {{
    %t = arith.cmpi slt, %i, %c6 : index
    scf.condition(%t) %i, %h : index, {H}
  }} do {{
  ^bb0(%i: index, %h: {H}):
    %k = arith.addi %i, %c1 : index
    {step("%t", "%h", "%x")}
    scf.yield %k, %t : index, {H}
  }}
  return %n#1 : {H}
}}
"""
BRANCH = f"""
func.func @main(%x: {H}, %p: i1) -> {H} {{
  %v = arith.constant dense<0.03> : {W}
  {HEAD}
  %b = linalg.map {{ math.absf }} ins(%x : {H}) outs(%e : {H})
  cf.cond_br %p, ^one, ^two(%x : {H})
^one:
  {step("%t", "%b", "%x")}
  cf.br ^two(%t : {H})
^two(%y: {H}):
  %g = linalg.map {{ arith.addf }} ins(%y, %b : {H}, {H}) outs(%e : {H})
  return %g : {H}
}}
"""


def loop(carried: str, body: str, kind: str = H, trips: str = "%c6") -> str:
    """A loop over so many trips."""
    return f"scf.for %i = %c0 to {trips} step %c1 iter_args({carried}) -> ({kind}) {{{body}}}"


def function(name: str, body: str, result: str = "%r") -> str:
    return f"""
func.func @{name}(%x: {H}, %y: {H}, %p: i1) -> {H} {{
  {HEAD}
  {WEIGHT}
  {body}
  return {result} : {H}
}}"""


ZEROS = f"%z = linalg.fill ins(%zero : f32) outs(%e : {H}) -> {H}"
INNER = f"{step('%t', '%k', '%x')} scf.yield %t : {H}"
CARRIED = {
    "swapped": function(
        "swapped",
        f"""%r:2 = {
            loop(
                "%a = %x, %b = %y",
                f"{step('%t', '%a', '%y')} scf.yield %b, %t : {H}, {H}",
                f"{H}, {H}",
            )
        }""",
        "%r#1",
    ),
    "from_zeros": function(
        "from_zeros",
        f"{ZEROS} %r = {loop('%h = %z', step('%t', '%h', '%x') + f' scf.yield %t : {H}')}",
    ),
    "branch": function(
        "branch",
        f"""{step("%b", "%x", "%y")}
        %q = scf.if %p -> ({H}) {{ {step("%t", "%b", "%y")} scf.yield %t : {H}
        }} else {{ {step("%t", "%b", "%x")} scf.yield %t : {H} }}
        {step("%r", "%q", "%x")}""",
    ),
    "nested": function(
        "nested",
        f"""%r = {
            loop("%h = %x", f"%q = {loop('%k = %h', INNER).replace('%i', '%j')} scf.yield %q : {H}")
        }""",
    ),
    "jumps": function(
        "jumps",
        f"""cf.br ^head(%c0, %x : index, {H})
      ^head(%i: index, %g: {H}):
        %more = arith.cmpi slt, %i, %c6 : index
        cf.cond_br %more, ^body(%g : {H}), ^exit(%g : {H})
      ^body(%h: {H}):
        {step("%t", "%h", "%x")}
        %k = arith.addi %i, %c1 : index
        cf.br ^head(%k, %t : index, {H})
      ^exit(%r: {H}):""",
    ),
    "switched": function(
        "switched",
        f"""{step("%b", "%x", "%y")}
        %flag = arith.extui %p : i1 to i32
        cf.switch %flag : i32, [
          default: ^one(%b, %x : {H}, {H}),
          1: ^two(%b : {H})
        ]
      ^one(%k: {H}, %l: {H}):
        {step("%t", "%k", "%l")}
        cf.br ^two(%t : {H})
      ^two(%g: {H}):
        {step("%r", "%g", "%x")}""",
    ),
    "calling": function(
        "calling",
        f"""{step("%b", "%x", "%y")}
        %a:2 = func.call @called(%b, %y) : ({H}, {H}) -> ({H}, {H})
        %q:2 = {
            loop(
                "%k = %a#0, %l = %a#1",
                f"%t:2 = func.call @called(%k, %l) : ({H}, {H}) -> ({H}, {H}) "
                f"scf.yield %t#1, %t#0 : {H}, {H}",
                f"{H}, {H}",
            )
        } {step("%r", "%q#0", "%q#1")}""",
    )
    + f"""
func.func private @called(%x: {H}, %y: {H}) -> ({H}, {H}) {{
  {HEAD}
  {WEIGHT}
  {step("%a", "%x", "%y")}
  {step("%b", "%a", "%x")}
  return %a, %b : {H}, {H}
}}""",
    "read_otherwise": function(
        "read_otherwise",
        f"""%r = {
            loop(
                "%h = %x",
                f"%g = util.optimization_barrier %h : {H} {step('%t', '%h', '%g')} "
                f"scf.yield %t : {H}",
            )
        }""",
    ),
    "unchanged": function(
        "unchanged",
        f"""%r:2 = {
            loop(
                "%a = %x, %b = %y",
                f"{step('%t', '%b', '%a')} scf.yield %a, %t : {H}, {H}",
                f"{H}, {H}",
            )
        } {step("%s1", "%r#0", "%r#1")}""",
        "%s1",
    ),
}


def report_of(
    folder: Path, text: str, options: layoutopt.Options
) -> tuple[layoutopt.Plan, dict[str, set[str]]]:
    """The plan, and the ops that it chose a form for, by graph."""
    (folder / "model.mlir").write_text(text)
    plan = layoutopt.optimize(folder / "model.mlir", options=options)
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    assert plan.report.verification.unverified == ()
    assert plan.report.discrepancies == ()
    chosen: dict[str, set[str]] = {}
    for choice in plan.report.choices:
        chosen.setdefault(choice.function, set()).add(choice.op.split(".")[0])
    return plan, chosen


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "block"),
    [
        (RNN, "main/for.0"),
        (WHILE, "main/while.0.body"),
        (BRANCH, "main/block.1"),
    ],
    ids=["for", "while", "branch"],
)
def test_contractions_inside_are_planned(tmp_path: Path, text: str, block: str) -> None:
    options = layoutopt.Options(cache=tmp_path / "cache", effort=Effort.QUICK)
    plan, chosen = report_of(tmp_path, text, options)
    assert "contraction" in chosen[block]
    assert block in {b.name for b in plan.report.blocks}


def test_weights_are_packed_once_and_times_count_trips(tmp_path: Path) -> None:
    options = layoutopt.Options(
        cache=tmp_path / "cache", effort=Effort.QUICK, objective=Objective.CONVERSIONS
    )
    plan, _ = report_of(tmp_path, RNN, options)
    plan.apply(tmp_path / "out.mlir")
    text = (tmp_path / "out.mlir").read_text()
    head, body = text.split("func.func @main")
    assert "util.global private @layoutopt_weight_0 = dense<" in head
    assert "util.global.load immutable @layoutopt_weight_0" in body
    assert "math.exp" not in text
    times = {f.name: f.plan.cost_ns / 1e6 for f in plan.functions}
    whole_ms = times["main"] + 6 * times["main/for.0"]
    assert plan.report.after.predicted_ms == pytest.approx(whole_ms)


def test_what_is_carried_is_packed_once_outside(tmp_path: Path) -> None:
    """Every function of one module; in loops nothing is converted but what is made there."""
    options = layoutopt.Options(
        cache=tmp_path / "cache", effort=Effort.QUICK, objective=Objective.CONVERSIONS
    )
    plan, _ = report_of(tmp_path, "\n".join(CARRIED.values()), options)
    plan.apply(tmp_path / "out.mlir")
    inside = [
        (row.function, row.tensor)
        for row in plan.report.conversions
        if "/for" in row.function and "read_otherwise" not in row.function
    ]
    assert inside == []
    named = {row.name for row in plan.report.carried}
    assert named >= {
        "swapped/for.0 0",
        "swapped/for.0 1",
        "from_zeros/for.0 0",
        "branch/if.0 0",
        "jumps/block.1 1",
        "nested/for.0 0",
        "nested/for.0/for.0 0",
        "unchanged/for.0 0",
        "unchanged/for.0 1",
        "switched/block.1 0",
        "called argument 0",
        "called result 1",
    }
    plan.save(tmp_path / "plan.json")
    again = layoutopt.optimize(
        tmp_path / "model.mlir", "host", options, plan=tmp_path / "plan.json"
    )
    again.apply(tmp_path / "again.mlir")
    assert (tmp_path / "again.mlir").read_bytes() == (tmp_path / "out.mlir").read_bytes()
    assert again.report.carried == plan.report.carried


COMPILED_OPEN = ("from_zeros", "branch", "jumps", "unchanged")
"""Those that IREE 3.13 compiles for any number of rows."""


def opened(text: str) -> str:
    """The same functions for any number of rows."""
    rows = f"%c0 = arith.constant 0 : index\n  %rows = tensor.dim %x, %c0 : {H}"
    text = text.replace("%c0 = arith.constant 0 : index", rows)
    return text.replace(f"tensor.empty() : {H}", f"tensor.empty(%rows) : {H}").replace("<8x", "<?x")


EVERY_CPU: dict[str, tuple[Tile, ...]] = {
    "f32": (Tile(8, 8, 1), Tile(4, 8, 1), Tile(16, 8, 1, mmt4d=False))
}
"""Tiles that are right on any processor."""


@pytest.mark.long
@pytest.mark.parametrize(("seed", "is_open"), [("5", False), ("6", False), ("3", True)])
def test_any_layout_is_carried_right(tmp_path: Path, seed: str, is_open: bool) -> None:
    """Prices are made up, so that layouts are odd ones: padded, transposed, another at each end.

    Without tiles of registers, of which every processor has its own: the plans are the same on all.
    All that could pay is priced: which layouts are cheapest does not depend on when pricing ends.
    """
    text = "\n".join(CARRIED[name] for name in (COMPILED_OPEN if is_open else CARRIED))
    text = (opened(text) if is_open else text).replace("8x64", "7x61").replace("?x64", "?x61")
    text = text.replace("64x64", "61x61")
    (tmp_path / "model.mlir").write_text(text)
    options = layoutopt.Options(cache=tmp_path / "cache", effort=Effort.THOROUGH)
    target = replace(load_target("host"), tiles=EVERY_CPU, registers=None)
    pricer = random_prices(seed)
    plan = layoutopt.optimize(tmp_path / "model.mlir", target, options=options, pricer=pricer)
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    assert plan.report.kept_for == ""
    ends = {end.name: end.layout for f in plan.functions for end in f.plan.ends.carried}
    assert any(layout.pads((7, 61)) for layout in ends.values())
    others = (layout for layout in ends.values() if not layout.is_row_major)
    assert is_open or any(not layout.is_tiled for layout in others)
