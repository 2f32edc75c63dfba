"""The questions that every version of IREE has an answer to.

A field says what depends on it; the file of a version says what was seen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from layoutopt.compiler.processor import Processor


@dataclass(frozen=True)
class Fusion:
    """What shares a dispatch, and what keeps it apart."""

    barrier: tuple[str, ...]
    """The ops, one behind the other, that neither fusion nor reshapes cross: they stand behind all
    that was priced by itself."""
    loses_strides: bool
    """Whether a strided insert is folded with a pad or insert beside it as if it had no strides."""
    loses_unit_windows: bool
    """Whether a window that stands in one place is taken to read all of a dim."""
    vectorizes_strided_reads: bool
    """Whether an op becomes vectors whose operands are read a stride apart."""
    takes_products_apart: bool
    """Whether sums of products of equal places, along an outer loop, are computed one by one."""
    joins_pads: frozenset[Processor]
    """Where a pad is tried inside the dispatch that reads it through windows. Nowhere else:
    no such dispatch is written for other processors, and no GPU, unless a target says
    ``fuses_pads = true``."""


@dataclass(frozen=True)
class Names:
    """How dispatches are called, in modules, profiles, error messages and compiled text."""

    mark: str
    """What stands between the name of a function and the number of its dispatch."""
    sizes: re.Pattern[str]
    """Group 1: the loop sizes in what follows the number, each behind a ``_``; the last ones.

    A size that is known at run time only is a ``D``.
    """
    moving: re.Pattern[str]
    """Group 1: the word for a dispatch that only moves data."""
    refused: re.Pattern[str]
    """Group 1: the name of a dispatch in the IR that an error message shows."""
    exported: re.Pattern[str]
    """Group 1: the name of a dispatch in what its executable is made from."""
    call: re.Pattern[str]
    """The call of a dispatch in the flow phase."""
    encode: re.Pattern[str]
    """In the flow phase, what becomes a dispatch that lays a tensor out for data tiling.

    Groups 1 and 2: the shapes and element types of both.
    """
    encoding: re.Pattern[str]
    """Group 1: what such a dispatch is called by: ``encode_169x64xf32_to_169x64xf32``."""
    outer: re.Pattern[str]
    """What a line of the flow phase opens: a ``func``, or an ``initializer`` that runs at load."""
    inner: str
    """What a function is called that IREE wraps in one of its name, as it does where it has an op
    of ``byte_products``; for `str.format`."""
    constant: re.Pattern[str]
    """Group 1: a value of the flow phase that holds a constant of the model."""
    constant_copy: re.Pattern[str]
    """Group 1: the size of a constant that the stream phase copies."""


@dataclass(frozen=True)
class Types:
    """Element types at the edges of a compiled module."""

    demoted: Mapping[str, str]
    """What a type is computed in, where that is another one."""
    scalars: tuple[str, ...]
    """What a caller can hand over as a number."""
    codes: Mapping[str, int]
    """``iree_hal_element_type_t`` of the types that buffers hold: numerical type, then bits."""
    tool_names: Mapping[str, str]
    """What the command-line tools call types whose MLIR names they do not take."""


@dataclass(frozen=True)
class Flags:
    """Options that are given to the tools beside those of a target."""

    quick: tuple[str, ...]
    """Faster compilation, the same code."""
    one_thread: tuple[str, ...]
    """Less work in all, for compilations as many as there are cores."""
    linalg: tuple[str, ...]
    """Less work for what has no ops of importers any more, the same code."""
    to_phase: str
    from_phase: str
    """Begins a compilation with what an earlier one wrote at the phase whose name follows."""
    dump: str
    """Leaves the code of each executable, IR and assembly, in a folder whose name follows."""
    dump_sources: str
    """The same of what executables are made from."""
    without_values: tuple[str, ...]
    """Leaves the elements of large constants out of what a phase writes. What is read from there is
    not to be compiled on: constants of one type would be one and the same."""
    one_executable: str
    """Compiles one of these alone."""
    input_types: Mapping[str, tuple[str, ...]]
    """By dialect, where the compiler does not find out by itself what it is given."""
    inline: str
    """Has ``iree-opt`` put private functions in place of their calls, and nothing else."""
    before_stablehlo: tuple[str, ...]
    """Has the compiler write what it makes of a portable artifact before it converts that, with the
    places that ops came from, in files of a folder whose name follows the last."""
    narrow_vectors: tuple[str, ...]
    """Has a CPU use no more of its instructions than all of its kind have: with wider vectors the
    compiler refuses some tiles of other targets."""
    no_memoization: tuple[str, ...]
    """Has each call record its commands anew: recorded once, some loops do not run."""
    no_schedules: tuple[str, ...]
    """Has the schedules of a module left out: those of a GPU are none that a CPU takes."""
    no_microkernels: tuple[str, ...]
    """Has a CPU compute every ``linalg.mmt4d`` right, those of tiles for other targets too."""
    data_tiling: str
    """Enables the data tiling of single contractions."""
    byte_products: str
    """Has data tiling multiply unsigned bytes by signed ones where the processor does."""
    dispatch_events: Mapping[str, str]
    """By driver, what the profiler calls the times of dispatches; other drivers have none."""


@dataclass(frozen=True)
class Limits:
    """What crashes or does not compile, so that it is never written."""

    bindings: int
    """Tensors that one dispatch reads and writes at most."""
    transposes_results_of_several: bool
    """Whether a result of an op with several may go into a transpose."""
    tiles_slices: bool
    """Whether a contraction that reads slices may be data-tiled."""
    tiles_open_batches: bool
    """Whether a ``batch_matmul`` of open sizes may be data-tiled."""
    parses_scalar_transpose: bool
    """Whether a ``linalg.transpose`` of a tensor without dims can be read."""
    microkernel_columns: Mapping[Processor, int]
    """Columns of the widest tile of ``linalg.mmt4d`` that has a microkernel, for any element type;
    sums of wider ones may be wrong."""


@dataclass(frozen=True)
class Gpu:
    """How kernels of GPUs are tiled, and in what words the compiler describes a GPU."""

    instruction: re.Pattern[str]
    """A matrix instruction that a schedule may name: groups name, sums, m, n, k and element."""
    subgroup: re.Pattern[str]
    """Lanes of a subgroup, in its only group; the first of several choices."""
    most_threads: re.Pattern[str]
    memory_bytes: re.Pattern[str]
    matrix_schedule: str
    """The attribute that tiles one contraction by matrix instructions, for `str.format` with the
    sizes of a `Schedule` and of its `Workgroup`."""
    vector_schedule: str
    """The same with the tile of a thread in place of that of a subgroup."""
    padding: str
    """What is added where a tile leaves a rest of some loop."""
    window_schedule: str
    """The attribute that tiles one convolution, read through windows, by matrix instructions; sizes
    are by the loops of its result, and one for all that are summed."""
    window_padding: str
    """What is added as well where a tile leaves a rest: sizes by the loops of the convolution."""
    row_schedule: str
    """The attribute of one op of a dispatch over rows: which lanes have which loop."""
    row_steps: Mapping[bool, str]
    """What is added for the loop that lanes share: of a reduction (True), and of another op."""
    row_dispatch: str
    """The attribute of the op that says what kernel such a dispatch is, with its own ``config``."""


@dataclass(frozen=True)
class Quirks:
    """All that is known of one version."""

    version: tuple[int, int]
    data_tiling_attribute: str
    """The unit attribute that asks for data tiling of one contraction."""
    schedule: str
    """The attribute that tiles one contraction, for `str.format` with the sizes of a `Schedule` and
    the options of its pipeline."""
    windowed_schedule: str
    """The same for one that is read through windows, whose tiles are one element of the filter."""
    byte_products: str
    """An op that multiplies unsigned bytes by signed ones and adds up four products for each sum,
    for `str.format`: ``vectors`` of sums side by side, maps and types of its operands, and
    its schedule."""
    peeling: str
    """The option that gives the rest of a tiled loop code of its own."""
    imports_wrong: frozenset[str]
    """ONNX ops that the importer takes, but as something that computes other results; named as
    `layoutopt.frontend.onnx.contents` does."""
    fusion: Fusion
    names: Names
    types: Types
    flags: Flags
    limits: Limits
    gpu: Gpu
