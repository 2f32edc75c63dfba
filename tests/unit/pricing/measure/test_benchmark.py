from __future__ import annotations

from dataclasses import replace

from layoutopt.pricing.measure.benchmark import PASSED_TYPE, Benchmark, Case, Operand, Result
from layoutopt.pricing.measure.setting import place_of
from layoutopt.runtime.sampling import Protocol, launching_on

X, Y = "tensor<4x8xf32>", "tensor<4x8xf32>"


def no_case() -> Case:
    raise AssertionError("nothing measures this")


def benchmark(x: str = "%x0", prelude: str = "", flags: tuple[str, ...] = ("--a",)) -> Benchmark:
    return Benchmark(
        arguments=(Operand(x, X),),
        weights=(Operand("%w", X),),
        body=f"""
          %sum = arith.addf {x}, %w : {X}

          %out:2 = "some.op"(%sum) : ({X}) -> ({X}, {X})
        """,
        results=(Result("%out#1", Y),),
        flags=flags,
        case=no_case,
        prelude=prelude,
    )


def test_the_text_is_canonical() -> None:
    assert benchmark().text == (
        'util.global private @weight_0 = #stream.parameter.named<"weights"::"weight_0"> : '
        "tensor<4x8xf32>\n"
        "func.func @candidate(%v0: tensor<4x8xf32>) -> (tensor<4x8xf32>) {\n"
        "  %v1 = util.global.load @weight_0 : tensor<4x8xf32>\n"
        "  %v2 = arith.addf %v0, %v1 : tensor<4x8xf32>\n"
        '  %v3:2 = "some.op"(%v2) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)\n'
        "  return %v3#1 : tensor<4x8xf32>\n"
        "}"
    )


def test_value_names_do_not_matter() -> None:
    assert benchmark("%x0").key("host", "3.13") == benchmark("%conv1_out").key("host", "3.13")
    assert benchmark("%x0").text == benchmark("%conv1_out").text


def test_a_prelude_is_part_of_the_text() -> None:
    assert benchmark(prelude="\n#map = affine_map<(d0) -> (d0)>\n").text.startswith("#map = ")


def test_the_key_depends_on_all_that_changes_the_time() -> None:
    keys = [
        benchmark().key("host", "3.13"),
        benchmark().key("host2", "3.13"),
        benchmark().key("host", "3.14"),
        benchmark(flags=("--a", "--b")).key("host", "3.13"),
        benchmark(flags=("--a--b",)).key("host", "3.13"),
        replace(benchmark(), body="%out:2 = some.op").key("host", "3.13"),
    ]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 for key in keys)


def test_what_a_call_moves_counts_weights_and_planned_sizes() -> None:
    assert benchmark().moved_bytes == 3 * 4 * 8 * 4
    half = replace(benchmark(), arguments=(Operand("%x0", "tensor<?x8xf16>"),), sizes=((10, 8),))
    assert half.moved_bytes == 10 * 8 * 2 + 2 * 4 * 8 * 4
    passed = (Operand("%x0", "tensor<?x8xf16>"), Operand("%n", PASSED_TYPE))
    assert (
        replace(half, arguments=passed, sizes=((10, 8), (3,))).moved_bytes == half.moved_bytes + 24
    )


def test_only_what_is_small_is_launched_often_on_a_cpu() -> None:
    """What is not keeps its price: calling it takes little of its time."""
    protocol = Protocol(launching=launching_on("local-sync"))
    place = place_of("host", "local-sync", 1, protocol)
    large = replace(benchmark(), arguments=(Operand("%x0", "tensor<4096x4096xf32>"),))
    assert place.fingerprint(benchmark()) == "host local-sync threads=1 launches=16"
    assert place.fingerprint(large) == "host local-sync threads=1"
    odd = replace(benchmark(), arguments=(Operand("%x0", "tensor<8xi3>"),))
    assert odd.moved_bytes is None
    assert place.fingerprint(odd) == "host local-sync threads=1"
    on_gpu = place_of("gpu", "hip", 1, Protocol(launching=launching_on("hip")))
    assert on_gpu.fingerprint(large).endswith(" launches=32")
