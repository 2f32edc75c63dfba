"""The only module that imports `iree.runtime`: untyped values come in here and stop here."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from iree import runtime as iree

from layoutopt.runtime.caller import caller_that_gives_way
from layoutopt.runtime.element import Array, Value
from layoutopt.runtime.topology import topology_flag
from layoutopt.runtime.transport import as_declared, received, sent

Clock = Callable[[], int]
FUNCTION_DECLARATION = "iree.abi.declaration"
_BYTES = int(iree.HalElementType.UINT_8)


@dataclass(frozen=True, slots=True)
class StoredParameter:
    """An entry of a parameter file: bytes at an offset of the file, or a pattern that repeats."""

    key: str
    size_bytes: int
    offset: int
    """Where its bytes start in the file; meaningless for a splat."""
    pattern: bytes = b""
    """What a splat repeats; empty for an entry with bytes of its own."""
    metadata: bytes = b""


INLINE = "local-sync"
"""The device whose dispatches run in the thread that calls."""


class Device:
    """An open device. `local-task` gets `threads` workers; other URIs go to IREE as they are."""

    def __init__(self, uri: str, threads: int) -> None:
        self._caller: Executor | None = None
        self.has_workers = uri.startswith("local-task")
        """Whether dispatches run in threads of their own, which wait for each other."""
        if self.has_workers:
            iree.flags.parse_flags(topology_flag(threads))
            self._caller = caller_that_gives_way()
        self.threads = threads
        self.is_inline = uri.startswith(INLINE)
        """Whether dispatches run in the thread that calls."""
        self.is_host = uri.startswith("local")
        """Whether it computes in the memory of the host."""
        self._device: Any = iree.get_device(uri)
        self._instance: Any = iree.VmInstance()

    def load(
        self,
        module: Path,
        parameters: Mapping[str, Array] | None = None,
        parameter_files: Sequence[tuple[str, Path]] = (),
    ) -> Program:
        """Load a module and run its initializers.

        `parameters` are the entries of scope "weights"; `parameter_files` are (scope, archive).
        """
        providers = []
        kept = {
            name: np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
            for name, array in (parameters or {}).items()
        }
        if kept:
            index: Any = iree.ParameterIndex()
            for name, flat in kept.items():
                index.add_buffer(name, flat)
            providers.append(index.create_provider("weights"))
        for scope, path in parameter_files:
            index = iree.ParameterIndex()
            index.load(str(path))
            providers.append(index.create_provider(scope))
        modules: list[Any] = [iree.create_hal_module(self._instance, self._device)]
        if providers:
            modules.append(iree.create_io_parameters_module(self._instance, *providers))
        loaded: Any = iree.VmModule.mmap(self._instance, str(module))
        context: Any = iree.VmContext(self._instance, [*modules, loaded])
        return Program(self._device, context, loaded, kept, self._caller, self.is_host)


@dataclass(frozen=True)
class Program:
    """A loaded module. `parameters` keeps their memory alive as long as the module."""

    device: Any
    context: Any
    module: Any
    parameters: Mapping[str, Array]
    caller: Executor | None
    """The thread that times calls; None for the one that asks."""
    is_host: bool = True
    """Whether the device computes in the memory of the host."""

    def prepare(self, function: str, arguments: Sequence[Value]) -> Call:
        """Put the arguments on the device; the call can then be made any number of times.

        A scalar of NumPy is handed over as a number, an array as a buffer view.
        """
        found: Any = self.module.lookup_function(function)
        if found is None:
            raise LookupError(f"no function {function}")
        packed: Any = iree.VmVariantList(len(arguments))
        declared = str(found.reflection.get(FUNCTION_DECLARATION, ""))
        for value in as_declared(arguments, declared):
            if isinstance(value, np.floating):
                packed.push_float(float(value))
            elif isinstance(value, np.generic):
                packed.push_int(int(value))
            else:
                packed.push_ref(self._on_device(value))
        return Call(self.device, self.context, found, packed, self.caller, self.is_host)

    def twin(self, function: str, call: Call) -> Call:
        """The same call of a program that was loaded from the same module, arguments shared."""
        found: Any = self.module.lookup_function(function)
        return replace(call, device=self.device, context=self.context, function=found)

    def _on_device(self, array: Array) -> Any:
        """A buffer view with the elements of an array, as IREE lays them out."""
        memory, element_type = sent(array)
        buffer: Any = self.device.allocator.allocate_buffer_copy(
            memory_type=iree.MemoryType.DEVICE_LOCAL,
            allowed_usage=iree.BufferUsage.DEFAULT,
            device=self.device,
            buffer=memory,
        )
        return iree.HalBufferView(buffer, array.shape, element_type)


@dataclass(frozen=True)
class Call:
    """A function with its arguments in place."""

    device: Any
    context: Any
    function: Any
    arguments: Any
    caller: Executor | None
    is_host: bool = True
    """Whether its device computes in the memory of the host."""

    def run(self) -> tuple[Array, ...]:
        """Call once and copy the results to the host."""
        return self._called()[0]

    def run_counted(self) -> tuple[tuple[Array, ...], int | None]:
        """The same, and the most memory of the device that the call has, results included.

        Arguments and weights are there before, and do not count. Where something before this call
        took more at once, all that it allocates counts: the same where a call allocates once. So it
        does on GPUs, where weights are in the peak and nowhere else in IREE's account. None where
        the device keeps none.
        """
        allocator = self.device.allocator
        before: Mapping[str, int] = allocator.statistics if allocator.has_statistics else {}
        arrays, after = self._called()
        if not after:
            return arrays, None
        held = before["device_bytes_allocated"] - before["device_bytes_freed"]
        if self.is_host and after["device_bytes_peak"] > before["device_bytes_peak"]:
            return arrays, after["device_bytes_peak"] - held
        return arrays, after["device_bytes_allocated"] - before["device_bytes_allocated"]

    def _called(self) -> tuple[tuple[Array, ...], Mapping[str, int]]:
        """Results, and the account of memory right after the call."""
        results: Any = iree.VmVariantList(1)
        self.context.invoke(self.function, self.arguments, results)
        allocator = self.device.allocator
        statistics: Mapping[str, int] = allocator.statistics if allocator.has_statistics else {}
        arrays = []
        for index in range(len(results)):
            number: Any = results.get_variant(index)
            if isinstance(number, int | float):
                arrays.append(np.asarray(number))
                continue
            view: Any = results.get_as_object(index, iree.HalBufferView)
            arrays.append(self._to_host(view))
        return tuple(arrays), statistics

    def _to_host(self, view: Any) -> Array:
        """The elements of a buffer view as an array of their own type."""
        shape, element_type = tuple(view.shape), int(view.element_type)
        if not math.prod(shape):
            return received(np.zeros(0, np.uint8), shape, element_type)
        raw: Any = iree.DeviceArray(
            self.device, iree.HalBufferView(view.get_buffer(), [view.byte_length], _BYTES)
        )
        return received(np.array(raw.to_host()), shape, element_type)

    def time_ns(self, calls: int, clock: Clock = time.perf_counter_ns) -> float:
        """Mean time of `calls` calls by a clock in nanoseconds, results made and dropped."""
        if self.caller is None:
            return self._timed(calls, clock)
        return self.caller.submit(self._timed, calls, clock).result()

    def _timed(self, calls: int, clock: Clock) -> float:
        invoke, function, arguments = self.context.invoke, self.function, self.arguments
        results = iree.VmVariantList
        collecting = gc.isenabled()
        gc.disable()
        try:
            started = clock()
            for _ in range(calls):
                invoke(function, arguments, results(1))
            return (clock() - started) / calls
        finally:
            if collecting:
                gc.enable()


def read_declarations(module: Path) -> tuple[tuple[str, str], ...]:
    """Return (name, declaration) of each function that `module` exports, in file order.

    The declaration is the line that the compiler left, such as
    `sync func @main(%input0: tensor<4xf32>) -> (%output0: tensor<4xf32>)`, or empty.
    """
    loaded: Any = iree.VmModule.mmap(iree.VmInstance(), str(module))
    found = []
    for name in loaded.function_names:
        function: Any = loaded.lookup_function(name)
        if function is None or name.startswith("__"):
            continue
        found.append((str(name), str(function.reflection.get(FUNCTION_DECLARATION, ""))))
    return tuple(found)


def read_parameters(path: Path) -> tuple[StoredParameter, ...]:
    """The entries of a file that IREE reads (.irpa, .safetensors, .gguf), contents left alone.

    Raises what IREE raises for a file that it does not read: ValueError, RuntimeError, and
    NotImplementedError for a suffix that it does not know.
    """
    index: Any = iree.ParameterIndex()
    index.load(str(path))
    found = []
    for key, entry in index.items():
        size, metadata = int(entry.length), bytes(entry.metadata)
        if entry.is_splat:
            pattern = bytes(entry.splat_pattern)
            found.append(StoredParameter(key, size, 0, pattern, metadata))
        else:
            found.append(StoredParameter(key, size, int(entry.file_storage[1]), b"", metadata))
    return tuple(found)
