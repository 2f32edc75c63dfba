"""Gather: rows of a table by number, as embeddings are looked up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gather:
    """``result[..] = table[.., indices[..], ..]``: one dim of the table is looked up.

    ``index_dims[i]`` is the dim of the result that dim i of ``indices`` is; ``table_dims[d]`` the
    one that dim d of the table is, None for the dim that is looked up. Every dim of the result is
    one of them. An index outside the table has no meaning.
    """

    table: int
    indices: int
    result: int
    index_dims: tuple[int, ...]
    table_dims: tuple[int | None, ...]

    @property
    def axis(self) -> int:
        """The dim of the table that is looked up."""
        return self.table_dims.index(None)

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return (self.table, self.indices)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)
