"""Which ops are expected in one dispatch."""

import pytest

from layoutopt.candidates.cluster import form_clusters
from layoutopt.candidates.saturation import saturate
from layoutopt.ir.graph import kind_name
from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rewrites.examples import convolution_example
from layoutopt.rules.rewrites.merge_summed_contractions import MergeSummedContractions
from tests.parsing import lifted

PLAIN = tuple(rule for rule in REWRITES if rule.name != "reassociate-contractions")
"""Chains of matmuls have other orders, which are clusters too."""
T = "tensor<8x8xf32>"
V = "tensor<8xf32>"
ROWS = "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>"


def clusters_of(body: str, result: str = T) -> list[list[str]]:
    """The kinds of the ops in each cluster."""
    graph = lifted(f"""func.func @f(%x: {T}, %w: {T}) -> {result} {{
      %zero = arith.constant dense<0.0> : {T}
      %none = arith.constant dense<0.0> : {V}
      %low = arith.constant dense<0xFF800000> : {V}
      {body}
      return %r : {result}
    }}""")
    egraph = saturate(graph, PLAIN)
    return [[kind_name(egraph.graph.ops[i]) for i in c.ops] for c in form_clusters(egraph)]


def matmul(name: str, of: str = "%x") -> str:
    return f"{name} = linalg.matmul ins({of}, %w : {T}, {T}) outs(%zero : {T}) -> {T}\n"


def mapped(name: str, op: str, *of: str) -> str:
    kinds = ", ".join(T for _ in of)
    return f"{name} = linalg.map {{ {op} }} ins({', '.join(of)} : {kinds}) outs(%zero : {T})\n"


def reduced(name: str, op: str, of: str, start: str) -> str:
    return (
        f"{name} = linalg.reduce ins({of} : {T}) outs({start} : {V}) dimensions = [1]\n"
        f"(%a: f32, %b: f32) {{ %q = {op} %a, %b : f32\nlinalg.yield %q : f32 }}\n"
    )


def by_row(name: str, op: str, of: str, row: str) -> str:
    return (
        f'{name} = linalg.generic {{indexing_maps = [{ROWS}], iterator_types = ["parallel", '
        f'"parallel"]}} ins({of}, {row} : {T}, {V}) outs(%zero : {T}) {{\n'
        f"^bb0(%a: f32, %b: f32, %c: f32):\n%q = {op} %a, %b : f32\nlinalg.yield %q : f32 }} "
        f"-> {T}\n"
    )


SOFTMAX = (
    reduced("%max", "arith.maximumf", "%x", "%low")
    + by_row("%sub", "arith.subf", "%x", "%max")
    + mapped("%exp", "math.exp", "%sub")
    + reduced("%sum", "arith.addf", "%exp", "%none")
    + by_row("%r", "arith.divf", "%exp", "%sum")
)


def test_residual_add_joins_the_later_matmul() -> None:
    body = matmul("%a") + matmul("%b", "%a") + mapped("%r", "arith.addf", "%b", "%a")
    assert clusters_of(body) == [["contraction"], ["contraction", "elementwise"]]


def test_gelu_reads_its_matmul_twice() -> None:
    body = matmul("%a") + mapped("%b", "math.erf", "%a") + mapped("%r", "arith.mulf", "%a", "%b")
    assert clusters_of(body) == [["contraction", "elementwise", "elementwise"]]


def test_a_matmul_that_another_matmul_reads_keeps_its_result() -> None:
    body = (
        matmul("%a")
        + mapped("%b", "math.exp", "%a")
        + matmul("%c", "%a")
        + mapped("%r", "arith.addf", "%b", "%c")
    )
    assert clusters_of(body) == [
        ["contraction"],
        ["elementwise"],
        ["contraction", "elementwise"],
    ]


def test_softmax_is_one_cluster() -> None:
    kinds = ["reduction", "elementwise", "elementwise", "reduction", "elementwise"]
    assert clusters_of(SOFTMAX) == [kinds]


M = "tensor<4x8x8xf32>"
OVER_HEADS = "affine_map<(h, i, j) -> (h, i, j)>"


def masked(name: str, of: str, mask: str) -> str:
    """One mask added to all heads."""
    maps = f"{OVER_HEADS}, affine_map<(h, i, j) -> (i, j)>, {OVER_HEADS}"
    return (
        f"{name} = linalg.generic {{indexing_maps = [{maps}], "
        'iterator_types = ["parallel", "parallel", "parallel"]} '
        f"ins({of}, {mask} : {M}, {T}) outs(%heads : {M}) {{\n"
        f"^bb0(%a: f32, %b: f32, %c: f32):\n%q = arith.addf %a, %b : f32\n"
        f"linalg.yield %q : f32 }} -> {M}\n"
    )


def scores(name: str, of: str) -> str:
    """A product, behind something that no other op shares a dispatch with."""
    return (
        f"{name}_p = linalg.batch_matmul ins({of}, {of} : {M}, {M}) outs(%heads : {M}) -> {M}\n"
        f"{name} = util.optimization_barrier {name}_p : {M}\n"
    )


@pytest.mark.parametrize("layers", [1, 2])
def test_a_mask_that_later_layers_add_too_is_stored_by_itself(layers: int) -> None:
    """IREE stores it in a dispatch with the mask's own loops; where one layer reads it, in that."""
    body = (
        f"%heads = arith.constant dense<0.0> : {M}\n"
        + mapped("%mask", "math.exp", "%x")
        + f"%room = tensor.empty() : {M}\n"
        + f"%f = linalg.broadcast ins(%x : {T}) outs(%room : {M}) dimensions = [0]\n"
        + scores("%s0", "%f")
        + masked("%m0", "%s0", "%mask")
    )
    if layers == 2:
        body += scores("%s1", "%m0") + masked("%m1", "%s1", "%mask")
    body += f"%r = tensor.extract_slice %m{layers - 1}[0, 0, 0] [1, 8, 8] [1, 1, 1] : {M} to {T}\n"
    first, *_ = clusters_of(body)
    assert first == ["elementwise"] * (3 - layers)


def test_layer_norm_is_one_cluster() -> None:
    body = (
        reduced("%mean", "arith.addf", "%x", "%none")
        + by_row("%centered", "arith.subf", "%x", "%mean")
        + mapped("%square", "arith.mulf", "%centered", "%centered")
        + reduced("%variance", "arith.addf", "%square", "%none")
        + by_row("%r", "arith.divf", "%centered", "%variance")
    )
    kinds = ["reduction", "elementwise", "elementwise", "reduction", "elementwise"]
    assert clusters_of(body) == [kinds]


def test_a_transpose_stands_alone_or_where_it_is_read() -> None:
    body = (
        matmul("%a")
        + f"%t = linalg.transpose ins(%a : {T}) outs(%zero : {T}) permutation = [1, 0]\n"
        + mapped("%r", "math.exp", "%t")
    )
    apart = [["contraction"], ["copy"], ["elementwise"]]
    assert clusters_of(body) == [*apart, ["copy", "elementwise"]]


def test_a_cluster_never_depends_on_itself_through_an_opaque_op() -> None:
    """The add reads the matmul and, behind an unknown op, the matmul again."""
    body = (
        matmul("%a")
        + mapped("%b", "math.exp", "%a")
        + f"%o = util.optimization_barrier %b : {T}\n"
        + mapped("%r", "arith.addf", "%b", "%o")
    )
    assert clusters_of(body) == [["contraction", "elementwise"], ["elementwise"]]


def test_each_alternative_gets_what_follows_it() -> None:
    graph = convolution_example(filter_size=2, stride=2)
    egraph = saturate(graph, PLAIN)
    clusters = form_clusters(egraph)
    kinds = [[kind_name(egraph.graph.ops[i]) for i in c.ops] for c in clusters]
    assert kinds == [["convolution"], ["reshape"], ["contraction"], ["copy"], ["contraction"]]
    assert clusters[0].inputs == (0, 1)
    assert clusters[0].outputs == (2,)
    assert clusters[2].outputs == (2,)


def test_a_slice_is_read_in_place_by_a_contraction_or_copy_behind_it() -> None:
    """IREE puts it into the dispatch that reads it; alone it is a copy."""
    egraph = saturate(convolution_example(filter_size=1, stride=2))
    kinds = [
        [kind_name(egraph.graph.ops[i]) for i in cluster.ops] for cluster in form_clusters(egraph)
    ]
    assert ["slice"] in kinds
    assert ["contraction"] in kinds
    (fused,) = (c for c in form_clusters(egraph) if [kind_name(egraph.graph.ops[i]) for i in c.ops]
                == ["slice", "contraction"])  # fmt: skip
    assert fused.root == fused.ops[1]
    assert fused.inputs[0] == egraph.graph.inputs[0]
    assert fused.outputs == egraph.graph.outputs


def transposed(name: str, of: str) -> str:
    return f"{name} = linalg.transpose ins({of} : {T}) outs(%zero : {T}) permutation = [1, 0]\n"


def test_a_transpose_is_priced_with_the_elementwise_ops_that_it_alone_reads_and_apart() -> None:
    body = mapped("%a", "math.exp", "%x") + transposed("%r", "%a")
    assert clusters_of(body) == [["elementwise"], ["copy"], ["elementwise", "copy"]]


def test_a_transpose_of_what_others_read_stays_apart() -> None:
    body = mapped("%a", "math.exp", "%x") + transposed("%b", "%a") + matmul("%c", of="%a")
    body += mapped("%r", "arith.addf", "%b", "%c")
    assert ["elementwise", "copy"] not in clusters_of(body)


def test_a_transpose_behind_a_contraction_stays_apart() -> None:
    assert clusters_of(matmul("%a") + transposed("%r", "%a")) == [["contraction"], ["copy"]]


WIDE = "tensor<1x8x8xf32>"


ROW = "tensor<1x8xf32>"


def behind_an_expanded_matmul(body: str, result: str = WIDE) -> list[list[str]]:
    """The clusters of a matmul whose result is expanded to %e, and of what computes %r of that."""
    expanded = f"tensor.expand_shape %s [[0, 1], [2]] output_shape [1, 8, 8] : {T} into {WIDE}"
    return clusters_of(
        f"""{matmul("%s")}
        %e = {expanded}
        %out = tensor.empty() : {WIDE}
        {body}""",
        result,
    )


def each(name: str, op: str, *of: str) -> str:
    kinds = ", ".join(WIDE for _ in of)
    return f"{name} = linalg.map {{ {op} }} ins({', '.join(of)} : {kinds}) outs(%out : {WIDE})\n"


def maximum(name: str, of: str) -> str:
    return (
        f"%lowest = arith.constant dense<0xFF800000> : {ROW}\n"
        f"{name} = linalg.reduce ins({of} : {WIDE}) outs(%lowest : {ROW}) dimensions = [2]\n"
        "(%a: f32, %b: f32) { %q = arith.maximumf %a, %b : f32\nlinalg.yield %q : f32 }\n"
    )


def softmax(name: str, of: str) -> str:
    operands = f"ins({of} : {WIDE}) outs(%out : {WIDE})"
    return f"{name} = linalg.softmax dimension(2) {operands} -> {WIDE}\n"


def test_what_reads_an_expanded_matmul_shares_its_dispatch() -> None:
    """Attention scores are scaled in the dispatch that makes them, or in that of their maxima."""
    scaled = each("%scaled", "math.tanh", "%e")
    found = behind_an_expanded_matmul(scaled + maximum("%r", "%scaled"), ROW)
    assert ["contraction", "elementwise"] in found
    assert ["elementwise", "reduction"] in found, "as in the model"
    assert ["reduction"] in found, "what is left of it"


def test_what_reads_an_expanded_matmul_and_what_follows_from_it_stays_apart() -> None:
    found = behind_an_expanded_matmul(softmax("%p", "%e") + each("%r", "arith.addf", "%e", "%p"))
    assert ["elementwise"] in found
    assert ["contraction", "elementwise"] not in found


def test_a_sum_of_parts_shares_its_dispatch_with_what_reads_it() -> None:
    """Or does not, as prices decide."""
    long = "tensor<8x4096xf32>, tensor<4096x8xf32>"
    graph = lifted(f"""func.func @f(%x: tensor<8x4096xf32>, %w: tensor<4096x8xf32>) -> {T} {{
      %zero = arith.constant dense<0.0> : {T}
      %s = linalg.matmul ins(%x, %w : {long}) outs(%zero : {T}) -> {T}
      {mapped("%r", "math.tanh", "%s")}
      return %r : {T}
    }}""")
    egraph = saturate(graph, PLAIN)
    found = [[kind_name(egraph.graph.ops[i]) for i in c.ops] for c in form_clusters(egraph)]
    assert ["reduction", "elementwise"] in found
    assert ["reduction"] in found


def test_what_follows_inside_a_cluster_follows_other_ways_to_make_it_too() -> None:
    """``exp(x . w1 + b + x . w2)``: the merged contraction takes along the bias and the exp."""
    graph = lifted(f"""func.func @f(%x: {T}, %b: {T}) -> {T} {{
      %zero = arith.constant dense<0.0> : {T}
      %w1 = arith.constant dense<1.0> : {T}
      %w2 = arith.constant dense<2.0> : {T}
      %p = linalg.matmul ins(%x, %w1 : {T}, {T}) outs(%zero : {T}) -> {T}
      %q = linalg.matmul ins(%x, %w2 : {T}, {T}) outs(%zero : {T}) -> {T}
      {mapped("%s", "arith.addf", "%p", "%b")}
      {mapped("%t", "arith.addf", "%s", "%q")}
      {mapped("%r", "math.exp", "%t")}
      return %r : {T}
    }}""")
    egraph = saturate(graph, (MergeSummedContractions(),))
    formed = form_clusters(egraph)
    new = [c for c in formed if any(i >= egraph.original_ops for i in c.ops)]
    kinds = [[kind_name(egraph.graph.ops[i]) for i in c.ops] for c in new]
    assert kinds == [
        ["contraction"],
        ["contraction", "elementwise", "elementwise"],
        ["elementwise", "elementwise"],
    ]
    assert all(c.outputs == graph.outputs for c in new[1:])
