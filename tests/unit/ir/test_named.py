"""Every named op that the writer knows: read from text, written, and still the same op."""

import iree.compiler.ir as ir
import pytest

from layoutopt.ir import named
from layoutopt.ir.graph import Structured
from tests.parsing import CONTEXT, lifted, verified

SIZE = {"n": 2, "g": 2, "f": 3, "c": 4, "m": 2, "b": 2, "k": 3, "M": 2, "N": 3, "K": 2, "B": 2}
OUT, WINDOW, STRIDE, DILATION = 3, 2, 2, 3
REACH = (OUT - 1) * STRIDE + (WINDOW - 1) * DILATION + 1


def tensor(letters: str, spatial: int, element: str = "f32") -> str:
    sizes = [str(spatial if x in "dhw" else SIZE[x]) for x in letters]
    return f"tensor<{'x'.join([*sizes, element])}>"


def windowed(name: str, element: str = "f32", out: str = "f32") -> str:
    image, window, result = named._template(name)
    x, w = tensor(image, REACH, element), tensor(window, WINDOW, element)
    y = tensor(result, OUT, out)
    rank = sum(letter in "dhw" for letter in image)
    steps = ", ".join(
        f"{key} = dense<{n}> : tensor<{rank}xi64>"
        for key, n in (("dilations", DILATION), ("strides", STRIDE))
    )
    return f"""func.func @f(%x: {x}, %w: {w}, %y: {y}) -> {y} {{
      %r = linalg.{name} {{{steps}}}
        ins(%x, %w : {x}, {w}) outs(%y : {y}) -> {y}
      return %r : {y}
    }}"""


def contraction(name: str, letters: tuple[str, str, str], maps: bool) -> str:
    a, b, c = (f"tensor<{'x'.join([*(str(SIZE.get(x, 5)) for x in ls), 'f32'])}>" for ls in letters)
    loops = "bmnk" if name.startswith("batch") else "mnk"
    texts = [f"affine_map<({', '.join(loops)}) -> ({', '.join(ls)})>" for ls in letters]
    spelled = f"indexing_maps = [{', '.join(texts)}]" if maps else ""
    return f"""func.func @f(%a: {a}, %b: {b}, %c: {c}) -> {c} {{
      %r = linalg.{name} {spelled} ins(%a, %b : {a}, {b}) outs(%c : {c}) -> {c}
      return %r : {c}
    }}"""


def operations(text: str) -> list[tuple[str, dict[str, str]]]:
    """The linalg ops of the last function: name and attributes, without operand segments."""
    with CONTEXT:
        module = ir.Module.parse(text)
        function = list(module.body.operations)[-1]
        return [
            (
                op.operation.name,
                {
                    key: str(op.operation.attributes[key])
                    for key in op.operation.attributes
                    if key != "operandSegmentSizes"
                },
            )
            for op in function.regions[0].blocks[0].operations
            if op.operation.name.startswith("linalg.")
        ]


def assert_kept(text: str, name: str) -> None:
    graph = lifted(text)
    (op,) = graph.ops
    assert isinstance(op, Structured)
    found = named.named_op(op)
    assert found is not None
    assert found.name == name
    again = verified(graph)
    assert operations(again) == operations(text)
    assert operations(again)[0][0] == f"linalg.{name}"


@pytest.mark.parametrize("name", [*named._CONVOLUTIONS, *named._DEPTHWISE, *named._POOLINGS])
def test_convolutions_and_poolings_keep_their_name(name: str) -> None:
    assert_kept(windowed(name), name)


@pytest.mark.parametrize("name", [*named._CONVOLUTIONS, *named._DEPTHWISE])
def test_mixed_types_keep_their_name(name: str) -> None:
    assert_kept(windowed(name, "i8", "i32"), name)
    assert_kept(windowed(name, "f16", "f32"), name)


@pytest.mark.parametrize("name", [n for n in named._POOLINGS if not n.endswith("min")])
def test_integer_poolings_keep_their_name(name: str) -> None:
    assert_kept(windowed(name, "i32", "i32"), name)


@pytest.mark.parametrize(("name", "letters"), named._CONTRACTIONS.items())
def test_contractions_keep_their_name(name: str, letters: tuple[str, str, str]) -> None:
    assert_kept(contraction(name, letters, maps=False), name)


@pytest.mark.parametrize(
    ("name", "letters"),
    [(name, letters) for name, several in named._TRANSPOSED.items() for letters in several],
)
def test_transposed_contractions_keep_their_maps(name: str, letters: tuple[str, str, str]) -> None:
    assert_kept(contraction(name, letters, maps=True), name)


def test_a_matmul_that_multiplies_unsigned_has_no_name() -> None:
    text = """func.func @f(%a: tensor<2x3xi8>, %b: tensor<3x4xi8>, %c: tensor<2x4xi32>)
        -> tensor<2x4xi32> {
      %r = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>}
        ins(%a, %b : tensor<2x3xi8>, tensor<3x4xi8>) outs(%c : tensor<2x4xi32>) -> tensor<2x4xi32>
      return %r : tensor<2x4xi32>
    }"""
    graph = lifted(text)
    (op,) = graph.ops
    assert isinstance(op, Structured)
    assert named.named_op(op) is None
    assert "linalg.generic" in verified(graph)
