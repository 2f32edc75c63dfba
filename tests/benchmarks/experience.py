"""Make a file of `layoutopt.profiles.experience` from prices of models.

`python -m tests.benchmarks.experience OUT.json --cache DIR [--rows N] MODEL...` prices what plans
of the models may need on this machine, as far as the cache does not have it, and keeps some of the
prices: at least one of each way to write something, then others by chance. Take models that are
not in the suite that planning times are measured on.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from layoutopt import Function, Options, enumerate, lift, load_target, price, prices, read
from layoutopt.ir.weights import WeightReuse
from layoutopt.planning.priced import Keys, text_of
from layoutopt.pricing.analytic.lower_bound import roofs_of
from layoutopt.pricing.learned import by_size, described, names_of
from layoutopt.profiles.target import Target

Row = tuple[tuple[str, ...], tuple[float, ...], float]
"""(names of labels, sizes, ratio), as `Experience` has them."""


def rows_of(
    function: Function, target: Target, options: Options, weight_reuse: WeightReuse
) -> list[Row]:
    """The prices of one function."""
    space = enumerate(function.graph, target, options)
    with prices(target, options, weight_reuse=weight_reuse) as pricer:
        priced = price(space, pricer, options)
    roofs = roofs_of(target.rates)
    rows: dict[object, Row] = {}
    keys: Keys = (*space.candidates, *space.conversions)
    for key in keys:
        for work in space.work(key):
            text = text_of(work)
            found = priced.piece_prices.get(text)
            if found is None or not found.cost_ns or found.estimated:
                continue
            made_by = space.made_by(key, work)
            how = described(work, by_size(work, target), roofs, made_by)
            place = tuple(round(x, 2) for x in how.place)
            rows[text] = (names_of(how), place, round(math.log2(found.cost_ns / how.base_ns), 3))
    return [*rows.values()]


def some(rows: Sequence[Row], most: int) -> list[Row]:
    """Those of ways that few others are written in first, each way in turn."""
    mixed = [*rows]
    random.Random(0).shuffle(mixed)
    taken: Counter[str] = Counter()
    ranked = []
    for row in mixed:
        ranked.append((taken[row[0][-1]], row))
        taken[row[0][-1]] += 1
    return [row for _, row in sorted(ranked, key=lambda pair: pair[0])[:most]]


def written(rows: Sequence[Row]) -> str:
    """The text of the file, a row a line."""
    numbers: dict[str, int] = {}
    listed = [
        [[numbers.setdefault(name, len(numbers)) for name in names], place, ratio]
        for names, place, ratio in rows
    ]
    lines = ",\n".join(
        json.dumps(dict(zip(("labels", "place", "log_ratio"), row, strict=True)),
                   separators=(",", ":"))
        for row in listed
    )  # fmt: skip
    return f'{{"labels":{json.dumps([*numbers], separators=(",", ":"))},\n"rows":[\n{lines}\n]}}\n'


def main() -> None:
    """Read the command line, price, write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1000)
    arguments = parser.parse_args()
    options = Options(cache=arguments.cache)
    target = load_target("host")
    rows: list[Row] = []
    for name in arguments.models:
        with read(name, target, options) as model:
            for function in lift(model):
                found = rows_of(function, target, options, model.weight_reuse)
                print(f"{name}: {len(found)} prices", flush=True)
                rows += found
    arguments.out.write_text(written(some(rows, arguments.rows)))


if __name__ == "__main__":
    main()
