"""Enumerate all that a plan of one function could be made of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from layoutopt.candidates.atomic import atomic_candidates
from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.cluster import Cluster, form_clusters
from layoutopt.candidates.egraph import EGraph, beside_its_canonical_form
from layoutopt.candidates.enumeration import enumerate_candidates
from layoutopt.candidates.identity import replaced_clusters
from layoutopt.candidates.matmul_ways import ContractionForms
from layoutopt.candidates.packed_only import packed_only
from layoutopt.candidates.packing.custom import load_rule
from layoutopt.candidates.packing.given_tiles import given_tiles
from layoutopt.candidates.packing.options import PackingOptions
from layoutopt.candidates.regions import padded_regions
from layoutopt.candidates.saturation import saturate
from layoutopt.candidates.soundness import Soundness
from layoutopt.candidates.space import layout_sets
from layoutopt.ir.graph import Graph
from layoutopt.ir.types import element_bytes
from layoutopt.normalize import EXPANDED, NORMALIZATIONS
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.options import Objective
from layoutopt.profiles.target import Target, Tile
from layoutopt.rules.rewrites import ATTENDING, MERGING, PARALLELIZING, REWRITES, TILING, WIDENING
from layoutopt.rules.rule import EVERY_EXACTNESS, Exactness, RewriteRule

_MOST = 6
"""Layouts of one tensor at most: each is measured."""
_MOST_FEWEST = 20
"""The same where nothing is measured."""

_MOST_NORMALIZED = 20_000_000
"""Points on which normalization is compared with the model: it changes nearly every op of some."""


@dataclass(frozen=True, slots=True)
class RefusedForm:
    """A candidate, rewrite or layout that was not taken into account, and why."""

    op: str
    rule: str
    reason: str


@dataclass(frozen=True)
class Space:
    """All candidates of one function, before they have prices."""

    egraph: EGraph
    clusters: tuple[Cluster, ...]
    candidates: tuple[Candidate, ...]
    refusals: tuple[RefusedForm, ...]
    cut: tuple[int, ...] = ()
    """Tensors for which more layouts were found than are taken into account."""


def _blocks(target: Target) -> dict[str, tuple[Tile, ...]]:
    """The tiles where conversions are counted; none wider than a vector, if any is."""
    if target.registers is None:
        return dict(target.blocks)
    bits = target.registers.bits
    found: dict[str, tuple[Tile, ...]] = {}
    for element, tiles in target.blocks.items():
        by_width = sorted(tiles, key=lambda tile: tile.n)
        held = [t for t in by_width if t.n * 8 * element_bytes(element) <= bits]
        found[element] = tuple(held[::-1] or by_width[:1])
    return found


def explore(
    graph: Graph,
    target: Target,
    objective: Objective = Objective.LATENCY,
    admitted: Collection[Exactness] = EVERY_EXACTNESS,
    rules: Sequence[RewriteRule[Any]] = REWRITES,
    image_rows: bool = False,
) -> Space:
    """Enumerate the candidates of a function, made by rules whose exactness is ``admitted``.

    Rules that keep more compute units busy are left out where the target has one, those that widen
    elements where it multiplies them as they are (GPUs) and where conversions are counted, those
    for tiles of registers in the same two cases, and those that spell out what it has an
    instruction for (GPUs). On processors attention is left as its parts: IREE 3.13 runs it as one
    op ten times as long. Where conversions are counted, those that make several contractions one
    are left out too: what has to be packed is what came.
    ``image_rows``: contractions whose rows are several loops, as those of images, take tiles with a
    microkernel too.
    """
    left_out = PARALLELIZING if target.machine.compute_units == 1 else ()
    if target.registers is None or objective is Objective.CONVERSIONS:
        left_out = (*left_out, *WIDENING, *TILING)
    if target.registers is not None or objective is Objective.CONVERSIONS:
        left_out = (*left_out, *ATTENDING)
    if objective is Objective.CONVERSIONS:
        left_out = (*left_out, *MERGING)
    rules = tuple(rule for rule in rules if rule not in left_out)
    soundness, normalized = Soundness(), Soundness(most_in_all=_MOST_NORMALIZED)
    spelled_out = EXPANDED if target.registers is None else ()
    normalizations = tuple(rule for rule in NORMALIZATIONS if rule not in spelled_out)
    normal = canonical_form(graph, admitted, normalized.reason, normalizations)
    rewritten = saturate(
        normal.graph, rules, soundness=soundness, admitted=admitted, made_by=normal.rules
    )
    egraph = beside_its_canonical_form(rewritten, normal.came)
    formed = form_clusters(rewritten)
    clusters = (*formed, *replaced_clusters(egraph, normal.came, formed))
    fewest = objective is Objective.CONVERSIONS
    if target.fuses_pads and not fewest:
        clusters = (*clusters, *padded_regions(rewritten.graph, formed))
    rule = load_rule(target.custom_packing) if target.custom_packing else None
    written = ContractionForms()
    if not fewest:
        threads = target.machine.compute_units
        written = ContractionForms(
            bool(target.data_tiling_flags),
            target.tiles_byte_products,
            target.registers,
            target.units,
            target.row_units,
            target.byte_products,
            threads,
        )
    packing_options = PackingOptions(
        _blocks(target) if fewest else target.tiles,
        rule,
        target.op_packings,
        {} if fewest else given_tiles(graph),
        whole_rows=target.registers is None and not fewest,
        registers=target.registers if fewest else None,
        image_rows=image_rows and target.registers is not None,
        subgroup=0 if fewest else target.machine.subgroup,
        lanes=0 if written.columns is None else 2 * written.columns,
        bytes_in_panels=written.bytes_in_panels,
        panel=written.columns,
    )
    sets = layout_sets(rewritten, packing_options, _MOST_FEWEST if fewest else _MOST)
    candidates, forms = enumerate_candidates(egraph, clusters, sets, written, packing_options)
    if fewest:
        candidates = packed_only(egraph.graph, clusters, candidates)
    else:
        atomic, refused = atomic_candidates(egraph, clusters, sets, written)
        candidates, forms = (*candidates, *atomic), (*forms, *refused)
    name = egraph.graph.name_of
    refusals = [RefusedForm(r.op, r.rule, r.reason) for r in normal.refusals]
    refusals += [RefusedForm(name(r.op), r.rule, r.reason) for r in egraph.refusals]
    refusals += [
        RefusedForm(checked, "check", f"{count} not compared with the model's own ops: {why}")
        for checked, held in (("normalization", normalized), ("rewrites", soundness))
        for why, count in held.skipped.items()
    ]
    refusals += [RefusedForm(name(op), "layout", reason) for op, reason in sets.refusals]
    refusals += [RefusedForm(name(op), "form", reason) for op, reason in forms]
    return Space(egraph, clusters, candidates, tuple(dict.fromkeys(refusals)), sets.cut)
