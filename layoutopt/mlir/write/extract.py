"""Write reads that linalg has no map for: ``tensor.extract`` in a body.

generic ins(w) with the indexing map (.., -d2 + 2, ..)
  ->
generic { i = linalg.index 2; e = tensor.extract w[.., 2 - i, ..]; yield e }
"""

from __future__ import annotations

from layoutopt.ir.affine import IndexMap


def read_lines(name: str, tensor: str, kind: str, index_map: IndexMap) -> list[str]:
    """Lines of a body that read one element of a tensor into the value ``name``."""
    lines: list[str] = []
    places: list[str] = []

    def value(text: str) -> str:
        made = f"{name}_{len(lines)}"
        lines.append(f"    {made} = {text}")
        return made

    for form in index_map:
        place = value(f"arith.constant {form.offset} : index")
        for d, c in form.terms:
            term = value(f"linalg.index {d} : index")
            if abs(c) != 1:
                factor = value(f"arith.constant {abs(c)} : index")
                term = value(f"arith.muli {term}, {factor} : index")
            sum_name = "arith.addi" if c > 0 else "arith.subi"
            place = value(f"{sum_name} {place}, {term} : index")
        places.append(place)
    lines.append(f"    {name} = tensor.extract {tensor}[{', '.join(places)}] : {kind}")
    return lines
