from __future__ import annotations

import numpy as np
import pytest

from layoutopt.pricing.analytic.compiled.launch import Call, Geometry
from layoutopt.pricing.analytic.compiled.llvm_ir import (
    UnreadableError,
    does_nothing,
    parse_functions,
    shared_sizes,
)
from layoutopt.pricing.analytic.compiled.memory_lines import (
    Lines,
    lines_of,
    shared_memory_cycles,
)
from layoutopt.pricing.analytic.compiled.trace import (
    Trace,
    rounds_until,
    trace,
)

LOOP = """
define amdgpu_kernel void @f(ptr addrspace(1) inreg noalias %0, ptr addrspace(1) inreg %1) #0 {{
  %3 = tail call range(i32 0, 64) i32 @llvm.amdgcn.workitem.id.x()
  %4 = tail call range(i32 0, 4) i32 @llvm.amdgcn.workgroup.id.x()
  %5 = mul nuw nsw i32 %4, {group_bytes}
  %6 = mul nuw nsw i32 %3, {lane_bytes}
  %7 = add nuw nsw i32 %5, %6
  br label %8

8:                                                ; preds = %8, %2
  %9 = phi i32 [ 0, %2 ], [ %14, %8 ]
  %10 = mul nuw nsw i32 %9, {round_bytes}
  %11 = add nuw nsw i32 %7, %10
  %12 = getelementptr inbounds nuw i8, ptr addrspace(1) %0, i32 %11
  %13 = load <4 x float>, ptr addrspace(1) %12, align 4
  %14 = add nuw nsw i32 %9, 1
  %15 = icmp {predicate} i32 %14, 10
  br i1 %15, label {targets}

16:                                               ; preds = %8
  ret void
}}
"""
GUARDED = """
define amdgpu_kernel void @f(ptr addrspace(1) %0) #0 {
  %2 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %3 = icmp ult i32 %2, 2
  br i1 %3, label %body, label %end

body:                                             ; preds = %1
  %4 = shl i32 %2, 2
  %5 = getelementptr i8, ptr addrspace(1) %0, i32 %4
  %6 = load i32, ptr addrspace(1) %5, align 4
  %7 = getelementptr i8, ptr addrspace(1) %0, i32 %6
  store float 1.000000e+00, ptr addrspace(1) %7, align 4
  br label %end

end:                                              ; preds = %body, %1
  ret void
}
"""
SHARED = """
@shared = private addrspace(3) global [1024 x float] undef, align 16

define amdgpu_kernel void @f(ptr addrspace(1) %0) #0 {{
  %2 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %3 = mul i32 %2, {words}
  %4 = getelementptr [4 x i8], ptr addrspace(3) @shared, i32 %3
  %5 = load float, ptr addrspace(3) %4, align 4
  ret void
}}
"""


def loop(
    lane_bytes: int = 16, round_bytes: int = 1024, group_bytes: int = 0, stays: str = "ne"
) -> str:
    targets = "%8, label %16" if stays != "eq" else "%16, label %8"
    return LOOP.format(
        lane_bytes=lane_bytes,
        round_bytes=round_bytes,
        group_bytes=group_bytes,
        predicate=stays,
        targets=targets,
    )


def traced(text: str, groups: int = 4) -> Trace:
    geometry = Geometry(tuple((g, 0, 0) for g in range(groups)), (64, 1, 1), 64)
    call = Call((groups, 1, 1))
    return trace(parse_functions(text)["f"], shared_sizes(text), geometry, call)


def reads(text: str, groups: int = 4) -> Lines:
    found = traced(text, groups)
    body = len(found.trips) - 1
    own = [a for a in found.accesses if a.loop == body and not a.writes]
    return lines_of(own, 64, found.trips[body])


@pytest.mark.parametrize(("stays", "rounds"), [("ne", 10), ("eq", 10), ("ult", 10), ("sle", 11)])
def test_rounds_follow_from_the_first_ones(stays: str, rounds: int) -> None:
    assert traced(loop(stays=stays)).trips == (1.0, rounds)


def test_lanes_side_by_side_share_lines() -> None:
    """64 lanes of 16 bytes are 8 lines of 128."""
    found = reads(loop())
    assert (found.bytes, found.wave, found.group) == (1024, 8, 8)


def test_lanes_apart_have_a_line_each() -> None:
    assert reads(loop(lane_bytes=4096)).wave == 64


def test_workgroups_that_read_the_same_share_lines() -> None:
    assert reads(loop(group_bytes=0)).shared == 8 / 4
    assert reads(loop(group_bytes=4096)).shared == 8


def test_lines_of_an_earlier_round_are_not_new() -> None:
    assert reads(loop(round_bytes=1024)).fresh == 1
    assert reads(loop(round_bytes=512)).fresh == 0.5
    assert reads(loop(round_bytes=0)).fresh == 0


def test_lanes_that_a_branch_leaves_out_touch_nothing() -> None:
    found = traced(GUARDED, 1)
    (read,) = [a for a in found.accesses if not a.writes]
    assert int(read.mask.sum()) == 2
    assert lines_of([read], 64, 1.0).wave == 1


def test_an_address_from_memory_may_be_anywhere() -> None:
    """Each of the two lanes that take part has a line of its own."""
    found = traced(GUARDED, 1)
    (write,) = [a for a in found.accesses if a.writes]
    assert write.addresses is None
    assert lines_of([write], 64, 1.0).wave == 2


@pytest.mark.parametrize(("words", "cycles"), [(1, 2), (2, 4), (32, 64), (33, 2), (0, 2)])
def test_banks_that_many_lanes_want_take_turns(words: int, cycles: int) -> None:
    """64 lanes of 4 bytes over 32 banks; one word that all read is read once, in no less than the
    bytes take."""
    found = traced(SHARED.format(words=words), 1)
    assert shared_memory_cycles(found.accesses, 64, 1.0) == cycles


def test_a_loop_that_depends_on_memory_is_told() -> None:
    text = loop().replace("%15 = icmp ne i32 %14, 10", "%15 = icmp ne i32 %14, %16").replace(
        "%14 = add nuw nsw i32 %9, 1",
        "%14 = add nuw nsw i32 %9, 1\n  %16 = load i32, ptr addrspace(1) %0, align 4",
    )  # fmt: skip
    with pytest.raises(UnreadableError, match="a loop whose length does not follow"):
        traced(text.replace("%8, label %16", "%8, label %17").replace("\n16:", "\n17:"))


def test_lanes_may_leave_a_loop_at_different_times() -> None:
    start, step = np.array([-4, -8]), np.array([2, 2])
    assert rounds_until("lt", start, step) == 3.0
    assert rounds_until("lt", start, -step) is None


def test_a_lane_may_fill_many_bytes_at_once() -> None:
    filled = "call void @llvm.memset.p1.i64(ptr addrspace(1) %5, i8 0, i64 60, i1 false)"
    text = GUARDED.replace("store float 1.000000e+00, ptr addrspace(1) %7, align 4", filled)
    (write,) = [a for a in traced(text, 1).accesses if a.writes]
    assert write.lane_bytes == 60
    with pytest.raises(UnreadableError, match=r"a call of llvm\.memset\.p1\.i64 whose length"):
        traced(text.replace("i64 60", "i64 %6"), 1)


def test_a_lane_may_copy_bytes_from_shared_memory() -> None:
    copied = (
        "call void @llvm.memcpy.p1.p3.i32(ptr addrspace(1) %5, ptr addrspace(3) @__shared, "
        "i32 24, i1 false)"
    )
    text = GUARDED.replace("store float 1.000000e+00, ptr addrspace(1) %7, align 4", copied)
    read, write = (a for a in traced(text, 1).accesses if a.lane_bytes == 24)
    assert (read.space, read.writes, write.space, write.writes) == ("lds", False, "global", True)
    with pytest.raises(UnreadableError, match=r"a call of llvm\.memcpy\.p1\.p3\.i32 whose length"):
        traced(text.replace("i32 24", "i32 %6"), 1)


ROWS = """
define amdgpu_kernel void @f(ptr addrspace(1) inreg noalias %0, i32 inreg noundef %1) #0 {
  %3 = zext i32 %1 to i64
  %4 = tail call range(i32 0, 64) i32 @llvm.amdgcn.workitem.id.x()
  %5 = tail call range(i32 0, 2147483647) i32 @llvm.amdgcn.workgroup.id.x()
  %6 = zext nneg i32 %5 to i64
  %7 = tail call dereferenceable(256) ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %8 = load i32, ptr addrspace(4) %7, align 4
  %9 = zext i32 %8 to i64
  br label %10

10:                                               ; preds = %2, %10
  %11 = phi i64 [ %6, %2 ], [ %24, %10 ]
  %12 = shl nuw nsw i32 %4, 3
  %13 = insertelement <8 x i32> poison, i32 %12, i64 0
  %14 = shufflevector <8 x i32> %13, <8 x i32> poison, <8 x i32> zeroinitializer
  %15 = zext nneg <8 x i32> %14 to <8 x i64>
  %16 = tail call <8 x i64> @llvm.stepvector.v8i64()
  %17 = or disjoint <8 x i64> %16, %15
  %18 = icmp slt <8 x i64> %17, splat (i64 128)
  %19 = shl i64 %11, 8
  %20 = zext nneg i32 %12 to i64
  %21 = add i64 %19, %20
  %22 = getelementptr [2 x i8], ptr addrspace(1) %0, i64 %21
  %23 = tail call <8 x half> @llvm.masked.load.v8f16.p1(ptr addrspace(1) align 2 %22, \
<8 x i1> %18, <8 x half> poison)
  %24 = add i64 %11, %9
  %25 = icmp samesign ugt i64 %3, %24
  br i1 %25, label %10, label %26

26:                                               ; preds = %10
  ret void
}
""".replace("\\\n", "")


@pytest.mark.parametrize(("rows", "groups", "rounds"), [(100, 100, 1), (100, 25, 4), (64, 8, 8)])
def test_rows_are_what_a_call_says_and_steps_what_all_workgroups_take(
    rows: int, groups: int, rounds: int
) -> None:
    geometry = Geometry(((0, 0, 0),), (64, 1, 1), 64)
    function = parse_functions(ROWS)["f"]
    assert function.numbers == ("%1",)
    found = trace(function, {}, geometry, Call((groups, 1, 1), (rows,)))
    assert found.trips == (1.0, rounds)


def test_masked_lanes_take_no_part() -> None:
    """16 lanes of eight elements are the 128 that there are; the others read nothing."""
    geometry = Geometry(((0, 0, 0),), (64, 1, 1), 64)
    found = trace(parse_functions(ROWS)["f"], {}, geometry, Call((100, 1, 1), (100,)))
    (access,) = found.accesses
    assert int(access.mask.sum()) == 16


def test_a_loop_over_rows_that_no_one_tells_is_not_understood() -> None:
    geometry = Geometry(((0, 0, 0),), (64, 1, 1), 64)
    with pytest.raises(UnreadableError):
        trace(parse_functions(ROWS)["f"], {}, geometry, Call((100, 1, 1)))


def test_a_kernel_that_returns_at_once_does_nothing() -> None:
    left_out = """
define amdgpu_kernel void @f(ptr addrspace(1) inreg noalias %0, i32 inreg noundef %1) #0 {
  call void @llvm.assume(i1 true) [ "align"(ptr addrspace(1) %0, i64 64) ]
  ret void
}
"""
    assert does_nothing(parse_functions(left_out)["f"])
    assert not does_nothing(parse_functions(ROWS)["f"])
