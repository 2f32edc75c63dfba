"""How fast a target runs compiled kernels, as the `kernel` table of its TOML says.

Costs of instructions and of waiting, fitted to published timings:
`python -m tests.benchmarks.kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from layoutopt.profiles.toml_table import Table


@dataclass(frozen=True, slots=True)
class KernelRates:
    """Costs in cycles of one compute unit, unless it says otherwise."""

    clock_ghz: float
    matrix: float
    """Cycles of the matrix unit for each that the compiler counts: clocks fall under load."""
    vector: float
    """The same of the vector unit."""
    scalar: float
    """The same of scalar instructions, four cycles each."""
    lds: float
    """The same of the LDS, 128 bytes a cycle."""
    line: float
    """Of the first cache, for a line of 128 bytes."""
    load: float
    """Until what was loaded is there, with nothing else to wait for."""
    store: float
    barrier: float
    workgroup: float
    """To start a workgroup and end it."""
    l2_gb_s: float
    """Of all chiplets."""
    cache_gb_s: float
    """Of the last cache, which all chiplets share."""
    memory_gb_s: float
    """Of what does not fit there."""
    copy_gb_s: float
    """Of fills and copies that are no kernels, bytes read and bytes written."""
    hiding: float
    """Exponent: how well waiting for memory and computing hide each other in a workgroup."""
    overlap: float
    """Exponent: how well workgroups of one compute unit fill the gaps of each other."""
    sharing: float
    """Exponent: how well compute units and memory overlap."""
    uncertainty: float
    """Error that two of three held-out estimates stay within: a factor of 1 + this."""
    uncertainty_vector: float
    """The same of kernels without matrix instructions that compute units bound."""


def kernel_rates(table: Table) -> KernelRates | None:
    """Read the `kernel` table; None where there is none: kernels are then not read.

    Raises InputError where a number is missing, unknown or out of range.
    """
    if not table.values:
        return None
    names = tuple(field.name for field in fields(KernelRates))
    table.only(names)
    return KernelRates(**{name: table.number(name) for name in names})
