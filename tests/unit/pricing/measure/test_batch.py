from __future__ import annotations

from layoutopt.pricing.measure.batch import LARGEST_TEXT, Batch, make_batches, split, write_module
from layoutopt.pricing.measure.benchmark import Benchmark, Case, Operand, Result

TYPE = "tensor<4xf32>"


def no_case() -> Case:
    raise AssertionError("nothing measures this")


def benchmark(name: str, flags: tuple[str, ...] = (), prelude: str = "") -> Benchmark:
    x, weight = Operand("%x", TYPE), Operand("%w", TYPE)
    body = f'%r = "test.{name}"(%x, %w)'
    return Benchmark((x,), (weight,), body, (Result("%r", TYPE),), flags, no_case, prelude)


def names(batches: tuple[Batch, ...]) -> list[list[str]]:
    return [[item.body[11:12] for item in batch.benchmarks] for batch in batches]


def test_each_line_of_a_module_belongs_to_a_candidate() -> None:
    prelude = "#map = affine_map<(d0) -> (d0)>"
    batch = Batch(tuple(benchmark(name, prelude=prelude) for name in "abc"), (0, 1, 2))
    module = write_module(batch)
    lines = module.text.splitlines()
    assert lines.count(prelude) == 1
    for place, name in enumerate("abc"):
        line = next(number for number, text in enumerate(lines, 1) if f'"test.{name}"' in text)
        assert module.function_at(line) == place
    assert module.function_at(1) is None
    assert module.function_at(len(lines)) == 2


def test_weights_get_their_own_names() -> None:
    text = write_module(Batch((benchmark("a"), benchmark("b")), (0, 1))).text
    assert '@c0_w_0 = #stream.parameter.named<"weights"::"c0_w_0"> : tensor<4xf32>' in text
    assert "util.global.load @c1_w_0 : tensor<4xf32>" in text


def test_batches_have_equal_flags_and_keep_competitors_together() -> None:
    candidates = [benchmark(name) for name in "abcd"] + [benchmark("e", ("--other",))]
    batches = make_batches(candidates, [10, 11, 12, 13, 14], [1, 2, 1, 2, 1], 2)
    assert names(batches) == [["a", "c"], ["b", "d"], ["e"]]
    assert [batch.order for batch in batches] == [(10, 12), (11, 13), (14,)]


def test_batches_are_about_equally_long() -> None:
    candidates = [benchmark("a")] * 17
    batches = make_batches(candidates, range(17), [0] * 17, 16)
    assert [len(batch.benchmarks) for batch in batches] == [8, 9]
    assert make_batches([], [], [], 16) == ()


def test_large_candidates_get_modules_of_their_own() -> None:
    small, large = benchmark("a"), benchmark("b" * LARGEST_TEXT)
    batches = make_batches([*[small] * 8, large, *[small] * 8], range(17), [0] * 17, 16)
    assert [len(batch.benchmarks) for batch in batches] == [8, 9]
    batches = make_batches([large, large, small, large], range(4), [0] * 4, 16)
    assert all(sum(b == large for b in batch.benchmarks) == 1 for batch in batches)


def test_cores_end_together() -> None:
    def lengths(*kinds: tuple[int, str]) -> list[int]:
        candidates = [benchmark("a", (flag,)) for count, flag in kinds for _ in range(count)]
        count = len(candidates)
        batches = make_batches(candidates, range(count), [0] * count, 40, 2)
        return [len(batch.benchmarks) for batch in batches]

    assert lengths((16, "--a")) == [8, 8]
    assert lengths((10, "--a"), (10, "--b")) == [10, 10]
    assert lengths((40, "--a"), (10, "--b")) == [20, 20, 10]
    assert lengths((1, "--a")) == [1]


def test_no_core_starts_a_module_that_another_has_done_by_then() -> None:
    assert len(make_batches([benchmark("a")] * 3, range(3), [0] * 3, 16, 16)) == 3


def test_splitting() -> None:
    batch = Batch(tuple(benchmark(name) for name in "abcde"), (0, 1, 2, 3, 4))
    assert names(split(batch)) == [["a", "b"], ["c", "d", "e"]]
