"""What stays as it is, with the reason."""

import pytest

from layoutopt.ir.graph import (
    Opaque,
    Structured,
)
from tests.parsing import lifted
from tests.unit.mlir.read.reading import MAP, PAR, X, graph_of


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            f"%r = linalg.generic {{indexing_maps = [{MAP}, {MAP}], iterator_types = {PAR}}} "
            f"ins(%x : {X}) outs(%y : {X}) {{\n^bb0(%a: f32, %b: f32):\n"
            f"%n = arith.index_cast %k : index to i32\n%v = arith.sitofp %n : i32 to f32\n"
            f"linalg.yield %v : f32 }} -> {X}",
            "expected a body of numbers, but it captures a value of index",
        ),
        (
            f"%r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> ()>, {MAP}], "
            f"iterator_types = {PAR}}} ins(%k : index) outs(%y : {X}) {{\n"
            f"^bb0(%a: index, %b: f32):\nlinalg.yield %b : f32 }} -> {X}",
            "expected numbers and tensors of known sizes, but got index",
        ),
        (
            f"%r = linalg.generic {{indexing_maps = [{MAP}, {MAP}], iterator_types = {PAR}}} "
            f"ins(%x : {X}) outs(%y : {X}) {{\n^bb0(%a: f32, %b: f32):\n"
            "%t = arith.constant true\n"
            "%v = scf.if %t -> (f32) { scf.yield %a : f32 } else { scf.yield %b : f32 }\n"
            f"linalg.yield %v : f32 }} -> {X}",
            "expected scalar ops in the body, but got scf.if",
        ),
        (
            f"%r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j mod 6)>, {MAP}], "
            f"iterator_types = {PAR}}} ins(%x : {X}) outs(%y : {X}) {{\n^bb0(%a: f32, %b: f32):\n"
            f"linalg.yield %a : f32 }} -> {X}",
            "expected a linear indexing map, but got 'd1 mod 6'",
        ),
        (
            f"%r = linalg.generic {{indexing_maps = [{MAP}, {MAP}], "
            'iterator_types = ["parallel", "reduction"]} '
            f"ins(%x : {X}) outs(%y : {X}) {{\n^bb0(%a: f32, %b: f32):\n"
            f"linalg.yield %a : f32 }} -> {X}",
            "expected results along all parallel loops and no other, but the reduction loop d1 is "
            "one of theirs",
        ),
        (
            f"%r = linalg.generic {{indexing_maps = [{MAP}, affine_map<(i, j) -> (i, 0)>], "
            f"iterator_types = {PAR}}} ins(%x : {X}) outs(%y : {X}) {{\n^bb0(%a: f32, %b: f32):\n"
            f"linalg.yield %a : f32 }} -> {X}",
            "expected results along all parallel loops and no other, but the parallel loop d1 is "
            "not one of theirs",
        ),
        (
            "%r = tensor.pad %x low[0, 0] high[0, 0] { ^bb0(%i: index, %j: index): "
            "%n = arith.index_cast %i : index to i32\n%v = arith.sitofp %n : i32 to f32\n"
            f"tensor.yield %v : f32 }} : {X} to {X}",
            "expected one padding value, but it is computed for each element",
        ),
        (
            "%v = arith.constant 1.0 : f32\n"
            "%r = tensor.pad %x low[1, -1] high[-1, 1] { ^bb0(%i: index, %j: index): "
            f"tensor.yield %v : f32 }} : {X} to {X}",
            "expected padding that adds elements, but got low (1, -1) high (-1, 1)",
        ),
        (
            "%v = arith.constant 1.0 : f32\n"
            f"%r = tensor.pad %x low[0, {-(2**63)}] high[0, 1] {{ ^bb0(%i: index, %j: index): "
            f"tensor.yield %v : f32 }} : {X} to {X}",
            "expected padding of known sizes, but it is computed",
        ),
        (
            "%i = arith.fptosi %s : f32 to i32\n%j = arith.index_cast %i : i32 to index\n"
            f"%r = tensor.extract_slice %x[0, 0] [4, 6] [%j, 1] : {X} to {X}",
            "expected a slice of known sizes, but they are computed",
        ),
        (
            f"%r = arith.addf %x, %y : {X}",
            "expected an op of linalg or tensor, but got one that is not known here",
        ),
    ],
)
def test_reasons(body: str, reason: str) -> None:
    graph = graph_of(body)
    opaque = graph.ops[-1]
    assert isinstance(opaque, Opaque)
    assert opaque.reason == reason
    assert graph.outputs[-1] == opaque.results[0]
    assert opaque.results[0] in graph.inputs


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (
            "%r = tensor.generate %n { ^bb0(%i: index, %j: index): %v = arith.constant 0.0 : f32\n"
            "tensor.yield %v : f32 } : tensor<?x6xf32>",
            "expected an op of linalg or tensor, but got one that is not known here",
        ),
        (
            "%r = func.call @f(%x, %n) : (tensor<?x6xf32>, index) -> tensor<?x6xf32>",
            "expected ops in place, but got a call: the function called is planned alone",
        ),
    ],
)
def test_what_dynamic_functions_hold_is_named(op: str, reason: str) -> None:
    last = graph_of(op, "tensor<?x6xf32>", "%x: tensor<?x6xf32>, %n: index").ops[-1]
    assert isinstance(last, Opaque)
    assert last.reason == reason


def test_empty_tensors_are_named() -> None:
    none = "tensor<0x6xf32>"
    graph = graph_of(
        f"%r = linalg.map {{ arith.addf }} ins(%x, %x : {none}, {none}) outs(%x : {none})",
        none,
        f"%x: {none}",
    )
    (op,) = graph.ops
    assert isinstance(op, Opaque)
    assert op.reason == "expected tensors with elements, but got tensor<0x6xf32>"


@pytest.mark.parametrize(
    ("body", "opaque"),
    [
        (
            "%r = tensor.concat dim(0) %a, %x : (tensor<0x6xf32>, tensor<4x6xf32>)"
            " -> tensor<4x6xf32>",
            "tensor.concat",
        ),
        (
            "%z = arith.constant 7.0 : f32\n"
            "%r = tensor.pad %a low[1, 0] high[3, 0] { ^bb0(%i: index, %j: index): "
            "tensor.yield %z : f32 } : tensor<0x6xf32> to tensor<4x6xf32>",
            "tensor.pad",
        ),
        (
            "%r = tensor.insert_slice %a into %x[1, 0] [0, 6] [1, 1] : "
            "tensor<0x6xf32> into tensor<4x6xf32>",
            "tensor.insert_slice",
        ),
    ],
)
def test_ops_that_read_empty_tensors_stay(body: str, opaque: str) -> None:
    graph = graph_of(body, arguments="%a: tensor<0x6xf32>, %x: tensor<4x6xf32>")
    reason = "expected tensors with elements, but got tensor<0x6xf32>"
    (found,) = (op for op in graph.ops if isinstance(op, Opaque))
    assert (found.name, found.reason) == (opaque, reason)
    assert [graph.types[t].shape for t in graph.inputs] == [(4, 6), (4, 6)]


def test_a_region_that_captures_tensors_demands_them() -> None:
    graph = graph_of(
        f"%e = linalg.map {{ math.exp }} ins(%x : {X}) outs(%y : {X})\n"
        f"%r = scf.if %c -> ({X}) {{\n"
        f"  %n = linalg.map {{ arith.negf }} ins(%e : {X}) outs(%y : {X})\n"
        f"  scf.yield %n : {X}\n"
        f"}} else {{ scf.yield %x : {X} }}",
        arguments=f"%x: {X}, %y: {X}, %c: i1",
    )
    made, branch = graph.ops
    assert isinstance(made, Structured)
    assert isinstance(branch, Opaque)
    assert branch.sources == (made.results[0], 1, 0)
    assert branch.reason == (
        "expected straight-line code, but got control flow: its blocks are planned alone"
    )
    assert made.results[0] in graph.outputs


def test_an_extension_that_is_refused_is_a_barrier() -> None:
    kind = "tensor<4x6xi32>"
    graph = lifted(
        f"func.func @f(%x: {kind}) -> {kind} {{\n"
        f"%r = linalg.softmax dimension(1) ins(%x : {kind}) outs(%x : {kind}) -> {kind}\n"
        f"return %r : {kind}\n}}"
    )
    (opaque,) = graph.ops
    assert isinstance(opaque, Opaque)
    assert opaque.reason == "expected floats, but got i32"
    assert len(graph.types) == 2, "no tensor is left behind"


def test_an_empty_tensor_with_a_huge_dim_is_not_planned() -> None:
    huge = f"tensor<0x{1 << 62}xf32>"
    graph = lifted(
        f"func.func @f(%x: tensor<0x4xf32>) -> {huge} {{\n%z = arith.constant 0.0 : f32\n"
        f"%r = tensor.pad %x low[0, 0] high[0, {(1 << 62) - 4}] {{\n^bb0(%i: index, %j: index):\n"
        f"tensor.yield %z : f32\n}} : tensor<0x4xf32> to {huge}\nreturn %r : {huge}\n}}"
    )
    assert isinstance(graph.ops[-1], Opaque)


def test_padding_that_does_not_make_its_type_is_not_planned() -> None:
    """MLIR adds up sizes modulo 2^64 and takes this."""
    kind = "tensor<1x4xf32>"
    graph = lifted(
        f"func.func @f(%x: {kind}) -> {kind} {{\n%z = arith.constant 0.0 : f32\n"
        f"%r = tensor.pad %x low[0, 0] high[{(1 << 63) - 1}, 0] {{\n"
        f"^bb0(%i: index, %j: index):\ntensor.yield %z : f32\n}} : {kind} to {kind}\n"
        f"return %r : {kind}\n}}"
    )
    assert isinstance(graph.ops[-1], Opaque)
