"""Tiles, packings of the user's own, and how packed contractions are written."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from layoutopt.candidates.candidate import physical_form
from layoutopt.candidates.cluster import form_clusters
from layoutopt.candidates.enumeration import enumerate_candidates
from layoutopt.candidates.matmul_ways import ContractionForms
from layoutopt.candidates.packing.custom import load_rule
from layoutopt.candidates.packing.options import PackingOptions, packings
from layoutopt.candidates.packing.tiling import Packing, fitting
from layoutopt.candidates.saturation import saturate
from layoutopt.candidates.space import layout_sets
from layoutopt.errors import InputError
from layoutopt.ir.affine import plain_map
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, IteratorType, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import contraction_body
from layoutopt.mlir.write.emit import body_text
from layoutopt.profiles.target import Tile, load_target


def matmul(m: int, n: int, k: int) -> Graph:
    g = GraphBuilder()
    x, w, y = g.tensor((m, k), "f32"), g.tensor((k, n), "f32"), g.tensor((m, n), "f32")
    g.add(
        Structured(
            (x, w),
            (Fill("0.0 : f32"),),
            (y,),
            (m, n, k),
            (IteratorType.PARALLEL, IteratorType.PARALLEL, IteratorType.REDUCTION),
            (plain_map([0, 2]), plain_map([2, 1]), plain_map([0, 1])),
            contraction_body("f32", "f32", "f32"),
        )
    )
    return g.build((x, w), (y,))


def written(graph: Graph, options: PackingOptions) -> list[str]:
    """The text of each packed candidate."""
    egraph = saturate(graph)
    clusters = form_clusters(egraph)
    found, _ = enumerate_candidates(
        egraph, clusters, layout_sets(egraph, options, 12), ContractionForms(), options
    )
    forms = [physical_form(egraph.graph, clusters[0], c) for c in found if c.form.is_packed]
    return [body_text(f.graph) for f in forms if not isinstance(f, Refusal)]


@pytest.mark.parametrize("tile", [Tile(8, 8, 1), Tile(8, 8, 4)])
def test_a_packed_matmul_is_an_mmt4d(tile: Tile) -> None:
    texts = written(matmul(16, 32, 8), PackingOptions({"f32": (tile,)}))
    assert any("linalg.mmt4d" in text for text in texts)
    assert "tensor<2x4x8x8xf32>" in texts[0]


@pytest.mark.parametrize("sizes", [(3, 16), (16, 3), (5, 7)])
def test_rows_of_an_image_are_an_mmt4d_over_both_of_their_loops(sizes: tuple[int, int]) -> None:
    """One of them has the tile, which is filled up where it does not divide either."""
    (h, w), k, n = sizes, 8, 16
    g = GraphBuilder()
    x, v, y = g.tensor((h, w, k), "f32"), g.tensor((k, n), "f32"), g.tensor((h, w, n), "f32")
    g.add(
        Structured(
            (x, v),
            (Fill("0.0 : f32"),),
            (y,),
            (h, w, n, k),
            (*[IteratorType.PARALLEL] * 3, IteratorType.REDUCTION),
            (plain_map([0, 1, 3]), plain_map([3, 2]), plain_map([0, 1, 2])),
            contraction_body("f32", "f32", "f32"),
        )
    )
    texts = written(
        g.build((x, v), (y,)), PackingOptions({"f32": (Tile(8, 16, 1),)}, image_rows=True)
    )
    tiles = {(3, 16): 6, (16, 3): 6, (5, 7): 5}[sizes]
    assert any(
        f"linalg.mmt4d ins(%v0, %v1 : tensor<{tiles}x8x8x1xf32>"
        in re.sub(r"%\w+, %\w+ : ", "%v0, %v1 : ", text)
        for text in texts
    )


def test_a_tile_without_microkernel_is_a_generic() -> None:
    texts = written(matmul(16, 32, 8), PackingOptions({"f32": (Tile(8, 8, 8, mmt4d=False),)}))
    assert texts
    assert not any("mmt4d" in text for text in texts)


def test_a_tile_that_does_not_divide_gives_way_to_a_divisor() -> None:
    assert [fitting(n, 8) for n in (1, 3, 7, 12, 16, 20)] == [1, 3, 7, 6, 8, 5]


def test_the_example_of_a_custom_packing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[4] / "examples"))
    monkeypatch.delitem(sys.modules, "custom_packing", raising=False)
    rule = load_rule("custom_packing:packings")
    graph = matmul(8, 32, 8)
    (op,) = graph.ops
    assert isinstance(op, Structured)
    found = packings(op, graph.types, PackingOptions(custom=rule), constant_rhs=False)
    assert found == (
        Packing(
            Layout((0, 1), (0,), (4,)),
            Layout((1, 0), (1,), (16,)),
            Layout((0, 1), (0, 1), (4, 16)),
            mmt4d=False,
        ),
    )
    assert len(written(graph, PackingOptions(custom=rule))) == 1


def test_a_custom_packing_that_does_not_fit_says_so() -> None:
    graph = matmul(8, 32, 8)
    (op,) = graph.ops
    assert isinstance(op, Structured)
    bad = Packing(Layout((0, 1), (0,), (3,)), Layout((1, 0)), Layout((0, 1), (1,), (4,)))
    with pytest.raises(InputError) as caught:
        packings(op, graph.types, PackingOptions(custom=lambda *_: [bad]), constant_rhs=False)
    assert str(caught.value) == (
        "custom packing: expected a layout of a tensor of shape [8, 32] with tiles that make dim 0 "
        "9, but got perm[0,1] tiles[1:4]; return no packing for contractions that it does not suit"
    )


def test_a_custom_packing_is_padded_with_zeros_where_it_is_summed() -> None:
    graph = matmul(8, 32, 8)
    (op,) = graph.ops
    assert isinstance(op, Structured)
    lhs, rhs, result = Layout((0, 1), (1,), (3,)), Layout((0, 1), (0,), (3,)), Layout((0, 1))
    options = PackingOptions(custom=lambda *_: [Packing(lhs, rhs, result, mmt4d=False)])
    assert packings(op, graph.types, options, constant_rhs=False) == (
        Packing(lhs, rhs, result, mmt4d=False),
    )
    texts = written(graph, options)
    assert texts
    assert all("tensor<8x3x3xf32>" in text for text in texts)


def test_a_custom_packing_that_is_not_there_says_so() -> None:
    with pytest.raises(InputError, match=r"expected a callable, as package\.module:name"):
        load_rule("no_such_module:packings")


def test_tiles_come_from_the_target(tmp_path: Path) -> None:
    text = (Path(__file__).parents[4] / "profiles" / "host.toml").read_text(encoding="utf-8")
    path = tmp_path / "own.toml"
    path.write_text(
        text.split("[packing.tiles]")[0]
        + '[packing]\ncustom = "a:b"\n[packing.tiles]\nf32 = [[4, 2, 1]]\n'
        + '[packing.blocks]\nf32 = [{ tile = [4, 4, 4], emit = "generic" }]\n',
        encoding="utf-8",
    )
    target = load_target(str(path))
    assert target.tiles == {"f32": (Tile(4, 2, 1),)}
    assert target.blocks == {"f32": (Tile(4, 4, 4, mmt4d=False),)}
    assert target.custom_packing == "a:b"
    path.write_text(
        path.read_text(encoding="utf-8").replace("[4, 2, 1]", "[4, 2]"), encoding="utf-8"
    )
    with pytest.raises(
        InputError, match=r"f32\[0\]: expected \[m, n, k\], each .*, but got \[4, 2\]; "
    ):
        load_target(str(path))
