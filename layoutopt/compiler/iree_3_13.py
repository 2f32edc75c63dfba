"""IREE 3.13, as measured and seen with iree-base-compiler and iree-base-runtime 3.13.0."""

from __future__ import annotations

import re

from layoutopt.compiler.processor import Processor
from layoutopt.compiler.quirks import Flags, Fusion, Gpu, Limits, Names, Quirks, Types

# `DoubleTilingExpert` leaves loops of one element in the windows of a tile, so that nothing is
# vectorized ("large vector sizes", or a hundred times slower); `ConvTileAndDecomposeExpert` takes
# named ops alone. These are the passes of `DoubleTilingExpert`, as --mlir-print-ir-before-all
# prints them, with the unit loops folded ahead of the vectorizer: what is left is a contraction.
# The fill has to lose them as well, or the sums start in a buffer on the heap.
_WINDOWED_PASSES = (
    "iree-codegen-tile-and-distribute-to-workgroups-using-forall-op",
    "iree-codegen-bufferize-dispatch-tensor-load-store",
    "iree-codegen-combine-result-layout-transformation{{scope=dispatch}}",
    "iree-codegen-config-tracking-canonicalize",
    "cse",
    "iree-llvmcpu-tile-and-fuse-producer-consumer{{anchor-on-root-op=true "
    "only-fuse-producer-input-operands=false tiling-level=vector_common_parallel}}",
    "iree-llvmcpu-tile-and-fuse-producer-consumer{{anchor-on-root-op=true "
    "only-fuse-producer-input-operands=true tiling-level=vector_reduction}}",
    "iree-llvmcpu-tile{{skip-root-op=true tiling-level=vector_reduction}}",
    "iree-llvmcpu-tile-and-fuse-producer-consumer{{anchor-on-root-op=false "
    "only-fuse-producer-input-operands=false tiling-level=vector_inner_parallel}}",
    "iree-codegen-forall-to-for",
    "linalg-generalize-named-ops",
    "linalg-fold-unit-extent-dims{{use-rank-reducing-slices=true}}",
    "canonicalize",
    "cse",
    "iree-llvmcpu-tile-to-vector-size",
    "iree-codegen-generic-vectorization{{enable-cleanup=true enable-vector-masking=true "
    "generate-contract=true vectorize-copies=true}}",
    "iree-codegen-optimize-tensor-insert-extract-slices",
    "canonicalize",
    "cse",
    "iree-llvmcpu-verify-vector-size-legality",
    "iree-codegen-llvmcpu-bufferization-pipeline",
    "iree-codegen-propagate-dispatch-size-bounds",
    "iree-codegen-remove-single-iteration-loop",
    "iree-codegen-llvmcpu-vector-lowering-pipeline",
)

_GPU_SCHEDULE = (
    "compilation_info = #iree_codegen.compilation_info<lowering_config = "
    "#iree_gpu.lowering_config<{{{{{config}}}}}>, translation_info = "
    "#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> "
    "workgroup_size = [{{threads}}, 1, 1] subgroup_size = {{subgroup}}, "
    "{{{{gpu_pipeline_options = #iree_gpu.pipeline_options<{options}, "
    "use_igemm_convolution = {windows}>}}}}>>"
)
_BY_MATRICES = (
    "mma_kind = #iree_gpu.mma_layout<{instruction}>, {padding}promote_operands = [0, 1], "
    "reduction = {reduction}, subgroup = {vector}, workgroup = {distribution}"
)
_STAGES = "prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false"

IREE_3_13 = Quirks(
    version=(3, 13),
    data_tiling_attribute="iree.opt.data_tiling",
    # Obeyed on ops of the input, and kept where elementwise ops join the dispatch.
    schedule=(
        "compilation_info = #iree_codegen.compilation_info<lowering_config = "
        "#iree_cpu.lowering_config<distribution = {distribution}, "
        "vector_common_parallel = {vector}, vector_reduction = {reduction}>, "
        "translation_info = #iree_codegen.translation_info<"
        "pipeline = #iree_cpu.pipeline<DoubleTilingExpert>{options}>>"
    ),
    windowed_schedule=(
        "compilation_info = #iree_codegen.compilation_info<lowering_config = "
        "#iree_cpu.lowering_config<distribution = {distribution}, "
        "vector_common_parallel = {vector}, vector_reduction = {reduction}>, "
        "translation_info = #iree_codegen.translation_info<"
        'pipeline = #iree_codegen.pass_pipeline<"' + ",".join(_WINDOWED_PASSES) + '">>>'
    ),
    # Takes no maps of windows, and no tile that leaves a rest of its rows. Inside a dispatch region
    # alone its init is in the same dispatch; outside it is copied, which does not compile.
    byte_products=(
        "iree_codegen.inner_tiled ins({sources}) outs({init}) <indexing_maps = [{maps}], "
        "iterator_types = [{iterators}], kind = #iree_cpu.data_tiled_mma_layout<intrinsic = "
        "MMA_X86_AVX512VNNI_1x16x4_I32_UI8_I8, intrinsics_n = {vectors}>, "
        "semantics = #iree_cpu.mma_semantics<>> {{{schedule}}} : {types} into {result}"
    ),
    peeling=", {enable_loop_peeling}",
    # Samples beside the image are read where they are, outside of the tensor; lengths, peepholes
    # and the clip of RNN are not read at all.
    imports_wrong=frozenset(
        {
            "GridSample",
            "RNN with clip",
            "LSTM with peepholes",
            *(f"{kind} with lengths" for kind in ("RNN", "GRU", "LSTM")),
        }
    ),
    fusion=Fusion(
        # Without it, elementwise consumers take a pack or transpose in (86 us in place of 19 and
        # 27), data-tiling an operand joins the dispatch before it (ten times as long: 196x576 by
        # 576x96 on AVX2), transposes reorder the loops of a scheduled contraction (45 ms in place
        # of 1.4: 128x768 by 768x768, heads split behind it, AVX-512), and an op that only widens is
        # cloned into every dispatch that reads its result. After it, slices and joins that are one
        # piece of memory are still read and written in place. With the start alone, a reshape
        # behind it goes up through the elementwise ops ahead of it, which then have other loops
        # than their contraction, and a dispatch of their own.
        barrier=("iree_tensor_ext.compute_barrier.end", "iree_tensor_ext.compute_barrier.start"),
        # pad(insert_slice into a fill, strides 2) and insert_slice(pad, strides 2) into a fill of
        # the same value give elements side by side: wrong results.
        loses_strides=True,
        # x[n, c, 0 * 2 + k] of x[n, c, 0:3], k < 2, is folded to x[n, c, k], which is not valid;
        # with an open c, c and k become one loop, of other strides than x has: wrong results.
        loses_unit_windows=True,
        # Winograd's transform of 56x56x64 on one thread of AVX2: 603 us, number by number; 227
        # where the parts of the image are slices.
        vectorizes_strided_reads=False,
        # Sums of 3136x64 squares, for each of 64 channels, on one thread of AVX2: 167 us, 50
        # where no contraction is seen.
        takes_products_apart=True,
        # A pad is a dispatch of its own by default, often a slow copy. Inside the dispatch of a
        # depthwise convolution, a pooling or a copy of windows it is several times faster for some
        # shapes and slower for others; some do not compile. Never tried elsewhere.
        joins_pads=frozenset({Processor.AVX2, Processor.AVX512}),
    ),
    names=Names(
        # main_dispatch_3_matmul_256x1024x64_f32, main$async_dispatch_0_slow_memcpy
        mark="_dispatch_",
        sizes=re.compile(r"_((?:\d+|D)(?:x(?:\d+|D))*)(?:x[a-z]+\d+)?(?=_|$)"),
        moving=re.compile(r"_dispatch_\d+_(pack|unpack|transpose|slow_memcpy)(?:_|$)"),
        refused=re.compile(r'sym_name = "([^"]*_dispatch_\d+[^"]*)"'),
        exported=re.compile(r"hal\.executable\.export public @([\w$.]+)"),
        call=re.compile(r'= flow\.dispatch @"?[\w$.]+"?::@"?([\w$.]+)'),
        encode=re.compile(r"= flow\.tensor\.encode .*? : tensor<([^,>]*).*? -> tensor<([^,>]*)"),
        encoding=re.compile(r"_encoding_\d+_(.*)"),
        outer=re.compile(r"\s*util\.(func|initializer)\b"),
        inner="_{}",
        constant=re.compile(
            r"^\s*(%[\w$.]+) = "
            r"(?:util\.global\.load immutable|flow\.tensor\.constant|arith\.constant dense)"
        ),
        constant_copy=re.compile(
            r"stream\.cmd\.copy .*?, (%[\w$.]+) : !stream\.resource<constant>"
        ),
    ),
    types=Types(
        # --iree-input-demote-f64-to-f32 is on by default; of parameters and complex numbers too.
        demoted={"f64": "f32", "complex<f64>": "complex<f32>"},
        # The VM has no f16 or bf16, and makes f32 of f64.
        scalars=("i1", "i8", "i16", "i32", "i64", "index", "f32"),
        codes={
            "i1": 0x13000008,
            "i4": 0x10000004,
            "i8": 0x10000008,
            "i16": 0x10000010,
            "i32": 0x10000020,
            "i64": 0x10000040,
            "ui8": 0x12000008,
            "ui16": 0x12000010,
            "ui32": 0x12000020,
            "ui64": 0x12000040,
            "f16": 0x21000010,
            "f32": 0x21000020,
            "f64": 0x21000040,
            "bf16": 0x22000010,
            "complex<f32>": 0x23000040,
            "complex<f64>": 0x23000080,
            "f8E5M2": 0x24000008,
            "f8E4M3FN": 0x25000008,
            "f8E5M2FNUZ": 0x26000008,
            "f8E4M3FNUZ": 0x27000008,
            "f8E8M0FNU": 0x28000008,
        },
        tool_names={"complex<f32>": "cf64", "complex<f64>": "cf128"},
    ),
    flags=Flags(
        # A third off the time: no checks of the compiler's own IR between passes, no tables for
        # debuggers, no threads where each core has a compiler.
        quick=("--verify=false", "--iree-llvmcpu-debug-symbols=false"),
        one_thread=("--mlir-disable-threading",),
        # A tenth to a third more: each pass that cleans up collects the patterns of all ops that
        # there are, for each function anew, and most of these are Torch's.
        linalg=tuple(f"--iree-plugin=-input_{name}" for name in ("torch", "stablehlo", "tosa")),
        to_phase="--compile-to=",
        from_phase="--compile-from=",
        dump="--iree-hal-dump-executable-intermediates-to=",
        dump_sources="--iree-hal-dump-executable-sources-to=",
        # Of BERT with 24 layers in f16 (0.6 GB) the stream phase takes 11.9 s and 4.2 GB else, the
        # flow phase 6.7 s: constants are written as hexadecimal digits.
        without_values=(
            "--mlir-elide-elementsattrs-if-larger=1024",
            "--mlir-elide-resource-strings-if-larger=1024",
        ),
        one_executable="--compile-mode=hal-executable",
        # StableHLO as it is kept in files.
        input_types={"vhlo": ("--iree-input-type=stablehlo",)},
        inline="--pass-pipeline=builtin.module(inline{default-pipeline=},symbol-dce)",
        # No pass that reads portable artifacts has a name; this is the first one behind them.
        before_stablehlo=(
            "--mlir-print-ir-before=chlo-legalize-to-stablehlo",
            "--mlir-print-ir-module-scope",
            "--mlir-print-debuginfo",
            "--mlir-disable-threading",
            "--mlir-print-ir-tree-dir=",
        ),
        # With microkernels, an mmt4d of a tile that none of them has gives wrong numbers.
        narrow_vectors=("--iree-llvmcpu-target-cpu=generic",),
        no_memoization=("--iree-hal-memoization=false",),
        no_schedules=(
            "--iree-preprocessing-pass-pipeline="
            "builtin.module(util.func(iree-codegen-strip-compilation-info))",
        ),
        no_microkernels=("--iree-llvmcpu-enable-ukernels=none",),
        data_tiling="--iree-opt-data-tiling",
        byte_products="--iree-llvmcpu-enable-inner-tiled",
        # The local devices time each dispatch on the host, where it runs; Vulkan has timestamps of
        # the device, which need VK_EXT_calibrated_timestamps; CUDA and HIP answer "HAL-native
        # profiling is not implemented".
        dispatch_events={
            "local-sync": "host-execution",
            "local-task": "host-execution",
            "vulkan": "dispatch-events",
        },
    ),
    limits=Limits(
        # 32 buffers are bound to a dispatch at most.
        bindings=30,
        # Transpose propagation crashes on a transpose behind an op with several results.
        transposes_results_of_several=False,
        # The pack that data tiling puts behind a slice takes the whole slice onto the stack:
        # "exceeded stack allocation limit of 32768 bytes for function. Got 74752 bytes".
        tiles_slices=False,
        # Behind an elementwise op it does not compile ("'affine.delinearize_index' op no basis
        # element may be statically non-positive"); inside a model of BERT it gave other results at
        # 128 tokens, and the right ones at 16.
        tiles_open_batches=False,
        # The parser crashes on `permutation = []`.
        parses_scalar_transpose=False,
        # On AVX2, f32: 8x8 right and fast, 6x16 right and slow, 7x16, 8x16, 16x8, 1x64 wrong.
        microkernel_columns={Processor.AVX2: 8, Processor.AVX512: 16, Processor.NEON: 8},
    ),
    gpu=Gpu(
        # #iree_gpu.target<arch = "gfx950", .. mma = [<MFMA_F32_16x16x32_F16>, ..],
        # subgroup_size_choices = [64], .. max_thread_count_per_workgroup = 1024,
        # max_workgroup_memory_bytes = 163840, ..>. Those of several blocks ("4x4x4x16B") and of two
        # types of factors are none that a schedule takes; NV_WMMA ones do not compile in one.
        instruction=re.compile(
            r"<(?P<name>(?:MFMA|NV_MMA_SYNC|WMMAR\d)_(?P<sums>[A-Z]+\d+)"
            r"_(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)_(?P<element>B?F16|F32|F64|I8))>"
        ),
        subgroup=re.compile(r"subgroup_size_choices = \[(\d+)"),
        most_threads=re.compile(r"max_thread_count_per_workgroup = (\d+)"),
        memory_bytes=re.compile(r"max_workgroup_memory_bytes = (\d+)"),
        matrix_schedule=_GPU_SCHEDULE.format(config=_BY_MATRICES, options=_STAGES, windows="false"),
        vector_schedule=_GPU_SCHEDULE.format(
            config="{padding}promote_operands = [0, 1], reduction = {reduction}, "
            "thread = {vector}, workgroup = {distribution}",
            options="no_reduce_shared_memory_bank_conflicts = true",
            windows="false",
        ),
        padding="padding = {sizes}, ",
        window_schedule=_GPU_SCHEDULE.format(config=_BY_MATRICES, options=_STAGES, windows="true"),
        window_padding="padding_conv = {sizes}, ",
        # Each op of the dispatch needs its own. A row that the step does not divide is masked.
        row_schedule="lowering_config = #iree_gpu.lowering_config<{{lane_basis = [{lanes}, {loops}]"
        ", subgroup_basis = [{subgroups}, {loops}], thread = {vector}{steps}}}>",
        row_steps={
            True: ", partial_reduction = {reduction}, workgroup = {distribution}",
            False: ", serial = {reduction}",
        },
        row_dispatch="compilation_info = #iree_codegen.compilation_info<{config}, translation_info "
        "= #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> "
        "workgroup_size = [{threads}, 1, 1] subgroup_size = {subgroup}, {{gpu_pipeline_options = "
        "#iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, "
        "use_igemm_convolution = false>}}>>",
    ),
)
