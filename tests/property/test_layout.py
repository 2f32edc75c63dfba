import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutopt.ir.canonical_layout import canonical
from layoutopt.ir.layout import (
    ConversionKind,
    Layout,
    conversion_kind,
    layout_of_runs,
    memory_runs,
    row_major,
    same_memory,
)
from layoutopt.ir.neutral import Padding
from layoutopt.ir.types import Array, TensorType
from tests.property.layouts import layouts, shapes


def numbered(shape: tuple[int, ...]) -> Array:
    return np.arange(math.prod(shape)).reshape(shape)


@given(st.data(), shapes(), st.booleans())
def test_undo_takes_back_what_apply_did(
    data: st.DataObject, shape: tuple[int, ...], dividing: bool
) -> None:
    layout = data.draw(layouts(shape, dividing))
    array = numbered(shape)
    memory = layout.apply(array, padding=-1)
    assert memory.shape == layout.physical_shape(shape)
    assert np.array_equal(layout.undo(memory, shape), array)
    kind = TensorType(shape, "i64")
    assert layout.size_bytes(kind) == memory.nbytes
    assert layout.pads(shape) == (memory.size > array.size)
    assert np.count_nonzero(memory == -1) == memory.size - array.size


@given(st.data(), shapes(most=3))
@settings(max_examples=50)
def test_apply_is_the_pack_that_it_names(data: st.DataObject, shape: tuple[int, ...]) -> None:
    layout = data.draw(layouts(shape))
    array, memory = numbered(shape), layout.apply(numbered(shape))
    for place in np.ndindex(*memory.shape):
        logical = [0] * len(shape)
        for at, d in zip(place, layout.outer_dims_perm, strict=False):
            logical[d] += at * layout.tile_of(d)
        inner = place[len(shape) :]
        for at, d in zip(inner, layout.inner_dims_pos, strict=True):
            logical[d] += at
        assert memory[place] == array[tuple(logical)]


@given(st.data(), shapes())
@settings(max_examples=150)
def test_same_memory_is_what_memory_says(data: st.DataObject, shape: tuple[int, ...]) -> None:
    one, other = data.draw(layouts(shape)), data.draw(layouts(shape))
    array = numbered(shape)
    equal = np.array_equal(one.apply(array).ravel(), other.apply(array).ravel())
    assert same_memory(shape, one, other) == equal
    free = conversion_kind(shape, one, other) in (ConversionKind.NOTHING, ConversionKind.RESHAPE)
    assert free == equal


@given(st.data(), shapes())
@settings(max_examples=150)
def test_canonical_names_each_memory_order_once(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    one, other = data.draw(layouts(shape)), data.draw(layouts(shape))
    named = canonical(shape, one)
    assert same_memory(shape, one, named)
    assert canonical(shape, named) == named
    assert (named == canonical(shape, other)) == same_memory(shape, one, other)
    assert 1 not in named.inner_tiles


@given(st.data(), shapes(), st.sampled_from(Padding))
def test_canonical_keeps_padding_in_its_place(
    data: st.DataObject, shape: tuple[int, ...], padding: Padding
) -> None:
    layout = data.draw(layouts(shape, dividing=False)).padded_with(padding)
    array = numbered(shape).astype(np.float32)
    named = canonical(shape, layout)
    assert same_memory(shape, layout, named)
    assert canonical(shape, named) == named
    assert np.array_equal(named.apply(array).ravel(), layout.apply(array).ravel(), equal_nan=True)


@given(st.data(), shapes(), st.sampled_from(Padding), st.sampled_from(Padding))
@settings(max_examples=150)
def test_padded_memory_serves_where_its_padding_contract_is_met(
    data: st.DataObject, shape: tuple[int, ...], held: Padding, wanted: Padding
) -> None:
    one = data.draw(layouts(shape, dividing=False)).padded_with(held)
    other = data.draw(st.sampled_from([one, data.draw(layouts(shape, dividing=False))]))
    other = other.padded_with(wanted)
    if same_memory(shape, one, other):
        array = numbered(shape).astype(np.float32)
        here, there = one.apply(array).ravel(), other.apply(array).ravel()
        agrees = (here == there) | np.isnan(there)
        assert here.shape == there.shape
        assert agrees.all()


@given(shapes())
def test_canonical_row_major_is_row_major(shape: tuple[int, ...]) -> None:
    assert canonical(shape, row_major(len(shape))) == row_major(len(shape))


@given(st.data(), shapes(), st.integers(0, 10))
@settings(max_examples=150)
def test_runs_carry_a_layout_through_a_reshape(
    data: st.DataObject, shape: tuple[int, ...], pick: int
) -> None:
    layout = data.draw(layouts(shape))
    other = data.draw(reshapes(shape))
    found = layout_of_runs(other, memory_runs(shape, layout))
    array = numbered(shape)
    if found is not None:
        there = found.apply(array.reshape(other))
        assert np.array_equal(there.ravel(), layout.apply(array).ravel())
    if other == shape:
        assert found is not None


@given(st.data(), shapes())
@settings(max_examples=150)
def test_none_is_said_only_where_no_layout_fits(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    """Start from a layout of the other side: one exists, so one must be found."""
    other = data.draw(reshapes(shape))
    layout = data.draw(layouts(other))
    array = numbered(other)
    memory = memory_runs(other, layout)
    here = layout_of_runs(shape, memory)
    if here is not None:
        back = layout_of_runs(other, memory_runs(shape, here))
        assert back is not None
        assert np.array_equal(back.apply(array), canonical(other, layout).apply(array))


@st.composite
def reshapes(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Another shape of as many elements: factors regrouped, unit dims anywhere."""
    factors = [f for n in shape for f in {1: [], 4: [2, 2], 6: [2, 3], 8: [2, 4]}.get(n, [n])]
    grouped: list[int] = []
    for factor in factors:
        if draw(st.booleans()) and grouped:
            grouped[-1] *= factor
        else:
            grouped.append(factor)
    for _ in range(draw(st.integers(0, 2))):
        grouped.insert(draw(st.integers(0, len(grouped))), 1)
    return tuple(grouped)


def test_a_whole_dim_inside_a_tile_is_found() -> None:
    layout = Layout((1, 0), (0, 1), (2, 3))
    assert layout_of_runs((4, 3), memory_runs((4, 3), layout)) == row_major(2)
    nested = Layout((0, 1, 2), (2, 0, 1), (5, 2, 3))
    assert canonical((4, 3, 5), nested) == Layout((0, 1, 2), (0, 1), (2, 3))
