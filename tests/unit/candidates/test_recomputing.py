"""What is computed anew instead of stored: widened tensors ahead of norms, rotary embeddings."""

from __future__ import annotations

from layoutopt.candidates.candidate import identity_candidate
from layoutopt.candidates.choice import Choice
from layoutopt.candidates.cluster import form_clusters
from layoutopt.candidates.partition import partition_of
from layoutopt.candidates.recomputing import Recomputing
from layoutopt.candidates.saturation import saturate
from layoutopt.ir.graph import FusionBarrier, Graph, Slice, kind_name
from layoutopt.lowering.lower import lower
from layoutopt.rules.rewrites import REWRITES
from tests.parsing import lifted

H, F, V = "tensor<8x16xf16>", "tensor<8x16xf32>", "tensor<8xf32>"
SAME = "affine_map<(i, j) -> (i, j)>"
ROW = "affine_map<(i, j) -> (i)>"


def mapped(name: str, kind: str, body: str, *ins: str) -> str:
    """An elementwise op; ``ins``: operands with their types, ``V`` by row."""
    kinds = [i.split(" : ")[1] for i in ins]
    maps = ", ".join(ROW if k == V else SAME for k in (*kinds, kind))
    values = ", ".join(i.split(" : ")[0] for i in ins)
    elements = [k.split("x")[-1].rstrip(">") for k in (*kinds, kind)]
    arguments = ", ".join(f"%p{n}: {e}" for n, e in enumerate(elements))
    return (
        f"%{name}e = tensor.empty() : {kind}\n"
        f'%{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", '
        f'"parallel"]}} ins({values} : {", ".join(kinds)}) outs(%{name}e : {kind}) {{\n'
        f"^bb0({arguments}):\n{body}\nlinalg.yield %q : {elements[-1]} }} -> {kind}\n"
    )


WIDENED = mapped("wide", F, "%q = arith.extf %p0 : f16 to f32", f"%sum : {H}")
SQUARED = mapped("square", F, "%q = arith.mulf %p0, %p0 : f32", f"%wide : {F}")
REDUCED = f"""%norm = linalg.reduce ins(%square : {F}) outs(%none : {V}) dimensions = [1]
  (%a: f32, %b: f32) {{ %q = arith.addf %a, %b : f32
  linalg.yield %q : f32 }}
"""
SCALED = mapped("y", F, "%q = arith.divf %p0, %p1 : f32", f"%wide : {F}", f"%norm : {V}")
MATMUL = f"""%zero = arith.constant dense<0.0> : {H}
  %m = linalg.matmul ins(%x, %w : {H}, tensor<16x16xf16>) outs(%zero : {H}) -> {H}
"""
ADDED = mapped("sum", H, "%q = arith.addf %p0, %p1 : f16", f"%m : {H}", f"%x : {H}")


def graph_of(body: str, results: str, kinds: str) -> Graph:
    return lifted(f"""func.func @f(%x: {H}, %w: tensor<16x16xf16>) -> ({kinds}) {{
      %none = arith.constant dense<0.0> : {V}
      {body}
      return {results} : {kinds}
    }}""")


def kinds(graph: Graph, ops: tuple[int, ...]) -> list[str]:
    return [kind_name(graph.ops[i]) for i in ops]


def recomputing(graph: Graph) -> Recomputing:
    return Recomputing(graph, partition_of(graph, range(len(graph.ops))))


LATER = f"""%m2 = linalg.matmul ins(%x, %w : {H}, tensor<16x16xf16>) outs(%x : {H}) -> {H}
  {mapped("z", H, "%q = arith.addf %p0, %p1 : f16", f"%m2 : {H}", f"%sum : {H}")}"""
NORM = MATMUL + ADDED + WIDENED + SQUARED + REDUCED + SCALED + LATER


def test_a_residual_is_stored_once_and_widened_by_the_norm_that_reads_it() -> None:
    graph = graph_of(NORM, "%y, %z", f"{F}, {H}")
    found = recomputing(graph)
    ((whole, left),) = found.left.items()
    assert kinds(graph, whole) == ["contraction", *["elementwise"] * 3]
    assert kinds(graph, left) == ["elementwise"] * 2
    ((root, ops),) = found.readers()
    assert kinds(graph, ops) == ["elementwise", "elementwise", "reduction", "elementwise"]
    assert kind_name(graph.ops[root]) == "reduction"
    assert ops[:2] == left


def test_clusters_store_what_others_start_from_alone() -> None:
    graph = graph_of(NORM, "%y, %z", f"{F}, {H}")
    clusters = form_clusters(saturate(graph, ()))
    (reader,) = (c for c in clusters if c.recomputes)
    assert len(reader.inputs) == 1
    assert len(reader.outputs) == 1
    short = [c for c in clusters if kinds(graph, c.ops) == ["contraction", "elementwise"]]
    assert reader.inputs in [c.outputs for c in short]


def test_a_result_is_not_left_to_others() -> None:
    graph = graph_of(NORM, "%y, %z, %square", f"{F}, {H}, {F}")
    assert not recomputing(graph).left


def test_what_a_contraction_reads_is_not_left_to_it() -> None:
    more = f"""%v = tensor.empty() : tensor<16x16xf32>
      %k = linalg.matmul ins(%square, %v : {F}, tensor<16x16xf32>) outs(%y : {F}) -> {F}"""
    graph = graph_of(NORM + more, "%k, %z", f"{F}, {H}")
    assert not recomputing(graph).left


def test_a_rotary_embedding_becomes_part_of_what_reads_it() -> None:
    half = "tensor<8x8xf16>"
    body = f"""%a = tensor.extract_slice %x[0, 0] [8, 8] [1, 1] : {H} to {half}
      %b = tensor.extract_slice %x[0, 8] [8, 8] [1, 1] : {H} to {half}
      {mapped("n", half, "%q = arith.negf %p0 : f16", f"%b : {half}")}
      %c = tensor.concat dim(1) %n, %a : ({half}, {half}) -> {H}
      {mapped("s", H, "%q = arith.mulf %p0, %p1 : f16", f"%c : {H}", f"%x : {H}")}
      {mapped("t", H, "%q = arith.addf %p0, %p1 : f16", f"%s : {H}", f"%x : {H}")}"""
    graph = graph_of(body, "%t", H)
    found = recomputing(graph)
    assert all(whole == left for whole, left in found.left.items())
    ((_, ops),) = found.readers()
    assert sorted(kinds(graph, ops)) == ["concat", *["elementwise"] * 3, "slice", "slice"]


def test_its_slices_are_not_folded_into_those_that_it_reads() -> None:
    """A slice of one piece is read where it lies; the dispatch behind it stays as it was priced."""
    whole, half = "tensor<16x16xf16>", "tensor<8x8xf16>"
    graph = lifted(f"""func.func @f(%whole: {whole}) -> ({H}, {H}) {{
      %x = tensor.extract_slice %whole[8, 0] [8, 16] [1, 1] : {whole} to {H}
      %a = tensor.extract_slice %x[0, 0] [8, 8] [1, 1] : {H} to {half}
      %b = tensor.extract_slice %x[0, 8] [8, 8] [1, 1] : {H} to {half}
      {mapped("n", half, "%q = arith.negf %p0 : f16", f"%b : {half}")}
      %c = tensor.concat dim(1) %n, %a : ({half}, {half}) -> {H}
      {mapped("s", H, "%q = arith.mulf %p0, %p1 : f16", f"%c : {H}", f"%x : {H}")}
      %m = linalg.matmul ins(%x, %whole : {H}, {whole}) outs(%x : {H}) -> {H}
      return %s, %m : {H}, {H}
    }}""")
    egraph = saturate(graph, ())
    clusters = form_clusters(egraph)
    used = [
        identity_candidate(graph, place, cluster)
        for place, cluster in enumerate(clusters)
        if cluster.recomputes or cluster.ops == (0,) or kinds(graph, cluster.ops) == ["contraction"]
    ]
    ops = lower(graph, clusters, Choice(tuple(used), ())).graph.ops
    made = {t: op for op in ops for t in op.outputs}
    inner = [op for op in ops if isinstance(op, Slice) and op.source not in {0, 1}]
    assert len(inner) == 2
    assert all(isinstance(made[op.source], FusionBarrier) for op in inner)


def test_other_ways_to_make_a_tensor_part_nothing_of_the_models_own() -> None:
    """A reshape of the matmul's result, which a rule adds, is none that the model reads."""
    graph = graph_of(
        MATMUL
        + mapped("t", F, "%q = arith.extf %p0 : f16 to f32", f"%m : {H}")
        + f"""%r = tensor.expand_shape %t [[0, 1], [2]] output_shape [2, 4, 16]
            : {F} into tensor<2x4x16xf32>
          %e = tensor.empty() : tensor<2x4x16xf32>
          %n = linalg.map {{ arith.negf }} ins(%r : tensor<2x4x16xf32>)
            outs(%e : tensor<2x4x16xf32>)""",
        "%n",
        "tensor<2x4x16xf32>",
    )
    own = partition_of(graph, range(len(graph.ops)))
    egraph = saturate(graph, REWRITES)
    assert len(egraph.graph.ops) > len(graph.ops)
    assert partition_of(egraph.graph, range(egraph.original_ops)) == own
    clusters = form_clusters(egraph)
    whole = [c for c in clusters if len(c.ops) > 1 and c.ops[0] >= egraph.original_ops]
    assert ["contraction", "elementwise", "elementwise"] in [
        kinds(egraph.graph, c.ops) for c in whole
    ]
